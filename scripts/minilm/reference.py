"""The model in plain numpy at full precision: one text at a time, slow, easy to check by eye."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from minilm.weights import HEAD_WIDTH, HEADS, LAYER_NORM_EPSILON, LAYERS, WIDTH, Array, Weights, attention_names

# Called with the name of a fully connected step and what it is about to read.
Watcher = Callable[[str, Array], None]

_erf = np.frompyfunc(math.erf, 1, 1)


class Reference:
    """Embeds token ids with the published weights, unrounded."""

    def __init__(self, weights: Weights, watch: Watcher = lambda _name, _values: None) -> None:
        self._weights = weights
        self._watch = watch

    def embed(self, ids: Sequence[int]) -> Array:
        """The mean of the last layer's tokens, scaled to length one."""
        values = self._weights["embeddings.word_embeddings.weight"][list(ids)] + self._weights.positions()[: len(ids)]
        values = self._normalise(values, "embeddings.LayerNorm")
        for layer in range(LAYERS):
            values = self._layer(values, layer)
        mean: Array = values.mean(axis=0)
        return mean / np.float32(np.linalg.norm(mean))

    def _layer(self, values: Array, layer: int) -> Array:
        name = f"encoder.layer.{layer}"
        attended = self._linear(self._attend(values, layer), f"{name}.attention.output.dense")
        values = self._normalise(values + attended, f"{name}.attention.output.LayerNorm")
        widened = _gelu(self._linear(values, f"{name}.intermediate.dense"))
        return self._normalise(values + self._linear(widened, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attend(self, values: Array, layer: int) -> Array:
        query, key, value = (_by_head(self._linear(values, name)) for name in attention_names(layer))
        scores = query @ key.transpose(0, 2, 1) / np.float32(math.sqrt(HEAD_WIDTH))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed: Array = weights @ value
        return mixed.transpose(1, 0, 2).reshape(-1, WIDTH)

    def _linear(self, values: Array, name: str) -> Array:
        self._watch(name, values)
        matrix, bias = self._weights.linear(name)
        return values @ matrix.T + bias

    def _normalise(self, values: Array, name: str) -> Array:
        gain, bias = self._weights.linear(name)
        centred: Array = values - values.mean(axis=-1, keepdims=True)
        spread: Array = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(LAYER_NORM_EPSILON))
        return centred / spread * gain + bias


def _by_head(values: Array) -> Array:
    return values.reshape(-1, HEADS, HEAD_WIDTH).transpose(1, 0, 2)


def _gelu(values: Array) -> Array:
    erf: Array = _erf(values / math.sqrt(2)).astype(np.float32)
    return values * np.float32(0.5) * (1 + erf)


def largest_inputs(weights: Weights, texts: Sequence[Sequence[int]]) -> dict[str, Array]:
    """Per fully connected step, the largest magnitude seen in each input channel over these token ids."""
    largest: dict[str, Array] = {}

    def watch(name: str, values: Array) -> None:
        here = np.abs(values).max(axis=0)
        largest[name] = np.maximum(largest[name], here) if name in largest else here

    reference = Reference(weights, watch)
    for ids in texts:
        reference.embed(ids)
    return largest
