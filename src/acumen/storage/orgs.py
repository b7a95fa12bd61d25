"""Orgs and their configuration, as rows."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from acumen.errors import Conflict
from acumen.model.ids import OrgId
from acumen.storage.scope import Scope
from acumen.storage.tables import orgs


@dataclass(frozen=True, slots=True)
class StoredConfig:
    """`version` counts the changes, so that two writers cannot overwrite each other unseen."""

    version: int
    config: dict[str, Any] | None


class Orgs:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def ensure(self) -> None:
        """An org exists from the first time it is named."""
        row = self._scope.stamp({"config": None, "config_version": 0, "search_seq": 0, "generation": 0})
        self._scope.conn.execute(self._scope.db.insert(orgs).on_conflict_do_nothing(), row)

    def config(self) -> StoredConfig:
        query = sa.select(orgs.c.config, orgs.c.config_version).where(orgs.c.org_id == self._scope.org)
        row = self._scope.one(query)
        return StoredConfig(row.config_version, row.config) if row else StoredConfig(0, None)

    def set_config(self, config: dict[str, Any], seen_version: int) -> None:
        changed = self._scope.conn.execute(
            sa.update(orgs)
            .where(orgs.c.org_id == self._scope.org, orgs.c.config_version == seen_version)
            .values(config=config, config_version=seen_version + 1, updated_at=self._scope.at)
        ).rowcount
        if not changed:
            raise Conflict("The configuration was changed by someone else meanwhile; read it again and retry.")


def all_orgs(conn: sa.Connection) -> list[OrgId]:
    """Every org there is, for work that runs for all of them."""
    return [OrgId(row.org_id) for row in conn.execute(sa.select(orgs.c.org_id))]
