"""Train the classifier that tells what a sentence is, from the sentences under scripts/reader/.

    PYTHONPATH=src python scripts/train_reader.py            # writes src/acumen/learn/rules/reader.npz
    PYTHONPATH=src python scripts/train_reader.py --check    # five-fold: how often it is right on what it has not seen

Softmax regression with weight decay, numpy only, the same result each time.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from acumen.learn.rules import rivals
from acumen.learn.rules.classifier import LABELS, LEARNABLE, WEIGHTS, Floats, features, meant, packed, softmax
from acumen.learn.rules.cues import surface
from acumen.llm.embed import load_embedder

FOLDER = Path(__file__).parent / "reader"
PAIRS = Path(__file__).parent / "pairs"
STEPS = 400
RATE = 0.05
DECAY = 2e-3
# Pairs have few features: these can be trusted further.
PAIR_STEPS = 800
PAIR_DECAY = 1e-4
FOLDS = 5


def read() -> list[dict[str, Any]]:
    """The sentences, each once."""
    return list({(one["text"], one.get("before") or ""): one for one in _lines(FOLDER)}.values())


def _lines(folder: Path) -> list[dict[str, Any]]:
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines if line.strip()]


def matrices(rows: list[dict[str, Any]]) -> tuple[Floats, Floats, Floats]:
    """Features without and with meaning, and the labels."""
    meanings = load_embedder().embed([meant(row["text"], row.get("before") or "") for row in rows])
    seen = [surface(row["text"], row.get("before") or "") for row in rows]
    words = np.stack([np.append(features(one, None), 1.0) for one in seen])
    full = np.stack([np.append(features(one, meaning), 1.0) for one, meaning in zip(seen, meanings, strict=True)])
    wanted = np.eye(len(LABELS), dtype=np.float32)[[LABELS.index(row["label"]) for row in rows]]
    return words.astype(np.float32), full.astype(np.float32), wanted


def fit(given: Floats, wanted: Floats) -> Floats:
    """Adam on the cross-entropy; each label counts the same, however many sentences it has."""
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


def check(name: str, given: Floats, wanted: Floats, rows: list[dict[str, Any]]) -> None:
    """Each fifth is judged by what was learned from the others."""
    folds = np.random.default_rng(7).permutation(len(rows)) % FOLDS
    chances = np.zeros_like(wanted)
    for fold in range(FOLDS):
        chances[folds == fold] = softmax(given[folds == fold] @ fit(given[folds != fold], wanted[folds != fold]))
    right = chances.argmax(axis=1) == wanted.argmax(axis=1)
    kept = chances[:, : len(LEARNABLE)].sum(axis=1) > 0.5
    worth = wanted[:, : len(LEARNABLE)].sum(axis=1) > 0
    print(f"{name}: label right {right.mean():.3f}; learnable or not right {(kept == worth).mean():.3f}")
    for place, label in enumerate(LABELS):
        those = wanted[:, place] > 0
        told = chances.argmax(axis=1) == place
        print(f"  {label:13} recall {right[those].mean():.2f}  precision {right[told].mean():.2f}  of {those.sum()}")


def pairs() -> tuple[Floats, Floats, Floats]:
    """Features of the pairs without and with meaning, and whether each is one of rivals.

    Each new statement is also held against old ones of other pairs, which it leaves alone.
    """
    rows = _lines(PAIRS)
    shuffled = np.random.default_rng(3).permutation(len(rows))
    given = [(row["old"], row["new"], row["rival"]) for row in rows]
    given += [
        (rows[other]["old"], row["new"], False)
        for row, other in zip(rows, shuffled, strict=True)
        if row["old"] != rows[other]["old"]
    ]
    vectors = load_embedder().embed([text for old, new, _ in given for text in (old, new)])
    cosines = (vectors[::2] * vectors[1::2]).sum(axis=1)
    seen = [(rivals.saying(old), rivals.saying(new)) for old, new, _ in given]
    words = np.stack([rivals.features(old, new, None) for old, new in seen])
    full = np.stack([rivals.features(old, new, float(near)) for (old, new), near in zip(seen, cosines, strict=True)])
    return words, full, np.array([[rival] for *_, rival in given], np.float32)


def fit_pairs(given: Floats, wanted: Floats) -> Floats:
    even = np.ones((len(given), 1), np.float32)
    return _descend(given, wanted, lambda scores: 1 / (1 + np.exp(-scores)), even, PAIR_STEPS, PAIR_DECAY)[:, 0]


def check_pairs(name: str, given: Floats, wanted: Floats) -> None:
    folds = np.random.default_rng(7).permutation(len(wanted)) % FOLDS
    chances = np.zeros(len(wanted))
    for fold in range(FOLDS):
        scores = given[folds == fold] @ fit_pairs(given[folds != fold], wanted[folds != fold])
        chances[folds == fold] = 1 / (1 + np.exp(-scores))
    told, right = chances > 0.5, wanted[:, 0] > 0
    print(
        f"pairs {name}: recall {told[right].mean():.2f}, precision {right[told].mean():.2f} of {right.sum()} "
        f"rivals in {len(right)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    rows = read()
    words, full, wanted = matrices(rows)
    if asked.check:
        check("without meaning", words, wanted, rows)
        check("with meaning", full, wanted, rows)
        check_pairs("without meaning", *pairs()[::2])
        check_pairs("with meaning", *pairs()[1:])
        return
    stored = {}
    for name, given in (("words", words), ("full", full)):
        stored[name], stored[f"{name}_scale"] = packed(fit(given, wanted))
    pair_words, pair_full, rival = pairs()
    stored["pair_words"], stored["pair_full"] = fit_pairs(pair_words, rival), fit_pairs(pair_full, rival)
    np.savez_compressed(WEIGHTS, **stored)
    print(f"{len(rows)} sentences, {WEIGHTS.stat().st_size} bytes in {WEIGHTS}")


if __name__ == "__main__":
    main()
