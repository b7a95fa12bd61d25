"""How well turns are found: LoCoMo and LongMemEval, turn level, ranked by the very code that answers searches.

One corpus per conversation (LoCoMo) or per question (LongMemEval). A turn is published as its speaker (role), its text
with the caption of a picture it shows, and its time; it is embedded in passages, as the server does it. Gold are the
turns named as evidence. LoCoMo's category 5 and LongMemEval's `_abs` ask for what was never said: told apart, they are
no part of recall.
"""

import argparse
import gzip
import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from acumen.index.partition import RankQuery
from acumen.index.passages import of_turn
from acumen.index.turn_partition import TurnPartition
from acumen.llm.embedding import NAME, Embedder, load_embedder
from acumen.model.memories.search import RankingMode
from bench.figures import CannotMeasure, Figure, Run, Target, at_least

DATA = "ACUMEN_BENCH_DATA"
LOCOMO = "locomo-1-5.json.gz"
LONGMEMEVAL = "longmemeval-s-40.json.gz"
CACHE = Path(__file__).parent / "results" / "vectors"

DEPTH = 100
QUICK_CORPORA = 1
TARGETS = {("locomo", "any@10"): at_least(0.82), ("locomo", "all@10"): at_least(0.69)}
TARGETS |= {("longmemeval", "any@10"): at_least(0.95)}

Vectors = NDArray[np.float32]


class Turn(Struct, frozen=True):
    session: str
    role: str
    text: str
    at: int


class Asked(Struct, frozen=True):
    text: str
    gold: frozenset[int]
    category: str
    answerable: bool


class Corpus(Struct, frozen=True):
    """What one search looks through, and what is asked of it."""

    name: str
    turns: list[Turn]
    asked: list[Asked]


class Tally(Struct):
    """What came of the questions of one category."""

    ranks: list[list[int]] = field(default_factory=list)  # of the gold turns, from 1; beyond DEPTH: 0
    scores: list[float] = field(default_factory=list)  # of the best hit; 0 if nothing was found

    def figures(self) -> dict[str, float]:
        figures: dict[str, float] = {"questions": len(self.ranks)}
        for k in (5, 10):
            within = [[0 < rank <= k for rank in ranks] for ranks in self.ranks]
            figures[f"any@{k}"] = _mean([any(hits) for hits in within])
            figures[f"all@{k}"] = _mean([all(hits) for hits in within])
        figures["mrr"] = _mean([max((1 / rank for rank in ranks if rank), default=0.0) for ranks in self.ranks])
        figures["best score"] = float(np.median(self.scores)) if self.scores else 0.0
        return {name: round(value, 4) for name, value in figures.items()}


class Meanings:
    """Vectors of texts, kept on disk: embedding LongMemEval takes minutes, ranking it seconds."""

    def __init__(self, folder: Path = CACHE) -> None:
        self._folder = folder

    @cached_property
    def _embedder(self) -> Embedder:
        return load_embedder()

    def of(self, texts: Sequence[str]) -> Vectors:
        digest = hashlib.sha256("\0".join([NAME, *texts]).encode("utf-8", "surrogatepass")).hexdigest()
        file = self._folder / f"{digest[:32]}.npy"
        if file.exists():
            stored: Vectors = np.load(file).astype(np.float32)
            return stored
        vectors = self._embedder.embed(list(texts))
        self._folder.mkdir(parents=True, exist_ok=True)
        np.save(file, vectors.astype(np.float16))
        return vectors


def locomo(data: Path) -> Iterator[Corpus]:
    for item in _read(data / LOCOMO):
        talk = item["conversation"]
        turns: list[Turn] = []
        places: dict[str, int] = {}
        for number in sorted(int(name[8:]) for name in talk if re.fullmatch(r"session_\d+", name)):
            at = _moment(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
            for turn in talk[f"session_{number}"]:
                places[turn["dia_id"]] = len(turns)
                text = f"{turn['text']} {turn.get('blip_caption', '')}".strip()
                turns.append(Turn(str(number), turn["speaker"], text, at))
        yield Corpus(item["sample_id"], turns, [_locomo_question(qa, places) for qa in item["qa"]])


def _locomo_question(qa: dict[str, Any], places: dict[str, int]) -> Asked:
    named = [name for entry in qa.get("evidence", []) for name in re.split(r"[;,\s]+", entry)]
    gold = frozenset(places[name] for name in named if name in places)
    return Asked(qa["question"], gold, f"category {qa['category']}", qa["category"] != 5)


def longmemeval(data: Path) -> Iterator[Corpus]:
    for item in _read(data / LONGMEMEVAL):
        turns: list[Turn] = []
        gold: set[int] = set()
        for number, (session, date) in enumerate(zip(item["haystack_sessions"], item["haystack_dates"], strict=True)):
            at = _moment(date, "%Y/%m/%d (%a) %H:%M")
            for turn in session:
                if turn.get("has_answer"):
                    gold.add(len(turns))
                turns.append(Turn(str(number), turn["role"], turn["content"], at))
        answerable = not item["question_id"].endswith("_abs")
        category = item["question_type"] if answerable else "abstention"
        yield Corpus(item["question_id"], turns, [Asked(item["question"], frozenset(gold), category, answerable)])


SETS = {"locomo": locomo, "longmemeval": longmemeval}


def tallies(corpora: Sequence[Corpus], meanings: Meanings, mode: RankingMode = RankingMode.HYBRID) -> dict[str, Tally]:
    """Per category and, under `overall`, of all questions that have an answer."""
    found: dict[str, Tally] = defaultdict(Tally)
    for corpus in corpora:
        partition = _indexed(corpus, meanings)
        vectors = meanings.of([asked.text for asked in corpus.asked])
        for asked, vector in zip(corpus.asked, vectors, strict=True):
            ranks, score = _answer(partition, RankQuery.of(asked.text, vector, mode), asked)
            groups = [asked.category, *(["overall"] if asked.answerable else [])]
            for group in groups if asked.gold or not asked.answerable else []:
                found[group].ranks.append(ranks)
                found[group].scores.append(score)
    return dict(sorted(found.items()))


def _indexed(corpus: Corpus, meanings: Meanings) -> TurnPartition[None]:
    partition = TurnPartition[None]()
    cut = [of_turn(turn.role, turn.text) for turn in corpus.turns]
    vectors = meanings.of([passage for passages in cut for passage in passages])
    ends = np.cumsum([len(passages) for passages in cut])
    for place, (turn, meant) in enumerate(zip(corpus.turns, np.split(vectors, ends[:-1]), strict=True)):
        partition.put_turn(str(place), turn.session, turn.text, meant, None, role=turn.role, at=turn.at)
    return partition


def _answer(partition: TurnPartition[None], question: RankQuery, asked: Asked) -> tuple[list[int], float]:
    hits = partition.rank(question, DEPTH)
    places = [int(hit.entity_id) for hit in hits]
    ranks = [places.index(gold) + 1 if gold in places else 0 for gold in sorted(asked.gold)]
    return ranks, hits[0].score if hits else 0.0


def measure_locomo(run: Run) -> Iterator[Figure]:
    yield from _figures("locomo", run)


def measure_longmemeval(run: Run) -> Iterator[Figure]:
    yield from _figures("longmemeval", run)


def _figures(name: str, run: Run) -> Iterator[Figure]:
    corpora = list(SETS[name](data_folder()))
    found = tallies(corpora[:QUICK_CORPORA] if run.quick else corpora, Meanings())["overall"].figures()
    for measure, value in found.items():
        target: Target | None = TARGETS.get((name, measure))
        if "@" in measure or measure == "mrr":
            yield Figure(f"{name} {measure}", value, "", target, note=f"{found['questions']:.0f} questions")


def data_folder(given: Path | None = None) -> Path:
    folder = given or Path(os.environ.get(DATA) or "bench/data")
    if not (folder / LOCOMO).exists() and not (folder / LONGMEMEVAL).exists():
        message = f"no data sets in {folder}: name their folder with --data or {DATA}"
        raise CannotMeasure(message)
    return folder


def _read(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        items: list[dict[str, Any]] = json.load(stream)
    return items


def _moment(text: str, form: str) -> int:
    return int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp() * 1000)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _table(name: str, found: dict[str, dict[str, float]]) -> str:
    columns = list(next(iter(found.values())))
    lines = [f"{name:28}" + "".join(f"{column:>11}" for column in columns)]
    for group, figures in found.items():
        cells = (f"{value:>11.0f}" if column == "questions" else f"{value:>11.3f}" for column, value in figures.items())
        lines.append(f"{group:28}" + "".join(cells))
    return "\n".join(lines)


def main() -> dict[str, dict[str, dict[str, float]]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help=f"folder of the data sets (or {DATA})")
    parser.add_argument("--only", choices=sorted(SETS))
    parser.add_argument("--mode", choices=list(RankingMode), default=RankingMode.HYBRID, type=RankingMode)
    parser.add_argument("--corpora", default="", help="only these, by number from 1, such as 4-5")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    given = parser.parse_args()
    data = data_folder(given.data)
    results = {}
    for name in [given.only] if given.only else sorted(SETS):
        corpora = _some(list(SETS[name](data)), given.corpora)
        found = tallies(corpora, Meanings(), given.mode)
        results[name] = {group: tally.figures() for group, tally in found.items()}
        print(_table(name, results[name]), end="\n\n")
    if given.json:
        given.json.write_text(json.dumps(results, indent=2))
    return results


def _some(corpora: list[Corpus], numbers: str) -> list[Corpus]:
    first, _, last = numbers.partition("-")
    return corpora[int(first) - 1 : int(last or first)] if numbers else corpora


if __name__ == "__main__":
    main()
