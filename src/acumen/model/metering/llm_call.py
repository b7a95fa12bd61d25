"""A call to a language model: its purpose, result and cost."""

from enum import StrEnum

from msgspec import Struct


class ModelRole(StrEnum):
    """What a model is asked to do; each role may have a model of its own."""

    GATE = "gate"  # is there anything to learn here?
    EXTRACTION = "extraction"
    MERGE = "merge"  # same, contradicting or different; one lesson out of many
    JUDGE = "judge"  # how did the session go?
    REFORMULATION = "reformulation"  # what does this search really ask?


class CallOutcome(StrEnum):
    """How a question ended, however many requests it took."""

    ANSWERED = "answered"
    UNUSABLE = "unusable"  # it answered, and was paid, but not in the shape that was asked for
    TIMED_OUT = "timed_out"
    LIMITED = "limited"  # 429, again and again
    REFUSED = "refused"  # 4xx: a wrong key, an unknown model, a question too long
    FAILED = "failed"  # 5xx, or no connection
    STOPPED = "stopped"  # cancelled while it ran


class LlmCall(Struct, frozen=True):
    """One question. Tokens and cost are summed over all requests that were made for it."""

    role: ModelRole
    model: str
    prompt_hash: str
    outcome: CallOutcome
    attempts: int
    prompt_tokens: int
    completion_tokens: int
    duration_ms: float
    cost_usd: float | None = None  # None: the price of this model is not known
    error: str | None = None
    user_id: str | None = None
    request_id: str | None = None


class Spent(Struct, frozen=True):
    """What an org has asked of models in some time."""

    calls: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0  # None: there were calls, but none of a model whose price is known

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens
