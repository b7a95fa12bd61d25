"""Train what tells whether a statement leaves room for an older one, from the lines under scripts/pairs/.

    PYTHONPATH=src:.:scripts python -m scripts.train_rivals --weights …/model.safetensors
    PYTHONPATH=src:.:scripts python -m scripts.train_rivals --weights … --check   # others than were learned from

Writes src/acumen/llm/rivals.onnx, and into src/acumen/learn/rules/rivals.npz what the words of a pair count for.
The weights are those that `build_model.py` fetches. Needs torch and onnx beside the project's own packages, here alone.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from minilm import weights as published_weights
from minilm.weights import Array

from acumen.learn.rules import rivals, voice
from acumen.learn.rules.framing import bare
from acumen.learn.rules.words import words
from acumen.llm.embed import load_embedder
from acumen.llm.rivalry import MODEL
from scripts import rivals_network as network
from scripts.rivals_graph import int8_model
from scripts.rivals_network import Examples

PAIRS = Path(__file__).parent / "pairs"
SENTENCES = Path(__file__).parent / "reader"
# What `gather_pairs.py` has gathered.
MET = "conversations"
# Each of these files was written by somebody else, so that each tells what is understood of people not learned from.
WRITERS = (
    ("engineering", "private"),
    ("freelance", "business"),
    ("household", "developers"),
    ("office", "service"),
)
# What is paired by chance, and what repeats what is known, counts for less than what somebody has thought about.
BY_CHANCE = 0.7
# With how many old statements each new one is paired by chance; most often such that the same writer made up.
STRANGERS = 2
SAME_WRITER = 0.7
# Every how manyth statement is held against itself, as it would be written down.
REPEATED = 4
# What people say besides, and how many of it are held against what is known.
IDLE = frozenset({"task", "question", "chatter", "hypothetical", "reported"})
IDLE_TALK = 1500
STEPS = 500
RATE = 0.05
DECAY = 1e-3


class Pair(NamedTuple):
    old: str
    new: str
    rival: bool
    file: str
    weight: float = 1.0


def read() -> list[Pair]:
    return [Pair(line["old"], line["new"], line["rival"], line["file"]) for line in _lines(PAIRS)]


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [
        {**json.loads(line), "file": path.stem}
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def left_alone(rows: Sequence[Pair]) -> Iterator[Pair]:
    """Each newer statement beside an old one that it has nothing to do with; and statements that are made again."""
    order = np.random.default_rng(3)
    by_file = {row.file: [one for one in rows if one.file == row.file] for row in rows}
    for row in [row for row in rows if row.file != MET for _ in range(STRANGERS)]:
        others = by_file[row.file] if order.random() < SAME_WRITER else rows
        other = others[order.integers(len(others))]
        if other.old != row.old:
            yield Pair(other.old, row.new, rival=False, file=row.file, weight=BY_CHANCE)
    for row in rows[::REPEATED]:
        yield Pair(row.old, row.old, rival=False, file=row.file, weight=BY_CHANCE)
        yield Pair(written(row.new), row.new, rival=False, file=row.file, weight=BY_CHANCE)
    talk = [one["text"] for one in _lines(SENTENCES) if one["label"] in IDLE and not one.get("before")]
    for text in order.permutation(talk)[:IDLE_TALK].tolist():
        other = rows[order.integers(len(rows))]
        yield Pair(other.old, text, rival=False, file=other.file, weight=BY_CHANCE)


def written(said: str) -> str:
    """Statements are compared as they are written down."""
    return voice.fact(bare(words(said)))


def examples(rows: Sequence[Pair]) -> tuple[Examples, Array, Array]:
    """What the network is given of each pair; and what the classifier of words sees, without and with nearness."""
    embedder = load_embedder()
    vectors = embedder.embed([text for row in rows for text in (row.old, written(row.new))])
    near = (vectors[::2] * vectors[1::2]).sum(axis=1).tolist()
    seen = [(rivals.saying(row.old), rivals.saying(row.new)) for row in rows]
    told = np.stack([rivals.features(*one, cosine) for one, cosine in zip(seen, near, strict=True)])
    states: list[Any] = [None] * len(rows)
    newer: list[Any] = [None] * len(rows)
    for positions, tokens, first, second in embedder.read_together([(row.old, row.new) for row in rows]):
        for place, position in enumerate(positions):
            here = (first + second)[place] > 0
            states[position], newer[position] = tokens[place, here].astype(np.float16), second[place, here]
    wanted = torch.tensor([float(row.rival) for row in rows])
    weight = torch.tensor([row.weight for row in rows])
    words_alone = np.stack([rivals.features(*one, None) for one in seen])
    return Examples(states, newer, torch.from_numpy(told), wanted, weight), words_alone, told


def fit(given: Array, rows: Sequence[Pair]) -> Array:
    """A logistic regression, by Adam."""
    wanted = np.array([row.rival for row in rows], np.float32)
    weights = np.zeros(given.shape[1], np.float32)
    mean, spread = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = given.T @ (1 / (1 + np.exp(-given @ weights)) - wanted) / len(given) + DECAY * weights
        mean, spread = 0.9 * mean + 0.1 * slope, 0.999 * spread + 0.001 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
    return weights


def check(rows: Sequence[Pair], seen: Examples, told: Array, published: published_weights.Weights) -> None:
    """Writers are judged, two at a time, by what was learned from all the others."""
    by_words, by_tokens = np.zeros(len(rows)), np.zeros(len(rows))
    for files in WRITERS:
        those = np.array([row.file in files for row in rows])
        rest = np.flatnonzero(~those)
        by_words[those] = told[those] @ fit(told[rest], [rows[place] for place in rest])
        trained = network.train(published, seen, rest.tolist())
        by_tokens[those] = network.scores(trained, seen, np.flatnonzero(those).tolist())
        judged = those & np.array([row.weight == 1 for row in rows])
        _tell(f"{files} by words", by_words, judged, rows)
        _tell(f"{files} by tokens", by_tokens, judged, rows)
        print(f"  of what has nothing to do with it: {(by_tokens[those & ~judged] > 0).mean():.3f}", flush=True)


def _tell(name: str, scores: Array, judged: Array, rows: Sequence[Pair]) -> None:
    told, right = scores[judged] > 0, np.array([row.rival for row in rows])[judged]
    print(
        f"{name}: right {(told == right).mean():.3f}, recall {told[right].mean():.3f}, "
        f"precision {right[told].mean():.3f} of {right.sum()} rivals",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    thought = read()
    rows = [*thought, *left_alone(thought)]
    seen, words_alone, told = examples(rows)
    published = published_weights.read(asked.weights)
    if asked.check:
        check(rows, seen, told, published)
        return
    trained = network.train(published, seen, range(len(rows)))
    MODEL.write_bytes(int8_model(trained, seen))
    beside = trained.told.weight.detach().numpy()[0]
    np.savez(rivals.WEIGHTS, words=fit(words_alone, rows), near=fit(told, rows), beside=beside)
    print(f"{len(rows)} pairs, {MODEL.stat().st_size} bytes in {MODEL}")


if __name__ == "__main__":
    main()
