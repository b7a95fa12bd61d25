"""What the charts show that are drawn on the server."""

from acumen.meter.costs import CostRow
from acumen.model.metering.usage import Use
from acumen.model.times import DAY_MS
from acumen.web.charts import WEEKS, Month, calendar, counted_days, daily, level, months, scatter

MONDAY = 20_003  # 2024-10-07


def row(name: str, shown: int, tokens: int, cited: int) -> CostRow:
    return CostRow(("profile", name), Use(shown=shown, tokens=tokens, cited_shown=cited), name)


def test_a_memory_lies_by_what_a_showing_costs_and_how_often_it_is_cited():
    found = scatter(
        [row("expensive", 4, 400, 0), row("good", 16, 160, 16), row("usual", 1, 20, 1), row("unseen", 0, 0, 0)]
    )

    places = {dot.title: (dot.quadrant, dot.x, dot.y, round(dot.radius)) for dot in found.dots}
    assert places == {
        "good": ("cheap, cited", 90, 0, 14),
        "expensive": ("costly, rarely cited", 900, 240, 7),
        "usual": ("cheap, cited", 180, 0, 4),
    }
    assert (found.median, found.counts["costly, rarely cited"]) == (20, 1)
    assert scatter([row("unseen", 0, 0, 0)]) is None


def test_the_calendar_has_a_row_for_each_weekday_and_ends_today():
    days = calendar({MONDAY: 1, MONDAY - 6: 5}, today=MONDAY)

    assert [len(row) for row in days] == [WEEKS] * 7
    assert (days[0][-1].count, days[1][-2].count, days[1][-1].count) == (1, 5, None)
    assert (days[0][-1].level, days[1][-2].level, days[2][-2].level) == (1, 5, 0)
    assert days[0][-1].day == MONDAY * DAY_MS


def test_the_days_of_a_chart_end_with_today_which_is_partial():
    days = daily({MONDAY: Use(tokens=5), MONDAY - 1: Use(tokens=7)}, counted_days(MONDAY - 2, MONDAY, None))

    assert [(day.at // DAY_MS, day.use.tokens, day.partial) for day in days] == [
        (MONDAY, 5, True), (MONDAY - 1, 7, False), (MONDAY - 2, 0, False),
    ]  # fmt: skip


def test_the_months_of_the_calendar_span_its_weeks():
    spans = months(MONDAY)

    assert sum(month.weeks for month in spans) == WEEKS
    assert spans[-2:] == [Month((MONDAY - 36) * DAY_MS, 5), Month((MONDAY - 6) * DAY_MS, 1)]


def test_a_level_is_nothing_only_for_nothing():
    assert [level(count, 100) for count in (0, 1, 50, 100)] == [0, 1, 2, 5]
