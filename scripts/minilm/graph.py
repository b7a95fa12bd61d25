"""Write the model as an int8 ONNX graph: a row for each token in, vectors of length one out.

The rows are kept apart (`token_rows`), as other networks begin with them too.

Weights are rounded to integers once, per output channel. What flows between layers is rounded on the way, per token:
each token carries its own scale, so a text gets the same vector alone and in any batch. (The usual scale per batch
lets neighbours shift a vector: cosine .975.)

A few input channels are a hundred times larger than the rest and would eat the precision of all others. Each channel
is therefore divided by a constant, and the matching weights multiplied by it (Xiao et al. 2023, "SmoothQuant").
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from minilm.weights import HEAD_WIDTH, HEADS, LAYER_NORM_EPSILON, LAYERS, WIDTH, Array, Weights, attention_names

# x86 before VNNI adds products in pairs of 16 bits: 2 * (2 * 90) * 90 = 32400 still fits, so every processor agrees.
STEPS = 90
# GELU never falls below -0.17: nearly all of the range is for what is above zero.
GELU_STEPS_BELOW_ZERO = 20
GELU_LEAST_MAXIMUM = 0.17 * (2 * STEPS - GELU_STEPS_BELOW_ZERO) / GELU_STEPS_BELOW_ZERO
# How much of the burden of outliers moves from the values to the weights; .5 to .8 measured alike.
SMOOTHING = 0.7
# What the model is given: a row for each token of each text, and a one where there is a token.
ROWS, PRESENT = "rows", "present"
# A token's row as bytes, and what to multiply them by.
TOKEN_ROW = np.dtype([("scale", "<f4"), ("row", "i1", WIDTH)])

OPSET = 20
IR_VERSION = 10
MICROSOFT = "com.microsoft"


# An axis of so many, or one with a name.
Axis = str | int


class Graph:
    """An ONNX graph under construction; a value is known by its name."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, value: NDArray[np.generic]) -> str:
        name = f"constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        return self.add_many(1, operation, *inputs, **attributes)[0]

    def add_many(self, count: int, operation: str, *inputs: str, **attributes: Any) -> list[str]:
        outputs = [f"value{len(self._nodes)}_{index}" for index in range(count)]
        self._nodes.append(helper.make_node(operation, list(inputs), outputs, **attributes))
        return outputs

    def model(self, name: str, inputs: Mapping[str, Sequence[Axis]], answer: str) -> onnx.ModelProto:
        """The finished model: its inputs by name, each of numbers in that shape (whole ones if it has one axis)."""
        self._nodes.append(helper.make_node("Identity", [answer], [name]))
        given = [helper.make_tensor_value_info(one, _type(shape), shape) for one, shape in inputs.items()]
        told = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, None])]
        graph = helper.make_graph(self._nodes, name, given, told, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model


def _type(shape: Sequence[Axis]) -> int:
    return TensorProto.INT64 if len(shape) == 1 else TensorProto.FLOAT


class Int8Model:
    """Adds the steps of the model to a graph, in the order a text meets them."""

    def __init__(self, weights: Weights, largest: Mapping[str, Array]) -> None:
        self._weights = weights
        self._largest = largest
        self._graph = Graph()
        self._one = self._graph.number(1)
        self._last_axis = self._graph.integers(-1)

    def build(self) -> onnx.ModelProto:
        values, padding = self._begin(), self._padding(PRESENT)
        for layer in range(LAYERS):
            values = self._layer(values, padding, layer)
        shapes = {ROWS: ("batch", "length", WIDTH), PRESENT: ("batch", "length")}
        return self._graph.model("embedding", shapes, self._pool(values, PRESENT))

    def _begin(self) -> str:
        """Each token's row, and where it stands."""
        graph = self._graph
        length = graph.add("Shape", ROWS, start=1, end=2)
        table = graph.constant(self._weights.positions())
        positions = graph.add("Slice", table, graph.integers(0), length, graph.integers(0))
        return self._normalise(graph.add("Add", ROWS, positions), "embeddings.LayerNorm")

    def _padding(self, mask: str) -> str:
        """Added to attention scores: zero where there is text, so low that nothing remains where there is none."""
        graph = self._graph
        absent = graph.add("Sub", self._one, graph.add("Unsqueeze", mask, graph.integers(1, 2)))
        return graph.add("Mul", absent, graph.number(-10_000))

    def _layer(self, values: str, padding: str, layer: int) -> str:
        name = f"encoder.layer.{layer}"
        attended = self._linear(self._attend(values, padding, layer), f"{name}.attention.output.dense")
        values = self._normalise(self._graph.add("Add", attended, values), f"{name}.attention.output.LayerNorm")
        matrix, bias = self._weights.linear(f"{name}.intermediate.dense")
        widened = self._smooth_linear(values, matrix, bias, self._largest[f"{name}.intermediate.dense"])
        narrowed = self._linear_after_gelu(self._graph.add("Gelu", widened), f"{name}.output.dense")
        return self._normalise(self._graph.add("Add", narrowed, values), f"{name}.output.LayerNorm")

    def _attend(self, values: str, padding: str, layer: int) -> str:
        graph, names = self._graph, attention_names(layer)
        matrix = np.concatenate([self._weights[f"{name}.weight"] for name in names])
        bias = np.concatenate([self._weights[f"{name}.bias"] for name in names])
        all_three = self._smooth_linear(values, matrix, bias, self._largest[names[0]])
        query, key, value = graph.add_many(3, "Split", all_three, axis=-1, num_outputs=3)
        scores = graph.add("MatMul", self._by_head(query, [0, 2, 1, 3]), self._by_head(key, [0, 2, 3, 1]))
        scores = graph.add("Add", graph.add("Mul", scores, graph.number(HEAD_WIDTH**-0.5)), padding)
        mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), self._by_head(value, [0, 2, 1, 3]))
        return graph.add("Reshape", graph.add("Transpose", mixed, perm=[0, 2, 1, 3]), graph.integers(0, 0, WIDTH))

    def _by_head(self, values: str, order: list[int]) -> str:
        split = self._graph.add("Reshape", values, self._graph.integers(0, 0, HEADS, HEAD_WIDTH))
        return self._graph.add("Transpose", split, perm=order)

    def _smooth_linear(self, values: str, matrix: Array, bias: Array, largest: Array) -> str:
        """A fully connected step whose outlier inputs are tamed first."""
        factors = largest**SMOOTHING / np.abs(matrix).max(axis=0) ** (1 - SMOOTHING)
        tamed = self._graph.add("Mul", values, self._graph.constant((1 / factors).astype(np.float32)))
        return self._rounded_linear(tamed, self._largest_magnitude(tamed), matrix * factors, bias)

    def _linear(self, values: str, name: str) -> str:
        return self._rounded_linear(values, self._largest_magnitude(values), *self._weights.linear(name))

    def _linear_after_gelu(self, values: str, name: str) -> str:
        graph = self._graph
        maximum = graph.add("ReduceMax", values, self._last_axis, keepdims=1)
        maximum = graph.add("Max", maximum, graph.number(GELU_LEAST_MAXIMUM))
        return self._rounded_linear(values, maximum, *self._weights.linear(name), zero=GELU_STEPS_BELOW_ZERO)

    def _largest_magnitude(self, values: str) -> str:
        return self._graph.add("ReduceMax", self._graph.add("Abs", values), self._last_axis, keepdims=1)

    def _rounded_linear(self, values: str, maximum: str, matrix: Array, bias: Array, zero: int = STEPS) -> str:
        """Multiply in integers. `maximum` is each token's largest value; `zero` is the integer that stands for 0."""
        graph, steps = self._graph, np.float32(2 * STEPS - zero)
        scale = (np.abs(matrix).max(axis=1) / STEPS).astype(np.float32)
        rounded = np.rint(matrix / scale[:, None]).astype(np.int8)
        origin = graph.constant(np.array(zero, np.uint8))
        integers = graph.add(
            "QuantizeLinear", graph.add("Div", values, maximum), graph.number(float(1 / steps)), origin
        )
        factors = [integers, graph.constant(rounded.T), self._one, graph.constant(scale / steps), origin]
        product = graph.add("MatMulIntegerToFloat", *factors, domain=MICROSOFT)
        return graph.add("Add", graph.add("Mul", product, maximum), graph.constant(bias))

    def _normalise(self, values: str, name: str) -> str:
        gain, bias = (self._graph.constant(part) for part in self._weights.linear(name))
        return self._graph.add("LayerNormalization", values, gain, bias, axis=-1, epsilon=LAYER_NORM_EPSILON)

    def _pool(self, values: str, mask: str) -> str:
        """The direction of the sum of a text's tokens is the direction of their mean."""
        graph = self._graph
        present = graph.add("Mul", values, graph.add("Unsqueeze", mask, graph.integers(2)))
        total = graph.add("ReduceSum", present, graph.integers(1), keepdims=0)
        return graph.add("LpNormalization", total, axis=-1, p=2)


def int8_model(weights: Weights, largest: Mapping[str, Array]) -> bytes:
    """The model as the bytes of an ONNX file. `largest`: see `reference.largest_inputs`."""
    return bytes(Int8Model(weights, largest).build().SerializeToString(deterministic=True))


def token_rows(weights: Weights) -> NDArray[np.void]:
    """Each token's row, kept as int8 with a scale of its own."""
    table = weights["embeddings.word_embeddings.weight"]
    rows = np.zeros(len(table), TOKEN_ROW)
    rows["scale"] = np.abs(table).max(axis=1) / np.float32(127)
    rows["row"] = np.rint(table / rows["scale"][:, None])
    return rows
