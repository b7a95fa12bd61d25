"""Groups of failures, as a person sees them and what a person does about them."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import BadInput, NotFound
from acumen.model.ids import Millis
from acumen.model.operations.failure import FailureGroup, FailureGroupFilter, GroupState
from acumen.model.operations.operation import Operation, OperationFilter
from acumen.model.operations.proposal import Analysis
from acumen.model.prompt_injection import detect
from acumen.model.times import DAY_MS, HOUR_MS
from acumen.storage.store import Tx

EXAMPLES = 10
HOURS, DAYS = 24, 30
# What nobody has put away.
OPEN = (GroupState.NEW, GroupState.ONGOING, GroupState.ESCALATING, GroupState.REGRESSED)
_STATES = {"resolve": GroupState.RESOLVED, "archive": GroupState.ARCHIVED, "reopen": GroupState.ONGOING}


class Listed(Struct, frozen=True):
    """A group and those that are merged into it, counted together."""

    group: FailureGroup
    merged: Sequence[FailureGroup]

    @property
    def together(self) -> tuple[FailureGroup, ...]:
        return self.group, *self.merged

    @property
    def count(self) -> int:
        return sum(one.count for one in self.together)

    @property
    def sessions(self) -> int:
        return sum(one.sessions for one in self.together)

    @property
    def first_seen(self) -> Millis:
        return Millis(min(one.first_seen for one in self.together))

    @property
    def last_seen(self) -> Millis:
        return Millis(max(one.last_seen for one in self.together))

    @property
    def sources(self) -> list[str]:
        return sorted({one.source for one in self.together})


class Course(Struct, frozen=True):
    """How many there were in each hour of a day and on each day of a month, oldest first."""

    hours: Sequence[int]
    days: Sequence[int]


class FailureGroupDetail(Struct, frozen=True):
    listed: Listed
    course: Course
    examples: Sequence[Operation]
    hazards: Sequence[str]
    analyses: Sequence[Analysis]
    merged_into: str | None = None


def listed(tx: Tx, wanted: FailureGroupFilter, limit: int, offset: int) -> tuple[list[Listed], int]:
    groups, total = tx.failures.find(wanted, limit, offset)
    merged = tx.failures.find_merged()
    return [Listed(group, merged.get(group.id, ())) for group in groups], total


def courses(tx: Tx, groups: Sequence[Listed]) -> list[Course]:
    since = Millis(tx.at - tx.at % DAY_MS - (DAYS - 1) * DAY_MS)
    counted = tx.failures.get_hours([one.id for group in groups for one in group.together], since)
    return [_course(tx.at, [counted.get(one.id, {}) for one in group.together]) for group in groups]


def _course(at: Millis, counted: Sequence[Mapping[int, int]]) -> Course:
    return Course(_steps(at, counted, HOUR_MS, HOURS), _steps(at, counted, DAY_MS, DAYS))


def _steps(at: Millis, counted: Sequence[Mapping[int, int]], step: int, steps: int) -> list[int]:
    first = at - at % step - (steps - 1) * step
    counts = [0] * steps
    for hours in counted:
        for hour, number in hours.items():
            if hour >= first:
                counts[min((hour - first) // step, steps - 1)] += number
    return counts


def told(tx: Tx, group_id: str) -> FailureGroupDetail:
    members = tx.failures.find_members(group_id)
    group = next((one for one in members if one.id == group_id), None)
    if group is None:
        raise NotFound(f"There is no group of failures {group_id!r}.")
    found = Listed(group, [one for one in members if one.id != group_id])
    examples = tx.operations.find(OperationFilter(group_ids=tuple(one.id for one in members)), EXAMPLES)
    texts = {one.error_message or "" for one in examples}
    root = tx.failures.get_root(group_id)
    return FailureGroupDetail(
        listed=found,
        course=courses(tx, [found])[0],
        examples=examples,
        hazards=sorted({name for text in texts for name in detect(text)}),
        analyses=tx.proposals.find_analyses(group_id),
        merged_into=None if root == group_id else root,
    )


# --- by hand -------------------------------------------------------------------------------------------------------


async def change(group_id: str, what: str, into: str | None, actor: str, deps: Deps) -> None:
    """Merge, take a merge back, resolve, archive, reopen."""

    def store(tx: Tx) -> None:
        group = _existing(tx, group_id)
        if what == "merge":
            _merge(tx, group, _existing(tx, into or ""), actor)
        elif what == "unmerge":
            if not tx.failures.unalias(group.id):
                raise BadInput(f"Group {group.id!r} is not merged into another.")
        else:
            members = tx.failures.get_for_update(sorted(one.id for one in tx.failures.find_members(group.id)))
            tx.failures.update(*(replace(one, state=_STATES[what]) for one in members.values()))

    await deps.store.write(store)


def _merge(tx: Tx, group: FailureGroup, into: FailureGroup, actor: str) -> None:
    """One level only: a group that others are merged into stays where it is, so that every merge can be taken back."""
    if group.id == into.id:
        raise BadInput("A group cannot be merged into itself.")
    if tx.failures.get_root(into.id) != into.id or len(tx.failures.find_members(group.id)) > 1:
        raise BadInput("Merge into the group that stands for the others, or take the earlier merge back first.")
    tx.failures.unalias(group.id)
    tx.failures.alias(group.id, into.id, actor)


def _existing(tx: Tx, group_id: str) -> FailureGroup:
    held = tx.failures.get_for_update([group_id])
    if group_id not in held:
        raise NotFound(f"There is no group of failures {group_id!r}.")
    return held[group_id]
