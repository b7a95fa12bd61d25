"""The state of memory in one sentence: which memories take most of the tokens without ever being cited. Pure."""

from collections.abc import Sequence

from msgspec import Struct

from acumen.meter.costs import CostRow

# So many are named at most: a sentence about forty memories names none.
MOST = 5
# Enough of what is never cited to be worth a sentence; the rest is a long tail.
PART = 0.8


class Headline(Struct, frozen=True):
    """`count` memories took `share` of all tokens and were never cited. No count: nothing of the kind."""

    tokens: int
    count: int = 0
    share: float = 0.0


def headline(tags: Sequence[CostRow], all_tokens: int) -> Headline:
    never = sorted((tag.use.tokens for tag in tags if tag.use.shown and not tag.use.cited_shown), reverse=True)
    if not all_tokens or not never:
        return Headline(all_tokens)
    taken = count = 0
    for tokens in never[:MOST]:
        taken, count = taken + tokens, count + 1
        if taken >= PART * sum(never):
            break
    return Headline(all_tokens, count, taken / all_tokens)


class Bar(Struct, frozen=True):
    """One memory of the Pareto chart: what it wasted, and how much of all waste it and those before it make."""

    tag: CostRow
    share: float
    cumulative: float


def pareto(tags: Sequence[CostRow], all_wasted: int, most: int) -> list[Bar]:
    """The most wasteful first, as the tags come; those that wasted nothing are left out."""
    bars: list[Bar] = []
    so_far = 0
    for tag in tags[:most]:
        if tag.use.wasted_tokens <= 0 or not all_wasted:
            break
        so_far += tag.use.wasted_tokens
        bars.append(Bar(tag, tag.use.wasted_tokens / all_wasted, so_far / all_wasted))
    return bars
