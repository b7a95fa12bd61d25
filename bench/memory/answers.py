"""Is the answer in the context? Whole histories published and learned, then their questions, in two budgets.

In the same run two baselines: dated turns of a server with both extractors off, and dated sentences by plain ranking.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from bench.figures import Figure, Run, at_least
from bench.memory.api import Api
from bench.memory.baselines import SentenceRanking, dated_turns, sentences
from bench.memory.histories import LOCOMO, LONGMEMEVAL, History, Question, chosen
from bench.memory.played import reading_file, served

BUDGETS = (300, 1_000)
TARGETS = {
    (LOCOMO, 300): at_least(0.80),
    (LOCOMO, 1_000): at_least(0.90),
    (LONGMEMEVAL, 300): at_least(0.80),
    (LONGMEMEVAL, 1_000): at_least(0.92),
}
CONTEXT, TURNS, SENTENCES = "context", "turns, learning off", "sentences, plain ranking"
METHODS = (CONTEXT, TURNS, SENTENCES)


class Answer(Struct, frozen=True):
    """What one method gave for one question in one budget."""

    history: str
    question: Question
    method: str
    budget: int
    context: str

    @property
    def bears(self) -> bool:
        return self.question.key.met_by(self.context)


def measure_locomo(run: Run) -> Iterator[Figure]:
    yield from _measure(LOCOMO, run)


def measure_longmemeval(run: Run) -> Iterator[Figure]:
    yield from _measure(LONGMEMEVAL, run)


def _measure(set_name: str, run: Run) -> Iterator[Figure]:
    histories = chosen(set_name, run)
    answers = [answer for history in histories for answer in _answers(history, run)]
    misses = reading_file(f"misses-{set_name}.txt")
    misses.write_text(describe_misses(answers))
    note = f"{sum(len(history.questions) for history in histories)} questions, {len(histories)} histories"
    for budget in BUDGETS:
        found = shares(answers, budget)
        for method in METHODS:
            target = TARGETS[set_name, budget] if method == CONTEXT else None
            yield Figure(f"{method}, {budget:,} tokens", found[method], "", target, note=note)
        best = max(found[TURNS], found[SENTENCES])
        yield Figure(f"context above the best baseline, {budget:,} tokens", found[CONTEXT] - best, "", at_least(0))
    missed = sum(answer.method == CONTEXT and not answer.bears for answer in answers)
    yield Figure("contexts that miss", missed, "", note=f"written to {misses}")


def _answers(history: History, run: Run) -> Iterator[Answer]:
    with served(history, run) as server:
        api = Api(server.port)
        for question, budget in _asked(history):
            context = api.search(history.user_id, question.text, budget).get("context") or ""
            yield Answer(history.user_id, question, CONTEXT, budget, context)
    with served(history, run, learning=False) as server:
        api = Api(server.port)
        for question, budget in _asked(history):
            context = dated_turns(api, history, question.text, budget)
            yield Answer(history.user_id, question, TURNS, budget, context)
    ranking = SentenceRanking(sentences(history))
    for question, budget in _asked(history):
        yield Answer(history.user_id, question, SENTENCES, budget, ranking.context(question.text, budget))


def _asked(history: History) -> Iterator[tuple[Question, int]]:
    for question in history.questions:
        for budget in BUDGETS:
            yield question, budget


def shares(answers: Sequence[Answer], budget: int) -> Mapping[str, float]:
    """The share of contexts that bear the answer, per method."""
    within = [answer for answer in answers if answer.budget == budget]
    return {method: _share([answer for answer in within if answer.method == method]) for method in METHODS}


def _share(answers: Sequence[Answer]) -> float:
    return sum(answer.bears for answer in answers) / max(1, len(answers))


def describe_misses(answers: Sequence[Answer]) -> str:
    """Every context that misses, with its question and key and the baselines that bear the answer."""
    lines = []
    for answer in answers:
        if answer.method != CONTEXT or answer.bears:
            continue
        same = [other for other in answers if (other.question, other.budget) == (answer.question, answer.budget)]
        better = [other.method for other in same if other.history == answer.history and other.bears]
        lines += [
            f"=== {answer.history}, {answer.budget:,} tokens, {answer.question.kind}: {answer.question.text}",
            f"needs {list(answer.question.key.need)} with {answer.question.key.must_with!r}",
            f"borne by: {', '.join(better) or 'no method'}",
            answer.context or "(empty)",
            "",
        ]
    return "\n".join(lines)
