"""What a sentence is, by its cues and words alone; where a model is there, `llm/reading.py` tells more.

`scripts/train_reader.py` trains both; the weights of words lie beside this file.
"""

import itertools
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acumen.learn.rules.cues import NAMES, Surface

Floats = NDArray[np.float32]
Weights = dict[str, Floats]
Chances = dict[str, float]

LABELS = (
    *("instruction", "correction", "preference", "fact", "confirmation", "forget"),
    *("task", "question", "chatter", "hypothetical", "reported"),
)
# What is worth keeping, or worth acting on.
LEARNABLE = LABELS[:6]
WEIGHTS = Path(__file__).with_name("reader.npz")

# Words and pairs of words share so many places; a few of them meet by chance, which does little harm.
PLACES = 2048
# Whoever writes whole conversations writes many tasks and few rules: in life these are said so many times more often.
IN_LIFE = {"instruction": 3.0, "correction": 1.5, "preference": 1.5, "confirmation": 1.5}
# Characters.
LAST_WORDS = 110
LEAST_SCALE = 1e-9


def cues(surface: Surface) -> Floats:
    return np.array([name in surface.cues for name in NAMES], np.float32)


def shown(surface: Surface) -> Floats:
    """The cues and the words of a sentence as numbers."""
    places = np.zeros(PLACES, np.float32)
    said = ["^", *surface.core, "$"]
    for gram in [*surface.core, *(f"{one} {two}" for one, two in itertools.pairwise(said))]:
        places[zlib.crc32(_shape(gram).encode()) % PLACES] = 1.0
    length = float(np.linalg.norm(places))
    return np.concatenate([cues(surface), places * (3.0 / length if length else 0.0)])


def _shape(gram: str) -> str:
    """Numbers differ from sentence to sentence; that there is one is what counts."""
    if gram.isascii():
        return gram.translate(_DIGITS)
    return "".join("0" if character.isdigit() else character for character in gram)


_DIGITS = str.maketrans("123456789", "000000000")


def last_words(before: str) -> str:
    """So much of what the agent had said is read: how it ended is what is answered."""
    said = " ".join(before.split())
    return said if len(said) <= LAST_WORDS else said[-LAST_WORDS:].partition(" ")[2]


def by_words(surface: Surface) -> Chances:
    """How likely each label is, by the weights that were trained on words alone."""
    weights = _weights()
    return named(softmax(shown(surface) @ weights["words"] + weights["words_bias"]))


def named(chances: Floats) -> Chances:
    """Under each label how likely it is, of chances in the order of the labels."""
    return dict(zip(LABELS, chances.tolist(), strict=True))


def read_as(chances: Floats) -> Chances:
    """What the network read, weighed by how often such things are said."""
    return named(chances * _often() / (chances @ _often()))


@cache
def _often() -> Floats:
    return np.array([IN_LIFE.get(label, 1.0) for label in LABELS], np.float32)


def softmax(scores: Floats) -> Floats:
    raised: Floats = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Floats = raised / raised.sum(axis=-1, keepdims=True)
    return shares


@cache
def _weights() -> Weights:
    """Read when first needed. Matrices are kept as bytes, with a scale per column."""
    with np.load(WEIGHTS) as stored:
        return {name: _unpacked(name, stored) for name in stored.files if not name.endswith("_scale")}


def _unpacked(name: str, stored: Mapping[str, Floats]) -> Floats:
    scale = f"{name}_scale"
    return stored[name].astype(np.float32) * stored[scale] if scale in stored else stored[name]


def packed(weights: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Weights as bytes, and what to multiply each column by to have them back."""
    scale = np.maximum(np.abs(weights).max(axis=-2, keepdims=True) / 127, LEAST_SCALE)
    return np.round(weights / scale).astype(np.int8), scale.astype(np.float32)


def likeliest(chances: Chances, among: Sequence[str] = LABELS) -> str:
    return max(among, key=lambda label: chances[label])
