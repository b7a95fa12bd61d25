"""BM25's parts: inverse document frequency, length normalisation, term saturation. Pure."""

import math

import numpy as np

from acumen.index.arrays import Floats

# How soon repeats of a term stop counting, and how much the length of a document weighs: the usual values. Facts and
# chat are indifferent to them; long answers of assistants need their length to count.
K1 = 1.2
B = 0.75


def idf(documents: int, matching: int) -> float:
    """The information in a term that this many of the documents contain, in the form that is never negative."""
    return math.log1p((documents - matching + 0.5) / (matching + 0.5))


def length_norm(lengths: Floats, mean_length: float) -> Floats:
    return np.float32(K1 * (1 - B)) + np.float32(K1 * B / mean_length) * lengths


def term_saturation(counts: Floats, length_norm: Floats) -> Floats:
    """The weight of a term by how often a document says it, 0 to 1: once in a document of average length is 1."""
    saturation: Floats = np.divide(counts * np.float32(1 + K1), counts + length_norm)
    return np.minimum(saturation, 1, out=saturation)
