"""What runs work through, one by one, as rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from acumen.model.jobs.run import ItemState, RunId, RunItem, RunProgress
from acumen.storage.engine.scope import OrgScope, in_batches
from acumen.storage.tables import run_items

_c = run_items.c


class RunItems:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def add(self, run_id: RunId, items: Sequence[str]) -> None:
        """They come after what is there."""
        numbered = list(enumerate(items, self.get_progress(run_id).total))
        for batch in in_batches(numbered):
            rows = [{"run_id": run_id, "place": place, "item": item} for place, item in batch]
            self._scope.insert(run_items, [{**row, "state": ItemState.WAITING} for row in rows])

    def get_next(self, run_id: RunId) -> RunItem | None:
        return next(iter(self.find(run_id, ItemState.WAITING, 1)), None)

    def find(self, run_id: RunId, state: ItemState | None = None, limit: int | None = None) -> list[RunItem]:
        query = self._scope.select(run_items).where(_c.run_id == run_id)
        if state is not None:
            query = query.where(_c.state == state)
        rows = self._scope.all(query.order_by(_c.place).limit(limit))
        return [RunItem(row.place, row.item, ItemState(row.state), row.detail or {}, row.error) for row in rows]

    def get_progress(self, run_id: RunId) -> RunProgress:
        query = self._scope.select(_c.state, sa.func.count()).where(_c.run_id == run_id)
        counts = dict(self._scope.all(query.group_by(_c.state)))
        return RunProgress(sum(counts.values()), counts.get(ItemState.DONE, 0), counts.get(ItemState.FAILED, 0))

    def add_counts(self, run_id: RunId, item: str, counts: Mapping[str, int]) -> None:
        """Adds to the counts of an item; the row is locked against other writers of the same item."""
        summed = Counter(self.get_counts(run_id, item))
        summed.update(counts)
        self._scope.update(run_items, _c.run_id == run_id, _c.item == item, detail=dict(summed))

    def get_counts(self, run_id: RunId, item: str) -> dict[str, int]:
        row = self._scope.first(self._scope.select(_c.detail).where(_c.run_id == run_id, _c.item == item))
        return dict(row.detail or {}) if row else {}

    def reset_counts(self, run_id: RunId, item: str) -> None:
        """Nothing has come of it after all."""
        self._scope.update(run_items, _c.run_id == run_id, _c.item == item, detail={})

    def set_done(self, run_id: RunId, place: int, detail: Mapping[str, Any]) -> None:
        self._scope.update(run_items, _c.run_id == run_id, _c.place == place, state=ItemState.DONE, detail=dict(detail))

    def set_failed(self, run_id: RunId, place: int, error: str) -> None:
        self._scope.update(run_items, _c.run_id == run_id, _c.place == place, state=ItemState.FAILED, error=error)

    def delete_user(self, user: str, beginning: str) -> None:
        """The user's own items, and items with this prefix, in any state: what they name is erased."""
        theirs = sa.func.substr(_c.item, 1, len(beginning)) == beginning
        self._scope.delete(run_items, sa.or_(_c.item == user, theirs))
