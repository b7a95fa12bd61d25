"""Endpoints of usage, cost, lift and replay."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from acumen.api.call import Call, answers
from acumen.api.views import maybe_seconds, millis, seconds, shaped
from acumen.meter import citations, costs, outcomes, usage
from acumen.meter.costs import CostReport, CostRow
from acumen.meter.lift import Lift, OutcomeCounts
from acumen.model.ids import Kind, MemoryRef, Millis, RequestId, SessionId, UserId
from acumen.model.metering.usage import GroupBy, Use
from acumen.model.plural import counted
from acumen.model.times import DAY_MS
from acumen.recall import replay
from acumen.recall.replay import Then
from acumen_client.calls import Calls
from acumen_client.wire import meter as wire

MILLION = 1_000_000


@answers(Calls.injection_stats)
async def get_injection_stats(request: wire.GetInjectionStatsRequest, call: Call) -> wire.GetInjectionStatsResponse:
    await call.app.flush_usage()
    usage_stats = await usage.stats(request.days_back, request.limit, request.offset, call.deps)
    stats = [
        shaped(
            wire.InjectionStat,
            entity_type=stat.kind,
            entity_id=stat.id,
            title=usage_stats.titles.get(MemoryRef(Kind(stat.kind), stat.id)),
            surfaced_count=stat.shown,
            distinct_session_count=stat.sessions,
            total_prompt_tokens=stat.tokens,
            first_injected_at=seconds(stat.first_at),
            last_injected_at=seconds(stat.last_at),
            last_session_id=stat.last_session,
        )
        for stat in usage_stats.stats
    ]
    return shaped(
        wire.GetInjectionStatsResponse,
        usage_stats,
        request,
        stats=stats,
        covered_since=maybe_seconds(usage_stats.covered_since),
        msg=_found(usage_stats.total, "injected", request.days_back),
    )


def _found(count: int, what: str, days: int) -> str:
    return f"Found {counted(count, 'memory', 'memories')} {what} in the last {counted(days, 'day')}"


@answers(Calls.cite)
async def cite(request: wire.CiteRequest, call: Call) -> wire.CiteResponse:
    await call.app.flush_usage()  # handles are resolved among recorded injections
    session = SessionId(request.session_id) if request.session_id else None
    named = [citation.model_dump() for citation in request.citations]
    cited = await citations.cite(UserId(request.user_id), session, RequestId(request.request_id), named, call.deps)
    memories = [shaped(wire.CitedMemory, ref) for ref in sorted(cited.memories)]
    return wire.CiteResponse(cited=memories, unresolved=sorted(cited.unresolved))


@answers(Calls.playbook_application_stats)
async def get_playbook_application_stats(
    request: wire.GetPlaybookApplicationStatsRequest, call: Call
) -> wire.GetPlaybookApplicationStatsResponse:
    citation_stats = await usage.citations(request.days_back, request.limit, request.offset, call.deps)
    stats = [
        shaped(
            wire.PlaybookApplicationStat,
            real_id=stat.id,
            kind=stat.kind,
            title=citation_stats.titles.get(MemoryRef(Kind(stat.kind), stat.id), ""),
            applied_count=stat.cited,
            last_applied_at=seconds(stat.last_at),
            last_interaction_id=stat.last_interaction,
        )
        for stat in citation_stats.stats
    ]
    return shaped(
        wire.GetPlaybookApplicationStatsResponse,
        citation_stats,
        request,
        stats=stats,
        unresolved_count=citation_stats.unresolved,
        retrieved_count=citation_stats.retrieved,
        covered_since=maybe_seconds(citation_stats.covered_since),
        msg=_found(citation_stats.total, "cited", request.days_back),
    )


# --- price tags ----------------------------------------------------------------------------------------------------


@answers(Calls.memory_costs)
async def get_memory_costs(request: wire.GetMemoryCostsRequest, call: Call) -> wire.GetMemoryCostsResponse:
    await call.app.flush_usage()
    by = GroupBy(request.group_by)
    bill = await costs.report(by, request.days_back, request.model, request.limit, request.offset, call.deps)
    return shaped(
        wire.GetMemoryCostsResponse,
        bill,
        request,
        costs=[_tag(tag, by, bill) for tag in bill.rows],
        all_together=_cost(bill.use, bill.per_million, {}),
        usd_per_million_tokens=bill.per_million,
        since=seconds(bill.since),
        covered_since=maybe_seconds(bill.covered_since),
        cited_since=maybe_seconds(bill.cited_since),
        msg=None if bill.per_million is not None else f"The price table has no price for {bill.model}.",
    )


def _tag(tag: CostRow, by: GroupBy, bill: CostReport) -> wire.MemoryCost:
    named: dict[str, Any]
    if by is GroupBy.MEMORY:
        named = {"entity_type": tag.key[0], "entity_id": tag.key[1], "title": tag.title}
    elif by is GroupBy.DAY:
        named = {"day": datetime.fromtimestamp(tag.key[0] * DAY_MS / 1000, UTC).date().isoformat()}
    else:
        named = {"user_id" if by is GroupBy.USER else "agent_version": tag.key[0]}
    return _cost(tag.use, bill.per_million, named, searches=by is not GroupBy.MEMORY)


def _cost(use: Use, per_million: float | None, named: dict[str, Any], *, searches: bool = True) -> wire.MemoryCost:
    dollars = None if per_million is None else per_million / MILLION
    return shaped(
        wire.MemoryCost,
        use,
        **named,
        shown_count=use.shown,
        shown_tokens=use.tokens,
        echoed_count=use.echoed_shown,
        cited_count=use.cited_shown,
        wasted_share=use.wasted_tokens / use.tokens if use.tokens else None,
        usd=None if dollars is None else use.tokens * dollars,
        wasted_usd=None if dollars is None else use.wasted_tokens * dollars,
        search_count=use.searches if searches else None,
        zero_hit_count=use.zero_hits if searches else None,
    )


# --- did it help ---------------------------------------------------------------------------------------------------


@answers(Calls.memory_lift)
async def get_memory_lift(request: wire.GetMemoryLiftRequest, call: Call) -> wire.GetMemoryLiftResponse:
    await call.app.flush_usage()
    lift = await outcomes.of_memory(
        MemoryRef(Kind(request.entity_type), request.entity_id), request.days_back, call.deps
    )
    return wire.GetMemoryLiftResponse(
        with_and_without=_compared(lift.with_and_without),
        after_and_before=_compared(lift.after_and_before),
        covered_since=maybe_seconds(lift.covered_since),
    )


def _compared(lift: Lift) -> wire.Comparison:
    return shaped(wire.Comparison, lift, lift.interval, here=_group(lift.here), there=_group(lift.there))


def _group(counts: OutcomeCounts) -> wire.SessionGroup:
    return wire.SessionGroup(session_count=counts.cases, success_count=counts.successes, success_rate=counts.rate)


# --- replay --------------------------------------------------------------------------------------------------------


@answers(Calls.injection)
async def get_injection(request: wire.GetInjectionRequest, call: Call) -> wire.GetInjectionResponse:
    await call.app.flush_usage()
    injection = await replay.injection(request.injection_id, call.deps)
    memories = [wire.InjectedMemory.model_validate(hit) for hit in injection.hits]
    context = {"context": injection.rendered, "context_tokens": injection.tokens}
    return shaped(wire.GetInjectionResponse, injection, injection_id=injection.id, **context, memories=memories)


@answers(Calls.compare_injection)
async def compare_injection(request: wire.CompareInjectionRequest, call: Call) -> wire.CompareInjectionResponse:
    await call.app.flush_usage()
    earlier, later = _end_of_second(request.earlier), _end_of_second(request.later)
    comparison = await replay.compare(request.injection_id, earlier, later, call.deps)
    return wire.CompareInjectionResponse(
        injection_id=comparison.injection.id,
        earlier=_then(comparison.earlier),
        later=_then(comparison.later),
        appeared=_names(comparison.appeared),
        vanished=_names(comparison.vanished),
        reworded=_names(comparison.reworded),
        diff=comparison.diff,
        msg="No difference." if not comparison.diff else None,
    )


def _end_of_second(at: int) -> Millis:
    """What happened within a second has happened at its end."""
    return Millis((millis(at) or 0) + 999)


def _names(refs: Sequence[MemoryRef]) -> list[str]:
    return [f"{ref.kind}:{ref.id}" for ref in refs]


def _then(recalled: Then) -> wire.RecalledThen:
    lines = {line.ref: line for line in (*recalled.context.shown, *recalled.context.left_out)}
    shown = {line.ref for line in recalled.context.shown}
    return wire.RecalledThen(
        at=seconds(recalled.at),
        context=recalled.context.text,
        context_tokens=recalled.context.tokens,
        memories=[
            shaped(
                wire.InjectedMemory,
                ref,
                hit,
                score=round(hit.score, 4),
                shown=ref in shown,
                line=lines[ref].text,
                tokens=lines[ref].tokens,
            )
            for ref, hit in recalled.hits
        ],
    )
