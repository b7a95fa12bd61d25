"""A shipped network as one that torch can train on: its integers as numbers again, to within their rounding."""

from pathlib import Path

import numpy as np
import onnx
import torch
from minilm.graph import GELU_STEPS_BELOW_ZERO, STEPS
from minilm.weights import HEAD_WIDTH, WIDTH, Array
from onnx import NodeProto, numpy_helper
from torch import Tensor, nn

from scripts.encoder import Layer


class Shipped:
    """The steps of a graph that `encoder_graph.py` has written, in the order in which they are taken."""

    def __init__(self, path: Path) -> None:
        graph = onnx.load(path).graph
        self._constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
        self._nodes = list(graph.node)
        self._made_by = {name: node for node in self._nodes for name in node.output}
        self._used_by = {name: node for node in self._nodes for name in node.input}

    def fill(self, network: nn.Module, layers: int, plain: tuple[nn.Linear, ...]) -> None:
        """The parts of what is read, the lower layers, and the plain steps that read something off them."""
        network.encoder.part.data = torch.stack([_tensor(part) for part in self._parts()])
        steps, norms = self._all("MatMulIntegerToFloat"), self._all("LayerNormalization")[1:]
        for place, layer in enumerate(network.encoder.layers[:layers]):
            self._fill_layer(layer, steps[4 * place : 4 * place + 4])
            for norm, node in zip((layer.mixed_norm, layer.narrow_norm), norms[2 * place : 2 * place + 2], strict=True):
                norm.weight.data, norm.bias.data = (_tensor(self._constants[name]) for name in node.input[1:3])
        for step, node in zip(plain, (node for node in self._all("MatMul") if self._is_fixed(node)), strict=True):
            step.weight.data = _tensor(self._constants[node.input[1]].T)
            step.bias.data = _tensor(self._constants[self._used_by[node.output[0]].input[1]])

    def _all(self, operation: str) -> list[NodeProto]:
        return [node for node in self._nodes if node.op_type == operation]

    def _is_fixed(self, node: NodeProto) -> bool:
        return node.input[1] in self._constants

    def _parts(self) -> list[Array]:
        weighed = (node for node in self._all("Mul") if self._is_fixed(node) and node.input[0] in self._made_by)
        return [
            self._constants[node.input[1]]
            for node in weighed
            if self._made_by[node.input[0]].op_type == "Unsqueeze" and self._constants[node.input[1]].shape == (WIDTH,)
        ][:2]

    def _fill_layer(self, layer: Layer, steps: list[NodeProto]) -> None:
        attention, mixed, widen, narrow = steps
        matrices, biases = np.split(self._matrix(attention), 3), np.split(self._bias(attention), 3)
        for step, matrix, bias, scale in zip(
            (layer.query, layer.key, layer.value), matrices, biases, (HEAD_WIDTH**0.5, 1.0, 1.0), strict=True
        ):
            step.weight.data, step.bias.data = _tensor(matrix * scale), _tensor(bias * scale)
        for step, node in ((layer.mixed, mixed), (layer.widen, widen)):
            step.weight.data, step.bias.data = _tensor(self._matrix(node)), _tensor(self._bias(node))
        layer.narrow.weight.data = _tensor(self._matrix(narrow) * (2 * STEPS - GELU_STEPS_BELOW_ZERO))
        scaled = self._used_by[narrow.output[0]]
        layer.narrow.bias.data = _tensor(self._constants[self._used_by[scaled.output[0]].input[1]])

    def _matrix(self, node: NodeProto) -> Array:
        """Outputs by inputs, for inputs that are not tamed."""
        rounded, scale = self._constants[node.input[1]], self._constants[node.input[3]]
        matrix: Array = (rounded.astype(np.float32) * scale).T
        tamed = self._made_by[self._made_by[node.input[0]].input[0]]
        return matrix * self._constants[tamed.input[1]] if tamed.op_type == "Mul" and self._is_fixed(tamed) else matrix

    def _bias(self, node: NodeProto) -> Array:
        return self._constants[node.input[6]]


def _tensor(values: Array) -> Tensor:
    return torch.tensor(np.ascontiguousarray(values), dtype=torch.float)
