"""Filters that people gave a name, as rows."""

import sqlalchemy as sa

from acumen.storage.scope import Scope
from acumen.storage.tables import saved_views


class Views:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def of(self, page: str) -> dict[str, str]:
        """Names and what follows the question mark, by name."""
        c = saved_views.c
        query = sa.select(c.name, c.query).where(c.org_id == self._scope.org, c.page == page)
        return {row.name: row.query for row in self._scope.all(query.order_by(c.name))}

    def put(self, page: str, name: str, query: str, user: str | None) -> None:
        """Under a name there is one view; `user` is whom its filters name."""
        s = self._scope
        said = {"query": query, "user_id": user}
        statement = s.db.insert(saved_views).on_conflict_do_update(
            index_elements=["org_id", "page", "name"], set_={**said, "updated_at": s.at}
        )
        s.conn.execute(statement, s.stamp({"page": page, "name": name, **said}))

    def delete(self, page: str, name: str) -> int:
        return self._scope.delete(saved_views, saved_views.c.page == page, saved_views.c.name == name)

    def delete_user(self, user: str) -> int:
        return self._scope.delete(saved_views, saved_views.c.user_id == user)
