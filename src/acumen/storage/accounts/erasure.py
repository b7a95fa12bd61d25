"""What there is of one user, by table and id: the receipt of an erasure."""

from collections.abc import Sequence

import sqlalchemy as sa

from acumen.storage.engine.scope import OrgScope, in_batches
from acumen.storage.tables import injections, llm_calls, metadata, search_rows, usage_events

# What search reads is a part of the memories, and a bill stays without the name on it.
_NO_KINDS = frozenset({search_rows.name, llm_calls.name})
# Counted for a request or a session, sometimes without saying whose it is.
_COUNTED = (usage_events, injections)


class Erasure:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def find_ids(self, user: str, request_ids: Sequence[str], session_ids: Sequence[str]) -> dict[str, list[str]]:
        """Of every row that names the user, in any table; tables that are added later are included."""
        ids_by_table = {
            table.name: self._ids(table, table.c.user_id == user)
            for table in metadata.sorted_tables
            if "user_id" in table.c and table.name not in _NO_KINDS
        }
        for table in _COUNTED:
            for column, ids in ((table.c.request_id, request_ids), (table.c.session_id, session_ids)):
                for batch in in_batches(ids):
                    ids_by_table[table.name] += self._ids(table, table.c.user_id.is_(None), column.in_(batch))
        return {kind: ids for kind, ids in ids_by_table.items() if ids}

    def _ids(self, table: sa.Table, *where: sa.ColumnElement[bool]) -> list[str]:
        keys = [column for column in table.primary_key.columns if column.name not in ("org_id", "user_id")]
        query = sa.select(*keys).where(table.c.org_id == self._scope.org, *where).order_by(*keys)
        return ["/".join(map(str, row)) for row in self._scope.all(query)]
