"""What a sentence is: by its cues and words alone, or, where a model is there, by a small network over its tokens.

`scripts/train_reader.py` trains both on the sentences under `scripts/reader/`; the weights lie beside this file.
"""

import itertools
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acumen.learn.rules.cues import NAMES, Surface
from acumen.llm.embed import Reading

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
# A direction has length one, spread over 384 numbers; cues are ones. This brings them to the same weight.
MEANING_SCALE = 4.0
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


def beside(surface: Surface, reading: Reading) -> Floats:
    """What is weighed as it stands: cues, and where the sentence points to half-way."""
    return np.concatenate([cues(surface), way(reading, 0), way(reading, 1)])


def way(states: Floats, layer: int) -> Floats:
    """The direction of the mean of the tokens in one of the two layers."""
    half = states.shape[1] // 2
    mean = states[:, layer * half : (layer + 1) * half].mean(axis=0)
    turned: Floats = mean * (MEANING_SCALE / np.linalg.norm(mean))
    return turned


def last_words(before: str) -> str:
    """So much of what the agent had said is read: how it ended is what is answered."""
    said = " ".join(before.split())
    return said if len(said) <= LAST_WORDS else said[-LAST_WORDS:].partition(" ")[2]


def seen(states: Reading, who: str) -> Floats:
    """Each token seen with its neighbours: the strongest of what is seen, and its mean, in a row for each network."""
    weights = _weights()
    found = np.maximum(states @ weights[f"{who}_token"] + weights[f"{who}_token_bias"][:, None], 0)
    nothing = np.zeros_like(found[:, :1])
    padded = np.concatenate([nothing, found, nothing], axis=1)
    around = np.concatenate([padded[:, :-2], found, padded[:, 2:]], axis=2)
    found = np.maximum(around @ weights[f"{who}_around"] + weights[f"{who}_around_bias"][:, None], 0)
    return np.concatenate([found.max(axis=1), found.mean(axis=1)], axis=1)


def probabilities(surface: Surface, reading: Reading | None = None, before: Floats | None = None) -> dict[str, float]:
    """How likely each label is; unread, by the weights that were trained on words alone.

    `before` is what was `seen` of the agent's last words. Several networks, of which none sees all, tell together.
    """
    weights = _weights()
    if reading is None:
        scores = shown(surface) @ weights["words"] + weights["words_bias"]
        return dict(zip(LABELS, softmax(scores).tolist(), strict=True))
    own = seen(reading, "own")
    scores = _through(own, "pooled") + weights["pooled_bias"] + beside(surface, reading) @ weights["beside"]
    if before is not None:
        signs = np.broadcast_to(cues(surface), (len(own), len(NAMES)))
        both = _through(np.concatenate([own, before, signs], axis=1), "both") + weights["both_bias"]
        scores = scores + _through(np.maximum(both, 0), "answer")
    return dict(zip(LABELS, softmax(scores).mean(axis=0).tolist(), strict=True))


def _through(values: Floats, name: str) -> Floats:
    """Each network's values through its own matrix."""
    result: Floats = (values[:, None] @ _weights()[name])[:, 0]
    return result


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


def likeliest(chances: dict[str, float], among: Sequence[str] = LABELS) -> str:
    return max(among, key=lambda label: chances[label])
