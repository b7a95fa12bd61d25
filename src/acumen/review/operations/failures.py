"""Failure groups: list them, show one, and merge, resolve, archive or reopen it."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import BadInput, NotFound
from acumen.model.ids import Millis
from acumen.model.operations.failure import FailureGroup, FailureGroupFilter, GroupState
from acumen.model.operations.operation import Operation, OperationFilter
from acumen.model.operations.proposal import Analysis, Proposal
from acumen.model.prompt_injection import detect
from acumen.model.times import DAY_MS, HOUR_MS
from acumen.storage.store import Tx

EXAMPLES = 10
HOURS, DAYS = 24, 30
OPEN = (GroupState.NEW, GroupState.ONGOING, GroupState.ESCALATING, GroupState.REGRESSED)
_STATES = {"resolve": GroupState.RESOLVED, "archive": GroupState.ARCHIVED, "reopen": GroupState.ONGOING}


class MergedGroup(Struct, frozen=True):
    """A group with the groups merged into it; counts are over all of them."""

    group: FailureGroup
    merged: Sequence[FailureGroup]

    @property
    def members(self) -> tuple[FailureGroup, ...]:
        return self.group, *self.merged

    @property
    def count(self) -> int:
        return sum(member.count for member in self.members)

    @property
    def sessions(self) -> int:
        return sum(member.sessions for member in self.members)

    @property
    def first_seen(self) -> Millis:
        return Millis(min(member.first_seen for member in self.members))

    @property
    def last_seen(self) -> Millis:
        return Millis(max(member.last_seen for member in self.members))

    @property
    def sources(self) -> list[str]:
        return sorted({member.source for member in self.members})


class Trend(Struct, frozen=True):
    """Counts per hour of the last day and per day of the last month, oldest first."""

    hours: Sequence[int]
    days: Sequence[int]


class FailureGroupDetail(Struct, frozen=True):
    entry: MergedGroup
    trend: Trend
    examples: Sequence[Operation]
    hazards: Sequence[str]
    analyses: Sequence[Analysis]
    merged_into: str | None
    proposal: Proposal | None


async def page(query: FailureGroupFilter, limit: int, offset: int, deps: Deps) -> tuple[list[MergedGroup], int]:
    return await deps.store.read(lambda tx: _page(tx, query, limit, offset))


async def page_with_trends(
    query: FailureGroupFilter, limit: int, offset: int, deps: Deps
) -> tuple[list[tuple[MergedGroup, Trend]], int]:
    def read(tx: Tx) -> tuple[list[tuple[MergedGroup, Trend]], int]:
        groups, total = _page(tx, query, limit, offset)
        return list(zip(groups, _trends(tx, groups), strict=True)), total

    return await deps.store.read(read)


def _page(tx: Tx, query: FailureGroupFilter, limit: int, offset: int) -> tuple[list[MergedGroup], int]:
    groups, total = tx.failures.find(query, limit, offset)
    merged = tx.failures.find_merged()
    return [MergedGroup(group, merged.get(group.id, ())) for group in groups], total


def _trends(tx: Tx, groups: Sequence[MergedGroup]) -> list[Trend]:
    since = Millis(tx.at - tx.at % DAY_MS - (DAYS - 1) * DAY_MS)
    hourly = tx.failures.get_hours([member.id for group in groups for member in group.members], since)
    return [_trend(tx.at, [hourly.get(member.id, {}) for member in group.members]) for group in groups]


def _trend(at: Millis, counted: Sequence[Mapping[int, int]]) -> Trend:
    return Trend(_steps(at, counted, HOUR_MS, HOURS), _steps(at, counted, DAY_MS, DAYS))


def _steps(at: Millis, counted: Sequence[Mapping[int, int]], step: int, steps: int) -> list[int]:
    first = at - at % step - (steps - 1) * step
    counts = [0] * steps
    for hours in counted:
        for hour, number in hours.items():
            if hour >= first:
                counts[min((hour - first) // step, steps - 1)] += number
    return counts


async def detail(group_id: str, deps: Deps) -> FailureGroupDetail:
    return await deps.store.read(lambda tx: _detail(tx, group_id))


def _detail(tx: Tx, group_id: str) -> FailureGroupDetail:
    members = tx.failures.find_members(group_id)
    group = next((member for member in members if member.id == group_id), None)
    if group is None:
        raise NotFound(f"There is no failure group {group_id!r}.")
    entry = MergedGroup(group, [member for member in members if member.id != group_id])
    examples = tx.operations.find(OperationFilter(group_ids=tuple(member.id for member in members)), EXAMPLES)
    texts = {operation.error_message or "" for operation in examples}
    root = tx.failures.get_root(group_id)
    return FailureGroupDetail(
        entry=entry,
        trend=_trends(tx, [entry])[0],
        examples=examples,
        hazards=sorted({name for text in texts for name in detect(text)}),
        analyses=tx.proposals.find_analyses(group_id),
        merged_into=None if root == group_id else root,
        proposal=tx.proposals.get(group_id),
    )


# --- changes -------------------------------------------------------------------------------------------------------


async def change(group_id: str, action: str, into: str | None, actor: str, deps: Deps) -> None:
    """`action` is merge, unmerge, resolve, archive or reopen."""

    def store(tx: Tx) -> None:
        group = _existing(tx, group_id)
        if action == "merge":
            _merge(tx, group, _existing(tx, into or ""), actor)
        elif action == "unmerge":
            if not tx.failures.unalias(group.id):
                raise BadInput(f"Group {group.id!r} is not merged into another.")
        else:
            members = tx.failures.get_for_update(sorted(member.id for member in tx.failures.find_members(group.id)))
            tx.failures.update(*(replace(member, state=_STATES[action]) for member in members.values()))

    await deps.store.write(store)


def _merge(tx: Tx, group: FailureGroup, into: FailureGroup, actor: str) -> None:
    """One level deep: a group with merged members is not merged itself, so that every merge can be undone."""
    if group.id == into.id:
        raise BadInput("A group cannot be merged into itself.")
    if tx.failures.get_root(into.id) != into.id or len(tx.failures.find_members(group.id)) > 1:
        raise BadInput("Merge into the group that the others were merged into, or unmerge it first.")
    tx.failures.unalias(group.id)
    tx.failures.alias(group.id, into.id, actor)


def _existing(tx: Tx, group_id: str) -> FailureGroup:
    held = tx.failures.get_for_update([group_id])
    if group_id not in held:
        raise NotFound(f"There is no failure group {group_id!r}.")
    return held[group_id]
