"""What people told earlier, what they say now, and what of it ends: the lines under scripts/histories/, as pairs.

What was told is taken as it is kept: read by the rules, in the words of the memories they make of it.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from acumen.learn.extract_rules import playbook_notes, profile_notes
from acumen.learn.rules import keys, voice
from acumen.learn.rules.clauses import clauses
from acumen.learn.rules.framing import bare
from acumen.learn.rules.sentences import sentences
from acumen.learn.rules.words import words
from acumen.llm.reading import Reader, Spoken, load_reader
from acumen.llm.vocabulary import Floats, load_vocabulary
from acumen.model.conversation import Turn, Window
from acumen.model.ids import InteractionId, RequestId, SessionId, UserId

FOLDER = Path(__file__).parent / "histories"
# An answer stands behind what was asked, which is in brackets.
_ANSWER = re.compile(r"\[(?P<asked>[^\]]*)\]\s*(?P<said>.*)", re.DOTALL)


class Met(NamedTuple):
    """A memory and words that came after it: whether they end it. `part` is one clause of a memory of several."""

    old: str
    new: str
    ends: bool
    writer: str
    part: bool = False


def read(folder: Path = FOLDER) -> Iterator[Met]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield from met(json.loads(line), path.stem)


def met(line: dict[str, Any], writer: str) -> Iterator[Met]:
    """Each memory beside what is said now."""
    new = _now(line["turn"])
    left = {int(place): str(text) for place, text in (line.get("left") or {}).items()}
    for place, said in enumerate(line["said"]):
        asked = _ANSWER.fullmatch(said)
        for memory in kept(asked["said"], asked["asked"]) if asked else kept(said):
            yield from met_with(memory, new, place in line["ends"], left.get(place, ""), writer)


def met_with(memory: str, new: str, ended: bool, rest: str, writer: str) -> Iterator[Met]:  # noqa: FBT001 - a label
    """One that ends in part also clause by clause."""
    yield Met(memory, new, ended and not (rest and holds(rest, memory)), writer)
    parts = clauses(memory) if ended and rest else []
    yield from (Met(part, new, not holds(rest, part), writer, part=True) for part in parts)


def kept(said: str, asked: str = "") -> list[str]:
    """What the rules keep of it; the whole as it would be written down, where they keep nothing."""
    spoken = [(False, asked), (True, said)] if asked else [(True, said)]
    window = Window(UserId("somebody"), tuple(_turn(place, *one) for place, one in enumerate(spoken, 1)))
    notes = [note.content for note in profile_notes(window, _read) if not (note.faint or note.forget)]
    lessons = [note.lesson.content for note in playbook_notes(window, _read) if not (note.faint or note.forget)]
    return list(dict.fromkeys([*notes, *lessons])) or [voice.fact(bare(words(said)))]


@cache
def _reader() -> Reader:
    return load_reader(load_vocabulary())


def _read(turns: Sequence[Spoken]) -> Sequence[Floats]:
    return _reader().chances(turns)


def _turn(place: int, by_user: bool, text: str) -> Turn:  # noqa: FBT001 - as pairs of who and what
    return Turn(InteractionId(place), RequestId("once"), SessionId("once"), by_user, text)


def _now(turn: str) -> str:
    """A sentence is held against what is known together with the one before it."""
    return " ".join(one.text for one in sentences(turn)[-2:]) or turn


def holds(rest: str, text: str) -> bool:
    """Whether all that the text says is said by the rest."""
    return _roots([text]) <= _roots([rest])


def _roots(texts: Sequence[str]) -> set[str]:
    return {root for text in texts for root in keys.content_roots(text)}
