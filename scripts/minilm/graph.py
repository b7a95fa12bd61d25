"""Write the model as an int8 ONNX graph: a row for each token in, vectors of length one out.

The rows are kept apart (`token_rows`), as other networks begin with them too.

Weights are rounded to integers once, per output channel. What flows between layers is rounded on the way, on a scale
that does not depend on a text's neighbours, so that a text gets the same vector alone and in any batch. (The usual
scale per batch lets neighbours shift a vector: cosine .975.) How large values grow is known beforehand, from texts run
at full precision; only after GELU, where single tokens stand out, each token carries a scale of its own.

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
        attended = self._attend(values, padding, layer)
        values = self._normalise(self._graph.add("Add", attended, values), f"{name}.attention.output.LayerNorm")
        widened = self._tamed_linear(
            values, f"{name}.intermediate.dense", *self._weights.linear(f"{name}.intermediate.dense")
        )
        narrowed = self._linear_after_gelu(self._graph.add("Gelu", widened), f"{name}.output.dense")
        return self._normalise(self._graph.add("Add", narrowed, values), f"{name}.output.LayerNorm")

    def _attend(self, values: str, padding: str, layer: int) -> str:
        """Queries come scaled and values tamed, which costs nothing where both are multiplied by weights anyway."""
        graph, names = self._graph, attention_names(layer)
        output = f"encoder.layer.{layer}.attention.output.dense"
        mixing, mixing_bias = self._weights.linear(output)
        factors = self._factors(output, mixing)
        matrix, bias = (np.stack([self._weights[f"{name}.{part}"] for name in names]) for part in ("weight", "bias"))
        scales = np.stack([np.full(WIDTH, HEAD_WIDTH**-0.5), np.ones(WIDTH), 1 / factors]).astype(np.float32)
        matrix, bias = (matrix * scales[..., None]).reshape(-1, WIDTH), (bias * scales).reshape(-1)
        all_three = self._tamed_linear(values, names[0], matrix, bias)
        by_head = graph.add("Reshape", all_three, graph.integers(0, 0, 3 * HEADS, HEAD_WIDTH))
        by_head = graph.add("Transpose", by_head, perm=[0, 2, 1, 3])
        query, key, value = graph.add_many(3, "Split", by_head, axis=1, num_outputs=3)
        scores = graph.add("Add", graph.add("FusedMatMul", query, key, transB=1, domain=MICROSOFT), padding)
        mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), value)
        mixed = graph.add("Reshape", graph.add("Transpose", mixed, perm=[0, 2, 1, 3]), graph.integers(0, 0, WIDTH))
        return self._bounded_linear(mixed, self._bound(output, factors), mixing * factors, mixing_bias)

    def _tamed_linear(self, values: str, name: str, matrix: Array, bias: Array) -> str:
        """A fully connected step whose outlier inputs are tamed first."""
        factors = self._factors(name, matrix)
        tamed = self._graph.add("Mul", values, self._graph.constant((1 / factors).astype(np.float32)))
        return self._bounded_linear(tamed, self._bound(name, factors), matrix * factors, bias)

    def _factors(self, name: str, matrix: Array) -> Array:
        """What each input channel is divided by."""
        factors: Array = self._largest[name] ** SMOOTHING / np.abs(matrix).max(axis=0) ** (1 - SMOOTHING)
        return factors

    def _bound(self, name: str, factors: Array) -> np.float32:
        """How large tamed inputs grow; what is larger still is cut."""
        return np.float32((self._largest[name] / factors).max())

    def _bounded_linear(self, values: str, bound: np.float32, matrix: Array, bias: Array) -> str:
        """Multiply in integers, on one scale for all."""
        graph, (rounded, scale) = self._graph, _rounded(matrix)
        step, origin = graph.number(float(bound / STEPS)), graph.constant(np.array(STEPS, np.uint8))
        integers = graph.add("QuantizeLinear", values, step, origin)
        factors = [integers, graph.constant(rounded.T), step, graph.constant(scale), origin, "", graph.constant(bias)]
        return graph.add("MatMulIntegerToFloat", *factors, domain=MICROSOFT)

    def _linear_after_gelu(self, values: str, name: str) -> str:
        """Multiply in integers, on a scale for each token: its largest value."""
        graph, (matrix, bias) = self._graph, self._weights.linear(name)
        (rounded, scale), zero = _rounded(matrix), GELU_STEPS_BELOW_ZERO
        maximum = graph.add("ReduceMax", values, self._last_axis, keepdims=1)
        maximum = graph.add("Max", maximum, graph.number(GELU_LEAST_MAXIMUM))
        steps, origin = np.float32(2 * STEPS - zero), graph.constant(np.array(zero, np.uint8))
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


def _rounded(matrix: Array) -> tuple[NDArray[np.int8], Array]:
    """Whole numbers, and for each output channel what to multiply them by."""
    scale = (np.abs(matrix).max(axis=1) / STEPS).astype(np.float32)
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale


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
