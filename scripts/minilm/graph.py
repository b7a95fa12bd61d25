"""Write the model as an int8 ONNX graph: token ids in, vectors of length one out, and tokens half-way.

Whoever wants the tokens alone says that `whole` is false, and the rest of the model is not run.

Weights are rounded to integers once, per output channel. What flows between layers is rounded on the way, per token:
each token carries its own scale, so a text gets the same vector alone and in any batch. (The usual scale per batch
lets neighbours shift a vector: cosine .975.)

A few input channels are a hundred times larger than the rest and would eat the precision of all others. Each channel
is therefore divided by a constant, and the matching weights multiplied by it (Xiao et al. 2023, "SmoothQuant").
"""

from collections.abc import Mapping
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
# The layers (from 0) whose tokens are answered too: what a sentence does is told there, before only its topic is left.
MIDDLE = (2, 3)
WHOLE = "whole"

OPSET = 20
IR_VERSION = 10
MICROSOFT = "com.microsoft"


class Graph:
    """An ONNX graph under construction; a value is known by its name. A part of another sees the other's values."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, value: NDArray[np.generic]) -> str:
        name = f"{self._prefix}constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        return self.add_many(1, operation, *inputs, **attributes)[0]

    def add_many(self, count: int, operation: str, *inputs: str, **attributes: Any) -> list[str]:
        outputs = [f"{self._prefix}value{len(self._nodes)}_{index}" for index in range(count)]
        self._nodes.append(helper.make_node(operation, list(inputs), outputs, **attributes))
        return outputs

    def part(self, value: str) -> onnx.GraphProto:
        """All of this as a part of another graph, which is told `value`."""
        told = helper.make_tensor_value_info(value, TensorProto.FLOAT, [None, WIDTH])
        return helper.make_graph(self._nodes, self._prefix, [], [told], self._constants)

    def model(self, embedding: str, states: str) -> onnx.ModelProto:
        """The finished model; what it is given become its answers. It is run whole unless told otherwise."""
        self._nodes.append(helper.make_node("Identity", [embedding], ["embedding"]))
        self._nodes.append(helper.make_node("Identity", [states], ["states"]))
        shape = ["batch", "length"]
        inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, shape) for n in ("input_ids", "attention_mask")]
        inputs.append(helper.make_tensor_value_info(WHOLE, TensorProto.BOOL, []))
        outputs = [
            helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [None, WIDTH]),
            helper.make_tensor_value_info("states", TensorProto.FLOAT, [*shape, WIDTH * len(MIDDLE)]),
        ]
        usual = numpy_helper.from_array(np.array(True), WHOLE)
        graph = helper.make_graph(self._nodes, "minilm", inputs, outputs, [*self._constants, usual])
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


class Int8Model:
    """Adds the steps of the model to a graph, in the order a text meets them."""

    def __init__(self, weights: Weights, largest: Mapping[str, Array]) -> None:
        self._weights = weights
        self._largest = largest
        self._graph = Graph()
        self._one = self._graph.number(1)
        self._last_axis = self._graph.integers(-1)

    def build(self) -> onnx.ModelProto:
        graph = self._graph
        mask = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
        padding = self._padding(mask)
        values = self._normalise(graph.add("Add", self._tokens(), self._positions()), "embeddings.LayerNorm")
        after = []
        for layer in range(MIDDLE[-1] + 1):
            values = self._layer(values, padding, layer)
            after.append(values)
        states = graph.add("Concat", *(after[layer] for layer in MIDDLE), axis=-1)
        self._graph = Graph("upper_")
        for layer in range(MIDDLE[-1] + 1, LAYERS):
            values = self._layer(values, padding, layer)
        upper = self._graph.part(self._pool(values, mask))
        none = Graph("none_")
        nothing = none.part(none.add("Identity", none.constant(np.zeros((0, WIDTH), np.float32))))
        return graph.model(graph.add("If", WHOLE, then_branch=upper, else_branch=nothing), states)

    def _tokens(self) -> str:
        """Each token's row, kept as int8 with a scale of its own."""
        graph, table = self._graph, self._weights["embeddings.word_embeddings.weight"]
        scale = np.abs(table).max(axis=1, keepdims=True) / np.float32(127)
        rounded = graph.constant(np.rint(table / scale).astype(np.int8))
        rows = graph.add("Cast", graph.add("Gather", rounded, "input_ids"), to=TensorProto.FLOAT)
        return graph.add("Mul", rows, graph.add("Gather", graph.constant(scale), "input_ids"))

    def _positions(self) -> str:
        graph = self._graph
        length = graph.add("Shape", "input_ids", start=1, end=2)
        table = graph.constant(self._weights.positions())
        return graph.add("Slice", table, graph.integers(0), length, graph.integers(0))

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
    model = Int8Model(weights, largest).build()
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))
