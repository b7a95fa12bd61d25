"""The one door through which memories change: the row, what search reads of it, and its lineage move together."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from acumen.model.ids import Kind, MemoryRef
from acumen.model.search import SearchRow
from acumen.storage.lineage import Because, Lineage
from acumen.storage.memory_rows import MemoryRows
from acumen.storage.search_rows import SearchRows


class Memories:
    """Changes to memories of any kind."""

    def __init__(self, rows: dict[Kind, MemoryRows[Any]], search: SearchRows, lineage: Lineage) -> None:
        self._rows = rows
        self._search = search
        self._lineage = lineage

    def add(self, kind: Kind, memory: Any, found_by: SearchRow, because: Because) -> MemoryRef:
        """`found_by` is made before the id is known; it is filed under the memory's own."""
        ref = MemoryRef(kind, self._rows[kind].insert(memory))
        self._search.put([dataclasses.replace(found_by, entity_id=ref.id)])
        self._lineage.record(ref, "add", because, after=memory, user=_owner(memory))
        return ref

    def change(self, ref: MemoryRef, before: Any, after: Any, found_by: SearchRow | None, because: Because) -> Any:
        """`found_by` is None when the words stay the same. Returns the memory as stored."""
        after = dataclasses.replace(after, version=before.version + 1)
        self._rows[ref.kind].replace(ref.id, after)
        if found_by is None:
            self._search.touch(ref.kind, ref.id)
        else:
            self._search.put([dataclasses.replace(found_by, entity_id=ref.id)])
        self._lineage.record(ref, _op(before, after), because, before=before, after=after, user=_owner(after))
        return after

    def delete(self, kind: Kind, ids: Sequence[str], because: Because) -> int:
        """Complete: no words of the memory stay behind, in search or in its lineage."""
        owners = {memory_id: _owner(memory) for memory_id, memory in self._rows[kind].by_ids(ids).items()}
        self._search.drop(kind, {memory_id: user or "" for memory_id, user in owners.items()})
        self._lineage.record_deleted(kind, owners, because)
        return self._rows[kind].delete(list(owners))

    def delete_all(self, kind: Kind, because: Because) -> int:
        """The same in a few statements, however many there are."""
        self._search.erase_kind(kind)
        self._lineage.record_all_deleted(kind, self._rows[kind].owners(), because)
        return self._rows[kind].delete_all()


def _owner(memory: Any) -> str | None:
    return getattr(memory, "user_id", None)


def _op(before: Any, after: Any) -> str:
    return "change" if before.status == after.status else str(after.status)
