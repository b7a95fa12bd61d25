"""The labelled set: wordings of lessons, and which of them are one lesson."""

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from msgspec import Struct

from acumen.learn.share.cluster import LessonIndex, regroup
from acumen.llm.embedding import Embedder
from acumen.model.ids import PlaybookId
from acumen.model.memories.playbook import Lesson

FILE = Path(__file__).parent / "lessons.jsonl"


class Wording(Struct, frozen=True):
    """One user's wording of a lesson; lessons of a family are about one topic and are not the same."""

    part: str
    family: str
    label: str
    lesson: Lesson


class Score(Struct, frozen=True):
    """Over pairs of wordings. `found` is the share of lessons of which at least two wordings came together."""

    precision: float
    recall: float
    found: float


def wordings(part: str | None = None) -> list[Wording]:
    rows = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    return [_wording(row, *said) for row in rows if part in (None, row["part"]) for said in row["says"]]


def _wording(row: dict[str, str], trigger: str | None, content: str, pitfall: str | None = None) -> Wording:
    return Wording(row["part"], row["family"], row["lesson"], Lesson(content, trigger, pitfall=pitfall))


def gathered(said: Sequence[Wording], embedder: Embedder | None) -> list[list[Wording]]:
    """As aggregation would group them, each taught by a user of its own."""
    vectors = embedder.embed([one.lesson.searchable for one in said]) if embedder else np.zeros((len(said), 1))
    ids = [PlaybookId(number) for number in range(len(said))]
    index = LessonIndex(ids, np.asarray(vectors, np.float32), [True] * len(said))
    grouped = regroup(index, [], lambda wanted: [said[number].lesson for number in wanted])
    return [[said[number] for number in group] for group in grouped]


def score(said: Sequence[Wording], parts: Sequence[Sequence[Wording]]) -> Score:
    together = [pair for part in parts for pair in combinations(part, 2)]
    right = sum(one.label == other.label for one, other in together)
    wanted = sum(one.label == other.label for one, other in combinations(said, 2))
    several = {one.label for one, other in combinations(said, 2) if one.label == other.label}
    found = {one.label for one, other in together if one.label == other.label}
    return Score(right / max(len(together), 1), right / max(wanted, 1), len(found) / max(len(several), 1))
