"""Train what tells what a sentence is, from the lines under scripts/reader/.

    PYTHONPATH=src:. python -m scripts.train_reader            # writes src/acumen/learn/rules/reader.npz
    PYTHONPATH=src:. python -m scripts.train_reader --check    # how well others are understood than were learned from

Needs torch (2.13, for the processor) beside the project's own packages, here alone: a virtual environment of its own
that sees the project's. Takes a quarter of an hour of one core. The same result each time on the same machine.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from acumen.learn.rules import classifier
from acumen.learn.rules.classifier import (
    LABELS,
    LEARNABLE,
    WEIGHTS,
    Floats,
    last_words,
    packed,
    shown,
    softmax,
)
from acumen.learn.rules.cues import surface
from acumen.llm.embed import load_embedder
from scripts import reader_network as network
from scripts.reader_network import EPOCHS_ALONG, Axes, Examples, Network

FOLDER = Path(__file__).parent / "reader"
# Each of these files was written by somebody else, so that each tells what is understood of people not learned from.
WRITERS = ("engineering", "freelance", "household", "office", "business", "developers", "private", "service")
# These wrote whole conversations, sentence after sentence, so that what is worth keeping stands among all else as in
# life: each of their sentences counts so many times.
CONVERSED = ("coding", "finance", "health", "operations")
COUNTS = 1.5
# Writers left out together, to be told by what the others wrote: each takes minutes.
APART = (CONVERSED[::2], CONVERSED[1::2], WRITERS[4:])
# Most talk goes on after the agent said something, most lines stand alone: this share of them is put after words of it.
PUT_AFTER = 0.5
# So many networks of each kind tell together, each led astray elsewhere. One kind learned from everything, along the
# axes; the other from single sentences alone, which is how many people talk when nobody has asked them anything.
MEMBERS = 3
STEPS = 400
RATE = 0.05
DECAY = 2e-3


def read() -> list[dict[str, Any]]:
    """The sentences, each once."""
    return list({(one["text"], one.get("before") or ""): one for one in _lines(FOLDER)}.values())


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [
        {**json.loads(line), "file": path.stem}
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]


def talked(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Some of the lines that stand alone, after something the agent said to somebody else: what they are stays."""
    chance = np.random.default_rng(5)
    single = [row for row in rows if row["file"] not in CONVERSED]
    spoken = [row["before"] for row in single if (row.get("before") or "").rstrip().endswith((".", "!"))]
    return [
        {**row, "before": spoken[chance.integers(len(spoken))]}
        if not row.get("before") and row["file"] not in CONVERSED and chance.random() < PUT_AFTER
        else row
        for row in rows
    ]


def given(rows: list[dict[str, Any]]) -> tuple[Floats, Examples]:
    """What the classifier of words sees, and what the network sees."""
    before = [row.get("before") or "" for row in rows]
    seen = [surface(row["text"], said) for row, said in zip(rows, before, strict=True)]
    read = load_embedder().read
    readings = read([row["text"] for row in rows])
    texts = sorted({*map(last_words, before)})
    told = dict(zip(texts, read(texts), strict=True))
    words = np.stack([np.append(shown(one), 1.0) for one in seen]).astype(np.float32)
    beside = np.stack([classifier.beside(one, reading) for one, reading in zip(seen, readings, strict=True)])
    nothing = np.zeros((0, readings[0].shape[1]), np.float32)
    heard = [told[last_words(said)] if said else nothing for said in before]
    labels = np.array([LABELS.index(row["label"]) for row in rows])
    counts = np.array([COUNTS if row["file"] in CONVERSED else 1.0 for row in rows], np.float32)
    return words, Examples(readings, heard, beside, labels, counts)


def fit(given: Floats, wanted: Floats, counts: Floats) -> Floats:
    """Adam on the cross-entropy; each label counts by the root of how rare it is."""
    rarity = (wanted / np.maximum(wanted.sum(axis=0), 1)).sum(axis=1) * len(wanted) / wanted.shape[1]
    matter = (np.sqrt(rarity) * counts / counts.mean())[:, None]
    weights = np.zeros((given.shape[1], wanted.shape[1]), np.float32)
    mean, spread = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = given.T @ ((softmax(given @ weights) - wanted) * matter) / len(given) + DECAY * weights
        mean = 0.9 * mean + 0.1 * slope
        spread = 0.999 * spread + 0.001 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
    return weights


def check(rows: list[dict[str, Any]], words: Floats, examples: Examples) -> None:
    """The latest writers are judged by what was learned from all the others."""
    wanted = np.eye(len(LABELS), dtype=np.float32)[examples.labels]
    files = np.array([row["file"] for row in rows])
    for apart in APART:
        told, rest = np.flatnonzero(np.isin(files, apart)), np.flatnonzero(~np.isin(files, apart))
        print(f"--- {' and '.join(apart)}, {len(told)} sentences")
        _tell("by words", softmax(words[told] @ fit(words[rest], wanted[rest], examples.counts[rest])), wanted[told])
        found = [network.chances(one, seen, told) for seen, one, _ in _members(examples, rest, 1)]
        _tell("by tokens", np.mean(found, axis=0), wanted[told])


def _members(examples: Examples, which: Floats, of_each: int) -> Iterator[tuple[Examples, Network, Axes | None]]:
    """Networks of both kinds that learned from `which`, each with what it sees, and along which axes."""
    axes = Axes.of(examples.states)
    along = examples.along(axes)
    for seed in range(of_each):
        yield along, network.train(along, which, seed, EPOCHS_ALONG), axes
    for seed in range(of_each):
        yield examples, network.train(examples, which[examples.counts[which] == 1], seed), None


def _tell(name: str, chances: Floats, wanted: Floats) -> None:
    right = chances.argmax(axis=1) == wanted.argmax(axis=1)
    kept = chances[:, : len(LEARNABLE)].sum(axis=1) > 0.5
    worth = wanted[:, : len(LEARNABLE)].sum(axis=1) > 0
    print(f"{name}: label right {right.mean():.3f}; learnable or not right {(kept == worth).mean():.3f}")
    for place, label in enumerate(LABELS):
        those = wanted[:, place] > 0
        told = chances.argmax(axis=1) == place
        print(f"  {label:13} recall {right[those].mean():.2f}  precision {right[told].mean():.2f}  of {those.sum()}")


def stored(words: Floats, examples: Examples) -> dict[str, Floats]:
    """All that is kept: matrices as bytes with a scale per column, the rest as it is."""
    by_words = fit(words, np.eye(len(LABELS), dtype=np.float32)[examples.labels], examples.counts)
    every = np.arange(len(examples.labels))
    members = [network.weights(one, axes) for _, one, axes in _members(examples, every, MEMBERS)]
    found = {name: np.stack([member[name] for member in members]) for name in members[0]}
    found |= {"words": by_words[:-1], "words_bias": by_words[-1]}
    kept: dict[str, Any] = {}
    for name, weights in found.items():
        if not name.endswith("bias"):
            kept[name], kept[f"{name}_scale"] = packed(weights)
        else:
            kept[name] = weights
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    rows = talked(read())
    words, examples = given(rows)
    if asked.check:
        check(rows, words, examples)
        return
    np.savez_compressed(WEIGHTS, **stored(words, examples))
    print(f"{len(rows)} sentences, {WEIGHTS.stat().st_size} bytes in {WEIGHTS}")


if __name__ == "__main__":
    main()
