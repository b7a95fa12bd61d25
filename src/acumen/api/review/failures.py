"""Endpoints of failure groups."""

from contextlib import suppress

from acumen.api.call import Call, answers
from acumen.api.observe.operations import view
from acumen.api.review import proposals
from acumen.api.views import seconds, shaped
from acumen.errors import NotFound
from acumen.model.operations.failure import FailureGroupFilter, GroupState
from acumen.model.operations.proposal import Analysis
from acumen.review.operations import failures
from acumen.review.operations import proposals as review
from acumen.review.operations.failures import OPEN, FailureGroupDetail, MergedGroup
from acumen_client.calls import Calls
from acumen_client.wire import failures as wire


@answers(Calls.failures)
async def get_failures(request: wire.GetFailuresRequest, call: Call) -> wire.GetFailuresResponse:
    states = tuple(GroupState(state) for state in request.states) if request.states else OPEN
    query = FailureGroupFilter(states=states, source=request.source, endpoint=request.endpoint)
    groups, total = await failures.page(query, request.limit, request.offset, call.deps)
    views = [_group(group) for group in groups]
    return shaped(wire.GetFailuresResponse, request, groups=views, total=total)


@answers(Calls.failure)
async def get_failure(request: wire.GetFailureRequest, call: Call) -> wire.FailureResponse:
    detail = await failures.detail(request.group_id, call.deps)
    answer = _failure(detail)
    if detail.proposal is not None:
        with suppress(NotFound):  # its playbook was deleted by hand
            answer.proposal = proposals.view(await review.of_playbook(detail.proposal.playbook_id, call.deps))
    return answer


@answers(Calls.change_failure)
async def change_failure(request: wire.ChangeFailureRequest, call: Call) -> wire.ChangeFailureResponse:
    await failures.change(request.group_id, request.change, request.into, call.caller.actor, call.deps)
    detail = await failures.detail(request.into or request.group_id, call.deps)
    return wire.ChangeFailureResponse(group=_group(detail.entry))


def _failure(detail: FailureGroupDetail) -> wire.FailureResponse:
    return wire.FailureResponse(
        group=_group(detail.entry),
        hours=list(detail.trend.hours),
        days=list(detail.trend.days),
        examples=[view(example) for example in detail.examples],
        hazards=list(detail.hazards),
        analyses=[_analysis(analysis) for analysis in detail.analyses],
    )


def _group(merged: MergedGroup) -> wire.FailureGroupView:
    return shaped(
        wire.FailureGroupView,
        merged,
        merged.group,
        group_id=merged.group.id,
        state=merged.group.state.value,
        first_seen=seconds(merged.first_seen),
        last_seen=seconds(merged.last_seen),
        merged=[group.id for group in merged.merged],
        grouping_version=merged.group.version,
    )


def _analysis(analysis: Analysis) -> wire.AnalysisView:
    return shaped(wire.AnalysisView, analysis, analysis.origin, analysis_id=analysis.id)
