"""Public histories (LoCoMo, LongMemEval) and their answer keys, read from the folder that ACUMEN_BENCH_DATA names.

The data sets are not ours to ship, so none of their text is part of this repository.
"""

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bench.figures import CannotMeasure, Run

DATA = "ACUMEN_BENCH_DATA"
HISTORIES = "ACUMEN_BENCH_HISTORIES"
LOCOMO, LONGMEMEVAL = "locomo", "longmemeval"
# How many histories a line plays unless ACUMEN_BENCH_HISTORIES says otherwise; the sets have 5 and 36.
DEFAULT_HISTORIES = {LOCOMO: 5, LONGMEMEVAL: 12}
QUICK_HISTORIES, QUICK_SESSIONS = 1, 3
# The wire accepts no longer turns; LongMemEval has a few pasted ones.
MAX_TURN_CHARACTERS = 20_000
SECONDS_BETWEEN_TURNS = 20

USER, ASSISTANT = "User", "Assistant"


class Turn(Struct, frozen=True):
    """`gold` marks evidence for a question; `at` is in epoch seconds."""

    role: str
    text: str
    at: int
    gold: bool = False


class Session(Struct, frozen=True):
    id: str
    turns: tuple[Turn, ...]


class AnswerKey(Struct, frozen=True):
    """Regular expressions, matched case-insensitively.

    A context in which all of `need` and `must_with` occur bears the answer. `old` is the outdated value of a
    knowledge-update question.
    """

    need: tuple[str, ...]
    must_with: str = ""
    old: tuple[str, ...] = ()

    def met_by(self, context: str) -> bool:
        patterns = [*self.need, *([self.must_with] if self.must_with else [])]
        return all(re.search(pattern, context, re.IGNORECASE) for pattern in patterns)


class Question(Struct, frozen=True):
    text: str
    kind: str
    key: AnswerKey


class History(Struct, frozen=True):
    """All sessions of one user, in the order of their dates.

    `roles` are the roles of the people who talk: in LoCoMo both speakers, in LongMemEval only the user.
    """

    set_name: str
    name: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    roles: tuple[str, ...] = (USER,)

    @property
    def user_id(self) -> str:
        return f"{self.set_name}-{self.name}"

    @property
    def turns(self) -> list[Turn]:
        return [turn for session in self.sessions for turn in session.turns]


def chosen(set_name: str, run: Run) -> list[History]:
    """The first histories of a set that have an answer key, as many as the run asks for."""
    histories = SETS[set_name](data_folder())
    if run.quick:
        shortened = [replace(history, sessions=history.sessions[:QUICK_SESSIONS]) for history in histories]
        return shortened[:QUICK_HISTORIES]
    return histories[: _limit(set_name)]


def _limit(set_name: str) -> int:
    value = os.environ.get(HISTORIES) or str(DEFAULT_HISTORIES[set_name])
    if not value.isdecimal() or int(value) == 0:
        raise CannotMeasure(f"{HISTORIES} must be a positive number, not {value!r}")
    return int(value)


def data_folder() -> Path:
    folder = Path(os.environ.get(DATA) or "bench/data")
    missing = [name for names in FILES.values() for name in names if not (folder / name).exists()]
    if missing:
        raise CannotMeasure(f"{folder} has no {', '.join(missing)}: name the folder of the data sets with {DATA}")
    return folder


FILES = {
    LOCOMO: ("locomo-1-5.json.gz", "locomo-1-5-keys.json"),
    LONGMEMEVAL: ("longmemeval-s-40.json.gz", "longmemeval-s-40-keys.json"),
}


def parse_keys(raw: Mapping[str, Mapping[str, Any]]) -> dict[str, AnswerKey]:
    """Questions that ask to abstain have no `need` and are left out."""
    return {
        name: AnswerKey(tuple(key["need"]), key.get("must_with") or "", tuple(key.get("old") or ()))
        for name, key in raw.items()
        if key.get("need")
    }


def _read(set_name: str, folder: Path) -> tuple[list[dict[str, Any]], dict[str, AnswerKey]]:
    data, keys = (folder / name for name in FILES[set_name])
    with gzip.open(data, "rt", encoding="utf-8") as stream:
        items: list[dict[str, Any]] = json.load(stream)
    return items, parse_keys(json.loads(keys.read_text()))


# --- LoCoMo -------------------------------------------------------------------------------------------------------


def locomo(folder: Path) -> list[History]:
    """The first speaker is the user, the second the assistant; each turn begins with its speaker's name."""
    items, keys = _read(LOCOMO, folder)
    return [_locomo_history(item, keys) for item in items]


def _locomo_history(item: Mapping[str, Any], keys: Mapping[str, AnswerKey]) -> History:
    name, questions = item["sample_id"], item["qa"]
    numbered = [(int(where.split(":")[1]), key) for where, key in keys.items() if where.split(":")[0] == name]
    evidence = {turn for question in questions for turn in _evidence(question)}
    return History(
        LOCOMO,
        name,
        tuple(_locomo_sessions(item["conversation"], f"{LOCOMO}-{name}", evidence)),
        tuple(
            Question(questions[place]["question"], f"category {questions[place]['category']}", key)
            for place, key in numbered
        ),
        roles=(USER, ASSISTANT),
    )


def _evidence(question: Mapping[str, Any]) -> list[str]:
    return [name for entry in question.get("evidence", []) for name in re.split(r"[;,\s]+", entry) if name]


def _locomo_sessions(talk: Mapping[str, Any], user_id: str, evidence: set[str]) -> Iterator[Session]:
    for number in sorted(int(name[8:]) for name in talk if re.fullmatch(r"session_\d+", name)):
        start = _epoch(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        turns = [
            (
                USER if turn["speaker"] == talk["speaker_a"] else ASSISTANT,
                f"{turn['speaker']}: {turn['text']}",
                turn["dia_id"] in evidence,
            )
            for turn in talk[f"session_{number}"]
        ]
        yield Session(f"{user_id}-{number}", _dated(turns, start))


# --- LongMemEval --------------------------------------------------------------------------------------------------


def longmemeval(folder: Path) -> list[History]:
    """One history per question; those whose question has no answer key are left out."""
    items, keys = _read(LONGMEMEVAL, folder)
    return [_longmemeval_history(item, keys[item["question_id"]]) for item in items if item["question_id"] in keys]


def _longmemeval_history(item: Mapping[str, Any], key: AnswerKey) -> History:
    name = item["question_id"]
    dated = [
        (_epoch(date, "%Y/%m/%d (%a) %H:%M"), turns)
        for date, turns in zip(item["haystack_dates"], item["haystack_sessions"], strict=True)
    ]
    sessions = tuple(
        Session(f"{LONGMEMEVAL}-{name}-{number}", _dated([_longmemeval_turn(turn) for turn in turns], start))
        for number, (start, turns) in enumerate(sorted(dated, key=lambda session: session[0]))
    )
    return History(LONGMEMEVAL, name, sessions, (Question(item["question"], item["question_type"], key),))


def _longmemeval_turn(turn: Mapping[str, Any]) -> tuple[str, str, bool]:
    return str(turn["role"]).capitalize(), turn["content"], bool(turn.get("has_answer"))


SETS: dict[str, Callable[[Path], list[History]]] = {LOCOMO: locomo, LONGMEMEVAL: longmemeval}


def _dated(turns: Sequence[tuple[str, str, bool]], start: int) -> tuple[Turn, ...]:
    """Empty turns keep their place in time and are left out."""
    return tuple(
        Turn(role, text[:MAX_TURN_CHARACTERS], start + SECONDS_BETWEEN_TURNS * place, gold)
        for place, (role, text, gold) in enumerate(turns)
        if text.strip()
    )


def _epoch(text: str, form: str) -> int:
    return int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp())
