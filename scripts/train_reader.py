"""Train what tells what a sentence is, from the lines under scripts/reader/.

    PYTHONPATH=src:. python -m scripts.train_reader            # writes src/acumen/learn/rules/reader.npz
    PYTHONPATH=src:. python -m scripts.train_reader --check    # how well others are understood than were learned from

Needs jax beside the project's own packages, here alone. The same result each time on the same machine.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from acumen.learn.rules import classifier
from acumen.learn.rules.classifier import LABELS, LEARNABLE, WEIGHTS, Floats, packed, shown, softmax
from acumen.learn.rules.cues import surface
from acumen.llm.embed import load_embedder
from scripts import reader_network as network
from scripts.reader_network import Examples

FOLDER = Path(__file__).parent / "reader"
# Each of these files was written by somebody else, so that each tells what is understood of people not learned from.
WRITERS = ("engineering", "freelance", "household", "office")
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


def given(rows: list[dict[str, Any]]) -> tuple[Floats, Examples]:
    """What the classifier of words sees, and what the network sees."""
    seen = [surface(row["text"], row.get("before") or "") for row in rows]
    readings = load_embedder().read([row["text"] for row in rows])
    words = np.stack([np.append(shown(one), 1.0) for one in seen]).astype(np.float32)
    beside = np.stack([classifier.beside(one, reading) for one, reading in zip(seen, readings, strict=True)])
    wanted = np.eye(len(LABELS), dtype=np.float32)[[LABELS.index(row["label"]) for row in rows]]
    return words, Examples([reading.states for reading in readings], beside, wanted)


def fit(given: Floats, wanted: Floats) -> Floats:
    """Adam on the cross-entropy; each label counts by the root of how rare it is."""
    balance = (wanted / np.maximum(wanted.sum(axis=0), 1)).sum(axis=1, keepdims=True) * len(wanted) / wanted.shape[1]
    return _descend(given, wanted, softmax, np.sqrt(balance), STEPS, DECAY)


def _descend(
    given: Floats, wanted: Floats, chances: Callable[[Floats], Floats], balance: Floats, steps: int, decay: float
) -> Floats:
    weights = np.zeros((given.shape[1], wanted.shape[1]), np.float32)
    mean, spread = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, steps + 1):
        slope = given.T @ ((chances(given @ weights) - wanted) * balance) / len(given) + decay * weights
        mean = 0.9 * mean + 0.1 * slope
        spread = 0.999 * spread + 0.001 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
    return weights


def check(rows: list[dict[str, Any]], words: Floats, examples: Examples) -> None:
    """Each of the four later writers is judged by what was learned from all the others."""
    wanted = examples.wanted
    by_words, by_tokens = np.zeros_like(wanted), np.zeros_like(wanted)
    files = np.array([row["file"] for row in rows])
    for file in WRITERS:
        told, rest = np.flatnonzero(files == file), np.flatnonzero(files != file)
        by_words[told] = softmax(words[told] @ fit(words[rest], wanted[rest]))
        by_tokens[told] = network.chances(network.train(examples, rest), examples, told)
    judged = np.isin(files, WRITERS)
    _tell("by words", by_words[judged], wanted[judged])
    _tell("by tokens", by_tokens[judged], wanted[judged])


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
    by_words = fit(words, examples.wanted)
    found = network.train(examples, np.arange(len(examples.wanted)))
    found |= {"words": by_words[:-1], "words_bias": by_words[-1]}
    kept: dict[str, Any] = {}
    for name, weights in found.items():
        if weights.ndim > 1:
            kept[name], kept[f"{name}_scale"] = packed(weights)
        else:
            kept[name] = weights
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    rows = read()
    words, examples = given(rows)
    if asked.check:
        check(rows, words, examples)
        return
    np.savez_compressed(WEIGHTS, **stored(words, examples))
    print(f"{len(rows)} sentences, {WEIGHTS.stat().st_size} bytes in {WEIGHTS}")


if __name__ == "__main__":
    main()
