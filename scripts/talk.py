"""Whole conversations, sentence by sentence: what of them is worth keeping, and what that ends. From scripts/talk/."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from acumen.learn.entries import as_meant
from acumen.learn.questions import LONGEST_WISH, as_spoken
from acumen.learn.rules import rivals
from scripts.histories import Met, kept, met_with

FOLDER = Path(__file__).parent / "talk"
# From these writers nothing is learned: they tell how well strangers are understood.
STRANGERS = frozenset({"operators", "families"})
# These wrote last: what they say is learned by their labels alone, the rest as the network already reads it, too.
NEWEST = frozenset("intros requests changes wishes technicians households customers".split())
# Beside what a sentence ends, so many are asked about that it may seem to end; of a wish to forget, and of idle talk.
NEAREST, NEAREST_TO_WISH, NEAREST_TO_IDLE = 4, 6, 1
# Every how manyth sentence of idle talk is held against what is known.
IDLE_TALK = 3


class Sentence(NamedTuple):
    text: str
    label: str
    number: int | None  # of what is worth keeping, by which it is named when it ends
    ends: list[int]
    left: dict[int, str]  # what still holds of what ends

    @classmethod
    def of(cls, line: dict[str, Any]) -> "Sentence":
        left = {int(number): str(text) for number, text in (line.get("left") or {}).items()}
        return cls(line["s"], line["l"], line.get("k"), line.get("ends") or [], left)


class Turn(NamedTuple):
    before: str  # what the agent had said
    sentences: list[Sentence]


class Conversation(NamedTuple):
    writer: str
    turns: list[Turn]


def read() -> Iterator[Conversation]:
    for path in sorted(FOLDER.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            turns = [
                Turn(turn["agent"], [Sentence.of(one) for one in turn["user"]]) for turn in json.loads(line)["turns"]
            ]
            yield Conversation(path.stem, turns)


def pairs(conversation: Conversation) -> Iterator[Met]:
    """Each sentence beside what was known then: all that it ends, and some of what it may seem to end."""
    known: dict[int, list[str]] = {}
    idle = 0
    for turn in conversation.turns:
        for place, one in enumerate(turn.sentences):
            memories = kept(one.text, turn.before) if one.number is not None else []
            spoken = _in_turn(turn, place, memories)
            idle += one.number is None and not one.ends
            most = _most(one) if one.number or one.ends or idle % IDLE_TALK == 0 else 0
            for number in [*one.ends, *_seeming(spoken, known, one.ends)[:most]]:
                ended, left = number in one.ends, one.left.get(number, "")
                for memory in known.get(number, ()):
                    yield from met_with(memory, spoken, ended, left, conversation.writer)
            for number in one.ends:
                known.pop(number, None)
            if one.number is not None:
                known[one.number] = memories


def _most(one: Sentence) -> int:
    if one.label == "forget":
        return NEAREST_TO_WISH
    return NEAREST if one.number is not None else NEAREST_TO_IDLE


def _seeming(spoken: str, known: dict[int, list[str]], ends: Sequence[int]) -> list[int]:
    """The numbers of what is not ended, first what words say most for."""
    new = rivals.saying(spoken)
    leaning = {
        number: max(rivals.leaning(rivals.saying(memory), new, None) for memory in memories)
        for number, memories in known.items()
        if memories and number not in ends
    }
    return sorted(leaning, key=leaning.__getitem__, reverse=True)


def _in_turn(turn: Turn, place: int, memories: Sequence[str]) -> str:
    """As it is asked about."""
    one = turn.sentences[place]
    whole = " ".join(said.text for said in turn.sentences)
    if one.label == "forget":
        return whole if len(whole) <= LONGEST_WISH else one.text
    before = turn.sentences[place - 1].text if place else ""
    return as_spoken(as_meant(memories[0], one.text) if memories else one.text, before, turn.before)
