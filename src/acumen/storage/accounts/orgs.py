"""Orgs and their configuration, as rows."""

from typing import Any

import sqlalchemy as sa

from acumen.errors import Conflict
from acumen.model.account import StoredConfig
from acumen.model.config import REVIEW
from acumen.model.ids import Millis, OrgId
from acumen.storage.engine.compiled_statement import CompiledSelect
from acumen.storage.engine.scope import OrgScope
from acumen.storage.memories.change_numbers import first_number
from acumen.storage.tables import orgs

# Asked before every job: built once.
_CONFIG = CompiledSelect(sa.select(orgs.c.config, orgs.c.config_version).where(orgs.c.org_id == sa.bindparam("org")))


class Orgs:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def ensure(self) -> None:
        """An org exists from the first time it is named."""
        first = first_number(self._scope.conn, self._scope.db)
        self._scope.insert_new(orgs, [{"config": None, "config_version": 0, "search_seq": first, "generation": 0}])

    def first_created_at(self) -> Millis:
        """When the first org of this database came to be, and with it the database."""
        return Millis(self._scope.conn.execute(sa.select(sa.func.min(orgs.c.created_at))).scalar_one())

    def get_config(self) -> StoredConfig:
        rows = _CONFIG.rows(self._scope.conn, org=self._scope.org)
        return StoredConfig(rows[0]["config_version"], rows[0]["config"]) if rows else StoredConfig(0, None)

    def set_config(self, config: dict[str, Any], seen_version: int) -> None:
        unchanged = orgs.c.config_version == seen_version
        texts_too = _looked_for(self.get_config().config) != _looked_for(config)
        again = {"scanned_seq": 0} if texts_too else {}  # every memory is looked at once more
        if not self._scope.update(orgs, unchanged, config=config, config_version=seen_version + 1, **again):
            raise Conflict("The configuration was changed by someone else meanwhile; read it again and retry.")


def _looked_for(config: dict[str, Any] | None) -> list[Any]:
    """The thresholds by which the texts of memories are looked at."""
    review = (config or {}).get(REVIEW) or {}
    return [review.get(name) for name in ("oversized_tokens", "similarity")]


def all_orgs(conn: sa.Connection) -> list[OrgId]:
    """Every org there is, for work that runs for all of them."""
    return [OrgId(row.org_id) for row in conn.execute(sa.select(orgs.c.org_id))]
