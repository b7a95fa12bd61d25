"""Gather the pairs that really meet when the conversations under scripts/talk/ are learned from, for `train_rivals.py`.

    PYTHONPATH=src:.:scripts python -m scripts.gather_talk 0/2 > met-0.jsonl

Whoever wrote a conversation said which sentence ends what was told before; here it is played through the app, so that
memories read as they are kept, and meet what is said as often as they do in life. A share of all (here the first of
two) takes half an hour of one core.
"""

import asyncio
import json
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from acumen.learn import questions
from acumen.learn.merge import Comparison
from acumen.learn.questions import Question
from acumen.learn.rules import rivals
from acumen.learn.rules.clauses import clauses
from acumen.model.ids import UserId
from acumen.model.playbook import PlaybookNote, UserPlaybook
from acumen.model.profile import Profile, ProfileNote
from bench.learning import cases, play
from scripts import talk
from scripts.histories import holds
from scripts.talk import Conversation, Sentence

# How people end a sentence that has no mark of its own, and how often.
ENDINGS = {". ": 0.75, "\n": 0.15, ", ": 0.1}


class Asked(NamedTuple):
    question: Question
    note: ProfileNote | PlaybookNote
    memory: Profile | UserPlaybook
    worth: bool  # asked in earnest, not only here


class Told(NamedTuple):
    """A turn, and where in it each sentence stands."""

    text: str
    spans: list[tuple[int, int, Sentence]]

    @classmethod
    def of(cls, sentences: Sequence[Sentence], chance: random.Random) -> "Told":
        text, spans = "", []
        for one in sentences:
            if text and text[-1] in ".!?:;,…)":
                text += " "
            elif text:
                text += chance.choices([*ENDINGS], [*ENDINGS.values()])[0]
            spans.append((len(text), len(text) + len(one.text), one))
            text += one.text
        return cls(text, spans)

    def within(self, start: int, end: int) -> list[Sentence]:
        return [one for begins, ends, one in self.spans if begins < end and start < ends]

    def quoted(self, words: str) -> list[Sentence]:
        start = self.text.find(words)
        return self.within(start, start + len(words)) if start >= 0 else []


_asked: list[Asked] = []
_questions = Comparison.questions


def _watched(self: Any, known: Sequence[Any], notes: Sequence[Any], *given: Any) -> list[Question]:
    """All that could be asked is noted, what is worth it is answered."""
    worth = _questions(self, known, notes, *given)
    usual = questions.MOST_ASKED, rivals.ASKED
    questions.MOST_ASKED, rivals.ASKED = sys.maxsize, 0.0
    memories = {str(memory.id): memory for memory in known}
    _asked.extend(
        Asked(one, notes[one.place], memories[one.key], one in worth)
        for one in _questions(self, known, notes, *given)
        if one.key in memories
    )
    questions.MOST_ASKED, rivals.ASKED = usual
    return worth


async def gathered(conversations: Sequence[Conversation]) -> None:
    chance = random.Random(7)  # noqa: S311 - nobody's secret
    async with play.opened(embeddings=True) as app:
        for number, conversation in enumerate(conversations):
            told: list[Told] = []
            for turn in conversation.turns:
                told.append(Told.of(turn.sentences, chance))
                agent = [cases.Turn("once", "assistant", turn.before)] if turn.before else []
                said = [*agent, cases.Turn("once", "user", told[-1].text)]
                user = f"user {number}"
                await play.learn(await play.publish(user, said, app), UserId(user), app, play.Played())
                for pair in (pair for asked in _asked for pair in _pairs(asked, told)):
                    sys.stdout.write(json.dumps({**pair, "file": conversation.writer}, ensure_ascii=False) + "\n")
                _asked.clear()


def _pairs(asked: Asked, told: Sequence[Told]) -> Iterator[dict[str, Any]]:
    """Left out is what another sentence of the same turn ends: this one may have told of it too."""
    *earlier, turn = told
    words = asked.memory.source_span or ""
    numbers = {one.number for then in earlier for one in then.quoted(words) if words} - {None}
    ended = {number for *_, one in turn.spans for number in one.ends}
    evidence = asked.note.evidence
    here = {number for one in turn.within(evidence.start, evidence.end) for number in one.ends}
    ends = bool(numbers & (ended if asked.note.forget else here))
    if numbers & ended and not ends:
        return
    left = " ".join(one.left.get(number, "") for *_, one in turn.spans for number in numbers if number)
    about = {"new": asked.question.new, "worth": asked.worth, "sure": bool(numbers)}
    old = asked.question.old
    yield {**about, "old": old, "rival": ends and not (left and holds(left, old)), "part": False}
    for part in clauses(old) if ends and left else ():
        yield {**about, "old": part, "rival": not holds(left, part), "part": True}


def main() -> None:
    share, of = map(int, sys.argv[1].split("/"))
    Comparison.questions = _watched  # type: ignore[method-assign]
    asyncio.run(gathered([*talk.read()][share::of]))


if __name__ == "__main__":
    main()
