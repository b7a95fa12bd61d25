"""The headline of the overview: memories that cost most of the tokens and were never cited. Pure."""

from collections.abc import Sequence

from msgspec import Struct

from acumen.meter.costs import CostRow

# The headline counts at most this many memories.
MOST = 5
# Of the never cited tokens, the share that the counted memories must have.
PART = 0.8


class Headline(Struct, frozen=True):
    """`count` memories cost `share` of all tokens and were never cited."""

    tokens: int
    count: int = 0
    share: float = 0.0


def headline(rows: Sequence[CostRow], all_tokens: int) -> Headline:
    never = sorted((row.use.tokens for row in rows if row.use.shown and not row.use.cited_shown), reverse=True)
    if not all_tokens or not never:
        return Headline(all_tokens)
    taken = count = 0
    for tokens in never[:MOST]:
        taken, count = taken + tokens, count + 1
        if taken >= PART * sum(never):
            break
    return Headline(all_tokens, count, taken / all_tokens)


class Bar(Struct, frozen=True):
    """One memory of the Pareto chart; `cumulative` is its share and those of the memories before it."""

    row: CostRow
    share: float
    cumulative: float


def pareto(rows: Sequence[CostRow], all_wasted: int, most: int) -> list[Bar]:
    """In the order of the rows, without rows that wasted nothing."""
    bars: list[Bar] = []
    so_far = 0
    for row in rows[:most]:
        if row.use.wasted_tokens <= 0 or not all_wasted:
            break
        so_far += row.use.wasted_tokens
        bars.append(Bar(row, row.use.wasted_tokens / all_wasted, so_far / all_wasted))
    return bars
