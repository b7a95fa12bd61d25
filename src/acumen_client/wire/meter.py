"""Meter: how often each memory was shown, and what that cost."""

from pydantic import Field

from acumen_client.wire.shapes import Answer, Days, HowMany, MemoryKind, Offset, Page, Request


class GetInjectionStatsRequest(Request):
    days_back: Days = 30
    limit: HowMany = 1_000
    offset: Offset = 0


class InjectionStat(Answer):
    """One memory's showings. Ids repeat across kinds, so `entity_type` is part of the name. Times are seconds."""

    entity_type: MemoryKind
    entity_id: str
    surfaced_count: int = 0
    distinct_session_count: int = 0
    total_prompt_tokens: int = 0
    first_injected_at: int | None = None
    last_injected_at: int | None = None
    last_session_id: str = ""


class GetInjectionStatsResponse(Page):
    """Most shown first, then most recently shown.

    When metering began (or was cut) inside the window, `covered_since` says from when on the numbers count.
    """

    stats: list[InjectionStat] = Field(default_factory=list)
    covered_since: int | None = None
    msg: str | None = None
