"""Review, over REST."""

from acumen.api.call import Call, answers
from acumen.api.views import maybe_seconds, seconds
from acumen.model.ids import UserId
from acumen.review import queue
from acumen.review.queue import Candidate, Queue
from acumen_client import calls
from acumen_client.wire.review import GetMemoryReviewRequest, GetMemoryReviewResponse, MemoryReviewCandidate


@answers(calls.get_memory_review)
async def get_memory_review(asked: GetMemoryReviewRequest, call: Call) -> GetMemoryReviewResponse:
    await call.app.counted()
    user = None if asked.include_all_users else UserId(asked.user_id or "")
    signals = None if asked.signal_filter is None else [str(one) for one in asked.signal_filter]
    found = await queue.candidates(user, asked.days_back, signals, asked.limit, asked.offset, call.deps)
    return GetMemoryReviewResponse(
        candidates=[_candidate(one) for one in found.candidates],
        total=found.total,
        limit=asked.limit,
        offset=asked.offset,
        covered_since=maybe_seconds(found.covered_since),
        msg=_message(found, asked.days_back),
    )


def _message(found: Queue, days_back: int) -> str:
    if found.enough_history:
        return f"{found.total} memory(ies) deserve a look"
    return f"insufficient_history: use has been counted for less than {days_back} days, so nothing is called stale yet"


def _candidate(one: Candidate) -> MemoryReviewCandidate:
    return MemoryReviewCandidate.model_validate(
        {
            "entity_type": one.ref.kind,
            "entity_id": one.ref.id,
            "title": one.title,
            "user_id": one.user_id,
            "signals": [signal.name for signal in one.signals],
            "reasons": {signal.name: signal.why for signal in one.signals},
            "score": one.score,
            "injection_count": one.used.shown,
            "citation_count": one.used.cited,
            "total_prompt_tokens": one.used.tokens,
            "last_injected_at": maybe_seconds(one.used.last_shown_at),
            "last_cited_at": maybe_seconds(one.used.last_cited_at),
            "last_modified_at": seconds(one.used.modified_at),
        }
    )
