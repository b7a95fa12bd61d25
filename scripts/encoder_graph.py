"""Write a network over the trained encoder as an int8 ONNX graph."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from minilm.graph import Int8Model
from minilm.weights import Array, Weights
from torch import Tensor, nn

from scripts.encoder import Encoder

# Under which published name each step of a layer goes.
_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "mixed": "attention.output.dense",
    "mixed_norm": "attention.output.LayerNorm",
    "widen": "intermediate.dense",
    "narrow": "output.dense",
    "narrow_norm": "output.LayerNorm",
}


class EncoderGraph(Int8Model):
    """The trained encoder, and the steps that read something off it."""

    def __init__(self, encoder: Encoder, published: Weights, largest: Mapping[str, Array]) -> None:
        super().__init__(_as_published(encoder, published), largest)
        self._encoder = encoder

    def _states(self, *parts: str) -> str:
        """Of tokens each of which belongs to one of two parts."""
        graph = self._graph
        values, present = self._begin(), graph.add("Add", *parts)
        for place, part in enumerate(parts):
            weighed = graph.add("Mul", self._column(part), graph.constant(numbers(self._encoder.part[place])))
            values = graph.add("Add", values, weighed)
        padding = self._padding(present)
        for layer in range(len(self._encoder.layers)):
            values = self._layer(values, padding, layer)
        return values

    def _first(self, states: str) -> str:
        """The first token's state, which sees the whole."""
        graph = self._graph
        return graph.add("Squeeze", graph.add("Gather", states, graph.integers(0), axis=1), graph.integers(1))

    def _mean(self, states: str, which: str) -> str:
        graph = self._graph
        total = graph.add("ReduceSum", graph.add("Mul", states, self._column(which)), graph.integers(1), keepdims=0)
        return graph.add("Div", total, graph.add("ReduceSum", which, graph.integers(1), keepdims=1))

    def _column(self, part: str) -> str:
        return self._graph.add("Unsqueeze", part, self._graph.integers(2))

    def _plain_linear(self, values: str, step: nn.Linear) -> str:
        matrix, bias = (self._graph.constant(numbers(part)) for part in (step.weight.T, step.bias))
        return self._graph.add("Add", self._graph.add("MatMul", values, matrix), bias)


def numbers(tensor: Tensor) -> Array:
    return tensor.detach().numpy().astype(np.float32)


def _as_published(encoder: Encoder, published: Weights) -> Weights:
    norm, where = "embeddings.LayerNorm", "embeddings.position_embeddings.weight"
    kind = "embeddings.token_type_embeddings.weight"
    tensors = {name: published[name] for name in (f"{norm}.weight", f"{norm}.bias", where, kind)}
    for name, step in _steps(encoder):
        tensors[f"{name}.weight"] = numbers(step.weight)
        tensors[f"{name}.bias"] = numbers(step.bias)
    return Weights(tensors)


def _steps(encoder: Encoder) -> Iterator[tuple[str, nn.Linear]]:
    for number, layer in enumerate(encoder.layers):
        for ours, name in _NAMES.items():
            yield f"encoder.layer.{number}.{name}", getattr(layer, ours)


def largest_inputs(encoder: Encoder, run_some: Callable[[], None]) -> dict[str, Array]:
    """Per step that is tamed, the largest magnitude in each input channel while some examples run."""
    found: dict[str, Array] = {}
    hooks = []
    for name, step in _steps(encoder):
        if not name.endswith((_NAMES["query"], _NAMES["mixed"], _NAMES["widen"])):
            continue

        def watch(_step: nn.Module, given: tuple[Tensor, ...], name: str = name) -> None:
            here = given[0].abs().amax(dim=(0, 1)).numpy()
            found[name] = np.maximum(found[name], here) if name in found else here

        hooks.append(step.register_forward_pre_hook(watch))
    with torch.no_grad():
        run_some()
    for hook in hooks:
        hook.remove()
    return found
