"""What a sentence is: a linear classifier over its cues, its words and, where a model is there, its meaning.

`scripts/train_reader.py` trains it on the sentences under `scripts/reader/`; the weights lie beside this file.
"""

import itertools
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acumen.learn.rules.cues import NAMES, Surface

Floats = NDArray[np.float32]
Weights = dict[str, Floats]

LABELS = (
    *("instruction", "correction", "preference", "fact", "confirmation", "forget"),
    *("task", "question", "chatter", "hypothetical", "reported"),
)
# What is worth keeping, or worth acting on.
LEARNABLE = LABELS[:6]
WEIGHTS = Path(__file__).with_name("reader.npz")

# Words and pairs of words share so many places; a few of them meet by chance, which does little harm.
PLACES = 2048
# A vector of meaning has length one, spread over 384 numbers; cues are ones. This brings them to the same weight.
MEANING_SCALE = 4.0


def shown(surface: Surface) -> Floats:
    """The cues and the words of a sentence as numbers."""
    cues = np.array([name in surface.cues for name in NAMES], np.float32)
    places = np.zeros(PLACES, np.float32)
    said = ["^", *surface.core, "$"]
    for gram in [*surface.core, *(f"{one} {two}" for one, two in itertools.pairwise(said))]:
        places[zlib.crc32(_shape(gram).encode()) % PLACES] = 1.0
    length = float(np.linalg.norm(places))
    return np.concatenate([cues, places * (3.0 / length if length else 0.0)])


def _shape(gram: str) -> str:
    """Numbers differ from sentence to sentence; that there is one is what counts."""
    return "".join("0" if character.isdigit() else character for character in gram)


# A question is asked in so many characters at most; an answer of more words is understood without it.
ASKED = 160
ANSWER = 8


def meant(text: str, before: str) -> str:
    """The text whose meaning counts: a short answer means nothing without its question."""
    before = before.strip()
    return f"{before[-ASKED:]} {text}" if before.endswith("?") and len(text.split()) <= ANSWER else text


def features(surface: Surface, meaning: Floats | None) -> Floats:
    own = shown(surface)
    return own if meaning is None else np.concatenate([own, meaning * MEANING_SCALE])


def probabilities(surface: Surface, meaning: Floats | None = None) -> dict[str, float]:
    """How likely each label is; without a meaning, by the weights that were trained without one."""
    weights = _weights()["words" if meaning is None else "full"]
    scores = np.append(features(surface, meaning), 1.0) @ weights
    return dict(zip(LABELS, softmax(scores).tolist(), strict=True))


def softmax(scores: Floats) -> Floats:
    raised: Floats = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Floats = raised / raised.sum(axis=-1, keepdims=True)
    return shares


@cache
def _weights() -> Weights:
    """Kept as bytes with a scale per label; read when first needed."""
    with np.load(WEIGHTS) as stored:
        return {name: stored[name].astype(np.float32) * stored[f"{name}_scale"] for name in ("words", "full")}


def packed(weights: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Weights as bytes, and what to multiply each column by to have them back."""
    scale = np.abs(weights).max(axis=0) / 127
    return np.round(weights / scale).astype(np.int8), scale.astype(np.float32)


def likeliest(chances: dict[str, float], among: Sequence[str] = LABELS) -> str:
    return max(among, key=lambda label: chances[label])
