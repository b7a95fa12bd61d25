"""Meter, over REST."""

from acumen.api.call import Call, answers
from acumen.api.views import maybe_seconds, seconds
from acumen.meter import usage
from acumen_client import calls
from acumen_client.wire.meter import GetInjectionStatsRequest, GetInjectionStatsResponse, InjectionStat


@answers(calls.get_injection_stats)
async def get_injection_stats(asked: GetInjectionStatsRequest, call: Call) -> GetInjectionStatsResponse:
    await call.app.counted()
    found, total, covered = await usage.stats(asked.days_back, asked.limit, asked.offset, call.deps)
    stats = [
        InjectionStat.model_validate(
            {
                "entity_type": one.kind,
                "entity_id": one.id,
                "surfaced_count": one.shown,
                "distinct_session_count": one.sessions,
                "total_prompt_tokens": one.tokens,
                "first_injected_at": seconds(one.first_at),
                "last_injected_at": seconds(one.last_at),
                "last_session_id": one.last_session,
            }
        )
        for one in found
    ]
    return GetInjectionStatsResponse(
        stats=stats,
        total=total,
        limit=asked.limit,
        offset=asked.offset,
        covered_since=maybe_seconds(covered),
        msg=f"Found {total} memory(ies) shown in the last {asked.days_back} day(s)",
    )
