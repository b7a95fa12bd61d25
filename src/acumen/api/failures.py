"""Groups of failures, over REST."""

from collections.abc import Sequence
from contextlib import suppress

from acumen.api import proposals
from acumen.api.call import Call, answers
from acumen.api.operations import view
from acumen.api.views import seconds
from acumen.errors import NotFound
from acumen.model.failure import DAY_MS, HOUR_MS, FailureGroup, GroupState
from acumen.model.hazards import hazards
from acumen.model.ids import Millis
from acumen.model.proposal import Analysis
from acumen.observe import failures
from acumen.review import proposals as review
from acumen.storage.failures import WantedGroups
from acumen.storage.operations import Wanted
from acumen.storage.store import Tx
from acumen_client import calls
from acumen_client.wire import operations as wire

EXAMPLES = 10
# What nobody has put away.
OPEN = (GroupState.NEW, GroupState.ONGOING, GroupState.ESCALATING, GroupState.REGRESSED)


@answers(calls.get_failures)
async def get_failures(asked: wire.GetFailuresRequest, call: Call) -> wire.GetFailuresResponse:
    states = tuple(GroupState(one) for one in asked.states) if asked.states else OPEN
    wanted = WantedGroups(states=states, source=asked.source, endpoint=asked.endpoint)

    def read(tx: Tx) -> wire.GetFailuresResponse:
        groups, total = tx.failures.find(wanted, asked.limit, asked.offset)
        merged = tx.failures.merged()
        views = [group_view(group, merged.get(group.id, ())) for group in groups]
        return wire.GetFailuresResponse(groups=views, total=total, limit=asked.limit, offset=asked.offset)

    return await call.deps.store.read(read)


@answers(calls.get_failure)
async def get_failure(asked: wire.GetFailureRequest, call: Call) -> wire.FailureResponse:
    told = await call.deps.store.read(lambda tx: _failure(tx, asked.group_id))
    found = await call.deps.store.read(lambda tx: tx.lessons.get(asked.group_id))
    if found is not None:
        with suppress(NotFound):  # its playbook was deleted by hand
            told.proposal = proposals.view(await review.of_playbook(found.playbook_id, call.deps))
    return told


def _failure(tx: Tx, group_id: str) -> wire.FailureResponse:
    members = tx.failures.members(group_id)
    group = next((one for one in members if one.id == group_id), None)
    if group is None:
        raise NotFound(f"There is no group of failures {group_id!r}.")
    ids = tuple(one.id for one in members)
    examples = tx.operations.find(Wanted(group_ids=ids), EXAMPLES)
    texts = {one.error_message or "" for one in examples}
    return wire.FailureResponse(
        group=group_view(group, [one for one in members if one.id != group_id]),
        hours=_course(tx, ids, tx.at, HOUR_MS, 24),
        days=_course(tx, ids, tx.at, DAY_MS, 30),
        examples=[view(one) for one in examples],
        hazards=sorted({name for text in texts for name in hazards(text)}),
        analyses=[_analysis(one) for one in tx.lessons.analyses_of(group_id)],
    )


def _course(tx: Tx, ids: Sequence[str], at: Millis, step: int, steps: int) -> list[int]:
    """How many there were in each step up to now, oldest first."""
    first = at - at % step - (steps - 1) * step
    counts = [0] * steps
    for group_id in ids:
        for hour, number in tx.failures.hours(group_id, Millis(first)).items():
            counts[min((hour - first) // step, steps - 1)] += number
    return counts


@answers(calls.change_failure)
async def change_failure(asked: wire.ChangeFailureRequest, call: Call) -> wire.ChangeFailureResponse:
    actor = call.caller.actor
    await failures.change(asked.group_id, asked.change, asked.into, actor, call.deps)
    told = await call.deps.store.read(lambda tx: _failure(tx, asked.into or asked.group_id))
    return wire.ChangeFailureResponse(group=told.group)


def group_view(group: FailureGroup, merged: Sequence[FailureGroup]) -> wire.FailureGroupView:
    together = (group, *merged)
    return wire.FailureGroupView(
        group_id=group.id,
        template=group.template,
        source=group.source,
        endpoint=group.endpoint,
        error_type=group.error_type,
        state=group.state.value,
        count=sum(one.count for one in together),
        sessions=sum(one.sessions for one in together),
        first_seen=seconds(Millis(min(one.first_seen for one in together))),
        last_seen=seconds(Millis(max(one.last_seen for one in together))),
        merged=[one.id for one in merged],
        grouping_version=group.version,
    )


def _analysis(one: Analysis) -> wire.AnalysisView:
    return wire.AnalysisView(
        analysis_id=one.id,
        about=str(one.about),
        state=str(one.state),
        engine=one.origin.engine,
        model=one.origin.model,
        confidence=one.origin.confidence,
        diagnosis=one.diagnosis,
        evidence=list(one.evidence),
        created_at=seconds(one.created_at),
    )
