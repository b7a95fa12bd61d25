"""The one door through which memories change: the row, what search reads of it, and its lineage move together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.model.ids import InteractionId, Kind, MemoryRef
from acumen.model.memories.base import Status
from acumen.model.memories.memory import title
from acumen.model.memories.search import SearchRow
from acumen.storage.memories.conflicts import Conflicts
from acumen.storage.memories.hidden_turns import HiddenTurns
from acumen.storage.memories.lineage import Because, Lineage
from acumen.storage.memories.memory_rows import MemoryRows
from acumen.storage.memories.search_rows import SearchRows
from acumen.storage.review.review_records import ReviewRecords


class StatusMove(Struct, frozen=True):
    """Many memories, by id and owner, on their way from one status to another."""

    owners: Mapping[str, str | None]
    before: Status
    after: Status


class Memories:
    """Changes to memories of any kind."""

    def __init__(
        self,
        rows: dict[Kind, MemoryRows[Any]],
        search: SearchRows,
        lineage: Lineage,
        hidden_turns: HiddenTurns,
        review_records: ReviewRecords,
        conflicts: Conflicts,
    ) -> None:
        self._rows = rows
        self._search = search
        self._lineage = lineage
        self._hidden_turns = hidden_turns
        self._review_records = review_records
        self._conflicts = conflicts
        self._unsettled: list[Any] | None = None  # memories whose turns wait to be settled together

    @contextmanager
    def batch(self) -> Iterator[None]:
        """The turns that these memories rest on are looked at once, after the last change."""
        self._unsettled = []
        yield
        waiting, self._unsettled = self._unsettled, None
        self._settle(waiting)

    def add(self, kind: Kind, memory: Any, found_by: SearchRow, because: Because) -> MemoryRef:
        """`found_by` is made before the id is known; it is filed under the memory's own."""
        ref = MemoryRef(kind, self._rows[kind].insert(memory))
        self._search.upsert([replace(found_by, entity_id=ref.id)])
        self._lineage.record(ref, "add", because, after=memory, user=_owner(memory))
        return ref

    def update(self, ref: MemoryRef, before: Any, after: Any, found_by: SearchRow | None, because: Because) -> Any:
        """`found_by` is None when the words stay the same. Returns the memory as stored."""
        self._search.require_org_lock()
        after = replace(after, version=before.version + 1)
        self._rows[ref.kind].update(ref.id, after)
        self._follow(ref, before, after, found_by, because)
        return after

    def restore(self, ref: MemoryRef, now: Any, then: Any, found_by: SearchRow | None, because: Because) -> Any:
        """As it was `then`, its time of change included; only its version grows, so that no number is used twice."""
        self._search.require_org_lock()
        then = replace(then, version=now.version + 1)
        self._rows[ref.kind].update(ref.id, then, changed_at=then.updated_at)
        self._follow(ref, now, then, found_by, because)
        return then

    def _follow(self, ref: MemoryRef, before: Any, after: Any, found_by: SearchRow | None, because: Because) -> None:
        if found_by is None:
            self._search.touch(ref.kind, ref.id)
        else:
            self._search.upsert([replace(found_by, entity_id=ref.id)])
        self._lineage.record(ref, _op(before, after), because, before=before, after=after, user=_owner(after))
        if Status.FORGOTTEN in (before.status, after.status):
            self._settle([after])
        if before.status is Status.CURRENT and after.status is not Status.CURRENT:
            self._conflicts.settle([ref], because.actor, self._search.at)
        if before.status is not Status.CURRENT and after.status is Status.CURRENT:
            self._conflicts.reopen([ref])

    def get_titles(self, refs: Iterable[MemoryRef]) -> dict[MemoryRef, str]:
        """Deleted memories are left out."""
        by_kind: dict[Kind, list[str]] = {}
        for ref in refs:
            by_kind.setdefault(ref.kind, []).append(ref.id)
        memories_of = {kind: self._rows[kind].get_many(ids) for kind, ids in by_kind.items()}
        return {
            MemoryRef(kind, name): title(memory)
            for kind, memories in memories_of.items()
            for name, memory in memories.items()
        }

    def set_statuses(self, kind: Kind, moves: Sequence[StatusMove], because: Because) -> list[int]:
        """Of many memories at once, one move after the other; how many each moved."""
        self._search.require_org_lock()
        counts = [self._move(kind, move, because) for move in moves]
        self._hidden_turns.refresh_users({user for move in moves for user in move.owners.values() if user})
        return counts

    def _move(self, kind: Kind, move: StatusMove, because: Because) -> int:
        ids = list(move.owners)
        moved = self._rows[kind].set_status(ids, move.after)
        self._search.touch_all(kind, ids)
        for owners in self._rows[kind].select_owners(ids):
            self._lineage.record_moved(kind, owners, (move.before, move.after), because)
        refs = [MemoryRef(kind, memory_id) for memory_id in ids]
        if move.before is Status.CURRENT:
            self._conflicts.settle(refs, because.actor, self._search.at)
        if move.after is Status.CURRENT:
            self._conflicts.reopen(refs)
        return moved

    def delete(self, kind: Kind, ids: Sequence[str], because: Because) -> int:
        """Complete: no text of the memory is left, in search or in its lineage; the same for outdated versions."""
        gone = self._take_out(kind, ids)
        self._lineage.record_deleted(kind, gone, because)
        outdated = self._lineage.find_outdated(kind, ids=[memory_id for memory_id in ids if memory_id not in gone])
        self._lineage.erase_words(kind, list(outdated))
        return len(gone) + len(outdated)

    def delete_outdated(self, kind: Kind, ids: Sequence[str], because: Because) -> int:
        """Deletes what a newer version replaces; its text stays in the lineage."""
        gone = self._take_out(kind, ids)
        self._lineage.record_outdated(kind, gone, because)
        return len(gone)

    def _take_out(self, kind: Kind, ids: Sequence[str]) -> dict[str, Any]:
        self._search.require_org_lock()
        memories = self._rows[kind].get_many(ids)
        owners = {memory_id: _owner(memory) for memory_id, memory in memories.items()}
        self._search.mark_deleted(kind, {memory_id: user or "" for memory_id, user in owners.items()})
        self._review_records.erase(kind, owners)
        self._conflicts.delete(kind, list(owners))
        self._rows[kind].delete(list(owners))
        self._settle([memory for memory in memories.values() if memory.status is Status.FORGOTTEN])
        return memories

    def delete_all(self, kind: Kind, because: Because) -> int:
        """The same in a few statements, however many there are."""
        self._search.delete_kind(kind)
        self._review_records.erase(kind, None)
        self._conflicts.delete_kind(kind)
        for every in self._rows[kind].select_owners(None):
            self._lineage.record_all_deleted(kind, every, because)
        return self._rows[kind].delete(None)

    def _settle(self, memories: Sequence[Any]) -> None:
        """The turns that these memories rest on are found or not, as is now right."""
        if self._unsettled is not None:
            self._unsettled.extend(memories)
            return
        turns: dict[str, set[InteractionId]] = {}
        for memory in memories:
            if user := _owner(memory):
                turns.setdefault(user, set()).update(_turns(memory))
        for user, its in turns.items():
            self._hidden_turns.refresh(user, its)


def _turns(memory: Any) -> Sequence[InteractionId]:
    return getattr(memory, "interaction_ids", ())


def _owner(memory: Any) -> str | None:
    return getattr(memory, "user_id", None)


def _op(before: Any, after: Any) -> str:
    return "change" if before.status == after.status else str(after.status)
