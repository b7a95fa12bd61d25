"""The state of memory in a sentence."""

from acumen.meter.costs import CostRow
from acumen.meter.headline import headline, pareto
from acumen.model.metering.usage import Use


def _tag(name: str, tokens: int, cited: int = 0) -> CostRow:
    return CostRow(("profile", name), Use(shown=2, tokens=tokens, cited_shown=bool(cited), cited_tokens=cited), name)


def test_the_few_that_take_most_without_being_cited_are_counted():
    tags = [_tag("a", 300), _tag("b", 100), _tag("c", 5), _tag("d", 5), _tag("useful", 590, cited=590)]

    told = headline(tags, 1000)

    assert (told.count, told.share) == (2, 0.4)


def test_where_everything_is_cited_nothing_is_held_against_anybody():
    assert headline([_tag("useful", 10, cited=5)], 10).count == 0


def test_nothing_shown_is_nothing_said():
    told = headline([], 0)

    assert (told.tokens, told.count) == (0, 0)


def test_the_bars_add_up_to_the_whole_waste():
    bars = pareto([_tag("a", 60), _tag("b", 30), _tag("c", 10), _tag("useful", 9, cited=9)], 100, most=10)

    assert [bar.share for bar in bars] == [0.6, 0.3, 0.1]
    assert [round(bar.cumulative, 6) for bar in bars] == [0.6, 0.9, 1.0]
