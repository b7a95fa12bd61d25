"""Filters that people gave a name, as rows."""

from acumen.storage.engine.scope import OrgScope
from acumen.storage.tables import saved_views


class SavedViews:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def find(self, page: str) -> dict[str, str]:
        """Names and what follows the question mark, by name."""
        c = saved_views.c
        query = self._scope.select(c.name, c.query).where(c.page == page).order_by(c.name)
        return {row.name: row.query for row in self._scope.all(query)}

    def upsert(self, page: str, name: str, query: str, user: str | None) -> None:
        """One view per name; `user` is the user that its filters name."""
        self._scope.upsert(saved_views, {"page": page, "name": name}, {"query": query, "user_id": user})

    def delete(self, page: str, name: str) -> int:
        return self._scope.delete(saved_views, saved_views.c.page == page, saved_views.c.name == name)

    def delete_user(self, user: str) -> int:
        return self._scope.delete(saved_views, saved_views.c.user_id == user)
