"""Write the trained network as an int8 ONNX graph: the states of a pair's tokens in, its score out."""

from collections.abc import Mapping

import numpy as np
import onnx
import torch
from minilm.graph import IR_VERSION, MICROSOFT, OPSET, Graph, Int8Model
from minilm.weights import WIDTH, Array, Weights
from onnx import TensorProto, helper
from torch import Tensor, nn

from scripts.rivals_network import LAYERS, Examples, Network

# So many pairs show how large values grow.
CALIBRATED = 512
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


class PairModel(Int8Model):
    """The upper layers, and what is read off them."""

    def __init__(self, network: Network, largest: Mapping[str, Array]) -> None:
        super().__init__(_published(network), largest)
        self._network = network

    def finished(self) -> onnx.ModelProto:
        graph, network = self._graph, self._network
        present = graph.add("Add", "older", "newer")
        states = "states"
        for place, part in enumerate(("older", "newer")):
            weighed = graph.add("Mul", self._column(part), graph.constant(_numbers(network.part[place])))
            states = graph.add("Add", states, weighed)
        for layer in LAYERS:
            states = self._layer(states, self._padding(present), layer)
        first = graph.add("Squeeze", graph.add("Gather", states, graph.integers(0), axis=1), graph.integers(1))
        old, new = self._mean(states, "older"), self._mean(states, "newer")
        apart = graph.add("Abs", graph.add("Sub", old, new))
        pooled = graph.add("Concat", first, old, new, apart, graph.add("Mul", old, new), axis=-1)
        inner = graph.add("Tanh", self._plain_linear(pooled, network.inner))
        return _model(graph, self._plain_linear(inner, network.score))

    def _column(self, part: str) -> str:
        return self._graph.add("Unsqueeze", part, self._graph.integers(2))

    def _mean(self, states: str, part: str) -> str:
        graph = self._graph
        total = graph.add("ReduceSum", graph.add("Mul", states, self._column(part)), graph.integers(1), keepdims=0)
        return graph.add("Div", total, graph.add("ReduceSum", part, graph.integers(1), keepdims=1))

    def _plain_linear(self, values: str, step: nn.Linear) -> str:
        matrix, bias = (self._graph.constant(_numbers(part)) for part in (step.weight.T, step.bias))
        return self._graph.add("Add", self._graph.add("MatMul", values, matrix), bias)


def _model(graph: Graph, score: str) -> onnx.ModelProto:
    nodes = [*graph._nodes, helper.make_node("Identity", [score], ["score"])]  # noqa: SLF001 - its own `model` is the embedding's
    shape = ["batch", "length"]
    inputs = [
        helper.make_tensor_value_info("states", TensorProto.FLOAT, [*shape, WIDTH]),
        *(helper.make_tensor_value_info(part, TensorProto.FLOAT, shape) for part in ("older", "newer")),
    ]
    outputs = [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["batch", 1])]
    made = helper.make_graph(nodes, "rivals", inputs, outputs, graph._constants)  # noqa: SLF001 - as above
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION)


def _published(network: Network) -> Weights:
    tensors = {}
    for number, layer in zip(LAYERS, network.layers, strict=True):
        for ours, name in _NAMES.items():
            step = getattr(layer, ours)
            tensors[f"encoder.layer.{number}.{name}.weight"] = _numbers(step.weight)
            tensors[f"encoder.layer.{number}.{name}.bias"] = _numbers(step.bias)
    return Weights(tensors)


def _numbers(tensor: Tensor) -> Array:
    return tensor.detach().numpy().astype(np.float32)


def largest_inputs(network: Network, examples: Examples) -> dict[str, Array]:
    """Per step that is tamed, the largest magnitude in each input channel."""
    found: dict[str, Array] = {}
    hooks = []
    for number, layer in zip(LAYERS, network.layers, strict=True):
        for ours in ("query", "widen"):
            name = f"encoder.layer.{number}.{_NAMES[ours]}"

            def watch(_step: nn.Module, given: tuple[Tensor, ...], name: str = name) -> None:
                here = given[0].abs().amax(dim=(0, 1)).numpy()
                found[name] = np.maximum(found[name], here) if name in found else here

            hooks.append(getattr(layer, ours).register_forward_pre_hook(watch))
    places = range(0, len(examples.states), max(len(examples.states) // CALIBRATED, 1))
    with torch.no_grad():
        for place in places:
            network(*examples.batch([place]))
    for hook in hooks:
        hook.remove()
    return found


def int8_model(network: Network, examples: Examples) -> bytes:
    """The network as the bytes of an ONNX file."""
    model = PairModel(network, largest_inputs(network, examples)).finished()
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))
