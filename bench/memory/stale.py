"""Knowledge that was updated: whether the newest value is in the context, before the old one, and with a date."""

import re
from collections.abc import Iterator

from msgspec import Struct

from bench.figures import Figure, Run, at_least
from bench.memory.answers import BUDGETS
from bench.memory.api import Api
from bench.memory.histories import LONGMEMEVAL, AnswerKey, chosen
from bench.memory.played import reading_file, served

KIND = "knowledge-update"

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}} {_MONTH} \d{{4}}\b|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}\b",
    re.IGNORECASE,
)


class Freshness(Struct, frozen=True):
    """How a context shows an updated value."""

    newest: bool
    first: bool  # before the old value, or the old value is not shown
    dated: bool  # the line of the newest value has a date, or stands below that of its day


def freshness(key: AnswerKey, context: str) -> Freshness:
    if not key.met_by(context):
        return Freshness(newest=False, first=False, dated=False)
    newest = min(_places(key.need, context))
    old = _places(key.old, context)
    return Freshness(newest=True, first=not old or newest < min(old), dated=_is_dated(context, newest))


def _is_dated(context: str, place: int) -> bool:
    """Quotes have the date of their day on a line of its own above them."""
    before, line = context[:place].split("\n"), context[place:].split("\n", 1)[0]
    if _DATE.search(before[-1] + line):
        return True
    return before[-1].startswith("[t") and any(_DATE.fullmatch(earlier) for earlier in before)


def _places(patterns: tuple[str, ...], context: str) -> list[int]:
    matches = (re.search(pattern, context, re.IGNORECASE) for pattern in patterns)
    return [match.start() for match in matches if match]


def measure(run: Run) -> Iterator[Figure]:
    histories = [history for history in chosen(LONGMEMEVAL, run) if history.questions[0].kind == KIND]
    results: dict[int, list[Freshness]] = {budget: [] for budget in BUDGETS}
    contexts = []
    for history in histories:
        question = history.questions[0]
        with served(history, run) as server:
            for budget in BUDGETS:
                context = Api(server.port).search(history.user_id, question.text, budget).get("context") or ""
                results[budget].append(freshness(question.key, context))
                contexts.append(f"=== {question.text} ({budget:,} tokens)\n{results[budget][-1]}\n{context}\n")
    reading_file("stale.txt").write_text("\n".join(contexts))
    for budget, shown in results.items():
        yield from _figures(budget, shown)


def _figures(budget: int, shown: list[Freshness]) -> Iterator[Figure]:
    count = max(1, len(shown))
    note = f"{len(shown)} questions"
    yield Figure(
        f"newest value shown, {budget:,} tokens", sum(result.newest for result in shown) / count, "", note=note
    )
    first = sum(result.first for result in shown) / count
    yield Figure(f"newest value first, {budget:,} tokens", first, "", at_least(1), note=note)
    with_date = sum(result.first and result.dated for result in shown) / count
    yield Figure(f"newest value first, with its date, {budget:,} tokens", with_date, "", at_least(1), note=note)
