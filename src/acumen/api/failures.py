"""Groups of failures, over REST."""

from contextlib import suppress

from msgspec.structs import asdict

from acumen.api import proposals
from acumen.api.call import Call, answers
from acumen.api.operations import view
from acumen.api.views import seconds, shaped
from acumen.errors import NotFound
from acumen.model.operations.failure import FailureGroupFilter, GroupState
from acumen.model.operations.proposal import Analysis
from acumen.review import failures
from acumen.review import proposals as review
from acumen.review.failures import OPEN, FailureGroupDetail, Listed
from acumen_client.calls import Calls
from acumen_client.wire import failures as wire


@answers(Calls.failures)
async def get_failures(asked: wire.GetFailuresRequest, call: Call) -> wire.GetFailuresResponse:
    states = tuple(GroupState(one) for one in asked.states) if asked.states else OPEN
    wanted = FailureGroupFilter(states=states, source=asked.source, endpoint=asked.endpoint)
    groups, total = await call.deps.store.read(lambda tx: failures.listed(tx, wanted, asked.limit, asked.offset))
    views = [_group(one) for one in groups]
    return wire.GetFailuresResponse(groups=views, total=total, limit=asked.limit, offset=asked.offset)


@answers(Calls.failure)
async def get_failure(asked: wire.GetFailureRequest, call: Call) -> wire.FailureResponse:
    told, found = await call.deps.store.read(
        lambda tx: (failures.told(tx, asked.group_id), tx.proposals.get(asked.group_id))
    )
    answer = _failure(told)
    if found is not None:
        with suppress(NotFound):  # its playbook was deleted by hand
            answer.proposal = proposals.view(await review.of_playbook(found.playbook_id, call.deps))
    return answer


@answers(Calls.change_failure)
async def change_failure(asked: wire.ChangeFailureRequest, call: Call) -> wire.ChangeFailureResponse:
    await failures.change(asked.group_id, asked.change, asked.into, call.caller.actor, call.deps)
    told = await call.deps.store.read(lambda tx: failures.told(tx, asked.into or asked.group_id))
    return wire.ChangeFailureResponse(group=_group(told.listed))


def _failure(told: FailureGroupDetail) -> wire.FailureResponse:
    return wire.FailureResponse(
        group=_group(told.listed),
        hours=list(told.course.hours),
        days=list(told.course.days),
        examples=[view(one) for one in told.examples],
        hazards=list(told.hazards),
        analyses=[_analysis(one) for one in told.analyses],
    )


def _group(one: Listed) -> wire.FailureGroupView:
    return shaped(
        wire.FailureGroupView,
        one.group,
        group_id=one.group.id,
        state=one.group.state.value,
        count=one.count,
        sessions=one.sessions,
        first_seen=seconds(one.first_seen),
        last_seen=seconds(one.last_seen),
        merged=[other.id for other in one.merged],
        grouping_version=one.group.version,
    )


def _analysis(one: Analysis) -> wire.AnalysisView:
    return shaped(wire.AnalysisView, one, analysis_id=one.id, **asdict(one.origin))
