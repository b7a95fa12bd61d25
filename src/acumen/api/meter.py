"""Meter, over REST."""

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
from acumen.model.times import DAY_MS
from acumen.recall import replay
from acumen.recall.replay import Then
from acumen_client.calls import Calls
from acumen_client.wire import meter as wire
from acumen_client.wire.shapes import MemoryKind

MILLION = 1_000_000


@answers(Calls.injection_stats)
async def get_injection_stats(asked: wire.GetInjectionStatsRequest, call: Call) -> wire.GetInjectionStatsResponse:
    await call.app.counted()
    found = await usage.stats(asked.days_back, asked.limit, asked.offset, call.deps)
    stats = [
        wire.InjectionStat.model_validate(
            {
                "entity_type": one.kind,
                "entity_id": one.id,
                "title": found.titles.get(MemoryRef(Kind(one.kind), one.id)),
                "surfaced_count": one.shown,
                "distinct_session_count": one.sessions,
                "total_prompt_tokens": one.tokens,
                "first_injected_at": seconds(one.first_at),
                "last_injected_at": seconds(one.last_at),
                "last_session_id": one.last_session,
            }
        )
        for one in found.stats
    ]
    return wire.GetInjectionStatsResponse(
        stats=stats,
        total=found.total,
        limit=asked.limit,
        offset=asked.offset,
        covered_since=maybe_seconds(found.covered_since),
        msg=f"Found {found.total} memory(ies) shown in the last {asked.days_back} day(s)",
    )


@answers(Calls.cite)
async def cite(asked: wire.CiteRequest, call: Call) -> wire.CiteResponse:
    await call.app.counted()  # handles are resolved among recorded injections
    session = SessionId(asked.session_id) if asked.session_id else None
    named = [citation.model_dump() for citation in asked.citations]
    cited = await citations.cite(UserId(asked.user_id), session, RequestId(asked.request_id), named, call.deps)
    memories = [wire.CitedMemory(kind=MemoryKind(ref.kind), id=ref.id) for ref in sorted(cited.memories)]
    return wire.CiteResponse(cited=memories, unresolved=sorted(cited.unresolved))


@answers(Calls.playbook_application_stats)
async def get_playbook_application_stats(
    asked: wire.GetPlaybookApplicationStatsRequest, call: Call
) -> wire.GetPlaybookApplicationStatsResponse:
    found = await usage.citations(asked.days_back, asked.limit, asked.offset, call.deps)
    stats = [
        wire.PlaybookApplicationStat(
            real_id=one.id,
            kind=MemoryKind(one.kind),
            title=found.titles.get(MemoryRef(Kind(one.kind), one.id), ""),
            applied_count=one.cited,
            last_applied_at=seconds(one.last_at),
            last_interaction_id=one.last_interaction,
        )
        for one in found.stats
    ]
    return wire.GetPlaybookApplicationStatsResponse(
        stats=stats,
        total=found.total,
        limit=asked.limit,
        offset=asked.offset,
        unresolved_count=found.unresolved,
        retrieved_count=found.retrieved,
        covered_since=maybe_seconds(found.covered_since),
        msg=f"Found {found.total} memory(ies) cited in the last {asked.days_back} day(s)",
    )


# --- price tags ----------------------------------------------------------------------------------------------------


@answers(Calls.memory_costs)
async def get_memory_costs(asked: wire.GetMemoryCostsRequest, call: Call) -> wire.GetMemoryCostsResponse:
    await call.app.counted()
    by = GroupBy(asked.group_by)
    bill = await costs.report(by, asked.days_back, asked.model, asked.limit, asked.offset, call.deps)
    return wire.GetMemoryCostsResponse(
        costs=[_tag(one, by, bill) for one in bill.tags],
        all_together=_cost(bill.all_together, bill.per_million, {}),
        model=bill.model,
        usd_per_million_tokens=bill.per_million,
        total=bill.total,
        limit=asked.limit,
        offset=asked.offset,
        since=seconds(bill.since),
        covered_since=maybe_seconds(bill.covered_since),
        cited_since=maybe_seconds(bill.cited_since),
        msg=None if bill.per_million is not None else f"The price table has no price for {bill.model}.",
    )


def _tag(one: CostRow, by: GroupBy, bill: CostReport) -> wire.MemoryCost:
    named: dict[str, Any]
    if by is GroupBy.MEMORY:
        named = {"entity_type": one.key[0], "entity_id": one.key[1], "title": one.title}
    elif by is GroupBy.DAY:
        named = {"day": datetime.fromtimestamp(one.key[0] * DAY_MS / 1000, UTC).date().isoformat()}
    else:
        named = {"user_id" if by is GroupBy.USER else "agent_version": one.key[0]}
    return _cost(one.use, bill.per_million, named, searches=by is not GroupBy.MEMORY)


def _cost(use: Use, per_million: float | None, named: dict[str, Any], *, searches: bool = True) -> wire.MemoryCost:
    dollars = None if per_million is None else per_million / MILLION
    return wire.MemoryCost.model_validate(
        {
            **named,
            "shown_count": use.shown,
            "shown_tokens": use.tokens,
            "echoed_count": use.echoed_shown,
            "echoed_tokens": use.echoed_tokens,
            "cited_count": use.cited_shown,
            "cited_tokens": use.cited_tokens,
            "wasted_tokens": use.wasted_tokens,
            "wasted_share": use.wasted_tokens / use.tokens if use.tokens else None,
            "usd": None if dollars is None else use.tokens * dollars,
            "wasted_usd": None if dollars is None else use.wasted_tokens * dollars,
            "search_count": use.searches if searches else None,
            "zero_hit_count": use.zero_hits if searches else None,
        }
    )


# --- did it help ---------------------------------------------------------------------------------------------------


@answers(Calls.memory_lift)
async def get_memory_lift(asked: wire.GetMemoryLiftRequest, call: Call) -> wire.GetMemoryLiftResponse:
    await call.app.counted()
    found = await outcomes.of_memory(MemoryRef(Kind(asked.entity_type), asked.entity_id), asked.days_back, call.deps)
    return wire.GetMemoryLiftResponse(
        with_and_without=_compared(found.with_and_without),
        after_and_before=_compared(found.after_and_before),
        covered_since=maybe_seconds(found.covered_since),
    )


def _compared(one: Lift) -> wire.Comparison:
    interval = one.interval
    return wire.Comparison(
        here=_group(one.here),
        there=_group(one.there),
        difference=one.difference,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        verdict=one.verdict,
    )


def _group(one: OutcomeCounts) -> wire.SessionGroup:
    return wire.SessionGroup(session_count=one.cases, success_count=one.successes, success_rate=one.rate)


# --- replay --------------------------------------------------------------------------------------------------------


@answers(Calls.injection)
async def get_injection(asked: wire.GetInjectionRequest, call: Call) -> wire.GetInjectionResponse:
    await call.app.counted()
    found = await replay.injection(asked.injection_id, call.deps)
    memories = [wire.InjectedMemory.model_validate(hit) for hit in found.hits]
    context = {"context": found.rendered, "context_tokens": found.tokens}
    return shaped(wire.GetInjectionResponse, found, injection_id=found.id, **context, memories=memories)


@answers(Calls.compare_injection)
async def compare_injection(asked: wire.CompareInjectionRequest, call: Call) -> wire.CompareInjectionResponse:
    await call.app.counted()
    earlier, later = _end_of_second(asked.earlier), _end_of_second(asked.later)
    found = await replay.compare(asked.injection_id, earlier, later, call.deps)
    return wire.CompareInjectionResponse(
        injection_id=found.injection.id,
        earlier=_then(found.earlier),
        later=_then(found.later),
        appeared=_names(found.appeared),
        vanished=_names(found.vanished),
        reworded=_names(found.reworded),
        diff=found.diff,
        msg="The same at both moments." if not found.diff else None,
    )


def _end_of_second(at: int) -> Millis:
    """What happened within a second has happened at its end."""
    return Millis((millis(at) or 0) + 999)


def _names(refs: Sequence[MemoryRef]) -> list[str]:
    return [f"{ref.kind}:{ref.id}" for ref in refs]


def _then(one: Then) -> wire.RecalledThen:
    lines = {line.ref: line for line in (*one.context.shown, *one.context.left_out)}
    shown = {line.ref for line in one.context.shown}
    return wire.RecalledThen(
        at=seconds(one.at),
        context=one.context.text,
        context_tokens=one.context.tokens,
        memories=[
            wire.InjectedMemory(
                kind=MemoryKind(ref.kind),
                id=ref.id,
                score=round(hit.score, 4),
                reasons=hit.reasons,
                shown=ref in shown,
                line=lines[ref].text,
                tokens=lines[ref].tokens,
            )
            for ref, hit in one.hits
        ],
    )
