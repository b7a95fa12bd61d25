"""How one org wants its sessions judged: the part of its configuration that evaluation reads."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

SECTION = "agent_success_config"
USUAL_NAME = "agent_success"
# What counts as success where the org has not said otherwise; the wire's default is the same in words.
SUCCESS = (
    "A session is a success when the agent understood what the user wanted and the user has it at the end: "
    "a right and useful answer, or the task done. It is a failure when the agent misunderstood, was wrong, "
    "left out something it could have done, ignored a limit it was given, or left the user unsatisfied."
)
# The wire's default. It is there to bound what a model costs; rules cost nothing.
USUAL_RATE = 0.05
# Where a model judges, a regeneration asks it about this many sessions of each agent version at most.
USUAL_STRATUM = 200


class Rates(Struct, frozen=True):
    """Which share of the sessions is judged at all, and which share by the model if there is one."""

    all: float = 1.0
    by_model: float = USUAL_RATE


class Judging(Struct, frozen=True):
    on: bool = True
    name: str | None = USUAL_NAME
    definition: str = SUCCESS
    sources: tuple[str, ...] | None = None  # None: sessions of any source
    rates: Rates = Rates()
    evaluation_only: Rates = Rates()  # of sessions that are published to be judged and not to be learned from
    stratum: int = USUAL_STRATUM


def from_stored(config: Mapping[str, Any]) -> Judging:
    """A section that is there and null is switched off; one that is not there is as by default."""
    section = config.get(SECTION) or {}
    sources = section.get("request_sources_enabled")
    rate = section.get("sampling_rate", USUAL_RATE)
    own_rate = section.get("evaluation_only_sampling_rate")
    return Judging(
        on=not (SECTION in config and config[SECTION] is None),
        name=section.get("evaluation_name") if section else USUAL_NAME,
        definition=section.get("success_definition_prompt") or SUCCESS,
        sources=tuple(sources) if sources else None,
        rates=_rates(rate),
        evaluation_only=_rates(rate) if own_rate is None else Rates(own_rate, own_rate),
        stratum=config.get("eval_sample_n_per_stratum") or USUAL_STRATUM,
    )


def _rates(rate: float) -> Rates:
    """The default bounds only the cost of a model. A value that was set counts for all sessions."""
    return Rates() if rate == USUAL_RATE else Rates(rate, rate)
