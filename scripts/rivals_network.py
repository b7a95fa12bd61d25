"""The network that tells whether a statement leaves room for an older one: both are read together by the encoder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import onnx
import torch
from minilm.graph import ROWS
from minilm.weights import LAYERS, WIDTH, Array, Weights
from torch import Tensor, nn
from torch.nn import functional

from scripts.encoder import BATCH, HIDDEN, Encoder, alike, descend, in_short, mean
from scripts.encoder_graph import EncoderGraph, largest_inputs
from scripts.teacher import Teacher

INNER = 64
EPOCHS = 3
# What is learned last, from what met in play, is learned more slowly.
LAST_RATE = 5e-5
# How much a teacher's word and the network's own former word count in what it is told, and all that beside the label.
TEACHERS_WORD, FORMER_WORD, TAUGHT = 0.71, 0.39, 0.65
TIMES = 2
# Such a share of what was learned first is seen again with what came later.
AGAIN = 0.4
# So much of each answer is left open, as some pairs can be seen either way.
SPREAD = 0.06
# So many pairs show how large values grow.
CALIBRATED = 512


@dataclass(frozen=True, slots=True)
class Examples:
    """Of each pair the tokens of the older and of the newer, the answer, and how much it counts."""

    ids: Sequence[tuple[list[int], list[int]]]
    wanted: Tensor
    weight: Tensor

    @property
    def lengths(self) -> Array:
        return np.array([len(older) + len(newer) for older, newer in self.ids])

    def batch(self, places: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        length = max(sum(map(len, self.ids[place])) for place in places)
        ids = torch.zeros(len(places), length, dtype=torch.long)
        parts = torch.zeros(2, len(places), length)
        for row, place in enumerate(places):
            older, newer = self.ids[place]
            end = len(older) + len(newer)
            ids[row, :end] = torch.tensor([*older, *newer])
            parts[0, row, : len(older)], parts[1, row, len(older) : end] = 1, 1
        return ids, parts[0], parts[1]


class Network(nn.Module):
    """The score of each pair."""

    def __init__(self, encoder: Encoder | Teacher) -> None:
        super().__init__()
        self.encoder = encoder
        self.inner = nn.Linear(5 * encoder.width, INNER)
        self.score = nn.Linear(INNER, 1)
        self.hide = nn.Dropout(2 * HIDDEN)

    def forward(self, ids: Tensor, older: Tensor, newer: Tensor) -> Tensor:
        states = self.encoder(ids, older, newer)
        old, new = mean(states, older), mean(states, newer)
        pooled = torch.cat([states[:, 0], old, new, (old - new).abs(), old * new], dim=1)
        inner = torch.tanh(self.inner(self.hide(pooled)))
        scores: Tensor = self.score(self.hide(inner))
        return scores[:, 0]


def train(published: Weights, examples: Examples, later: Array, seed: int = 0) -> Network:
    """First on what was written as pairs, then once more on all, with what came later."""
    torch.manual_seed(seed)
    order = np.random.default_rng(seed)
    network = Network(Encoder(published, LAYERS))
    lengths, missed = examples.lengths, _missed(network, examples)
    thought, rival = examples.weight.numpy() >= 1, examples.wanted.numpy() > 0
    by_chance = order.permutation(np.flatnonzero(~thought))
    early = np.flatnonzero(thought & ~later)
    epochs = [np.concatenate([early, by_chance[epoch :: 4 * EPOCHS]]) for epoch in range(EPOCHS)]
    descend(network, [batch for epoch in epochs for batch in alike(lengths, epoch, order)], missed)
    again = early[order.random(len(early)) < AGAIN]
    twice = np.flatnonzero(later & rival)
    everything = np.concatenate([again, np.flatnonzero(later), twice, by_chance[3 :: 4 * EPOCHS]])
    descend(network, list(alike(lengths, everything, order)), missed, fresh=1.0)
    return network


def train_on(network: Network, examples: Examples, fresh: float = 1.0, seed: int = 0) -> None:
    """Once more on all of these, in any order."""
    torch.manual_seed(seed)
    batches = list(alike(examples.lengths, range(len(examples.ids)), np.random.default_rng(seed)))
    descend(network, batches, _missed(network, examples), fresh=fresh, rate=LAST_RATE)


def learn_from(teacher: Network, network: Network, examples: Examples) -> None:
    """By what the teacher and the network so far think of each pair, and by the labels."""
    thought = TEACHERS_WORD * scores(teacher, examples) + FORMER_WORD * scores(network, examples)
    told = TAUGHT * torch.sigmoid(torch.from_numpy(thought)) + (1 - TAUGHT) * examples.wanted
    for _ in range(TIMES):
        train_on(network, replace(examples, wanted=told))


def go_on(network: Network, examples: Examples, known: int) -> None:
    """By the labels; the first `known` pairs by what the network thinks of them so far, too."""
    thought = torch.sigmoid(torch.from_numpy(scores(network, examples)))
    told = TAUGHT * thought + (1 - TAUGHT) * examples.wanted
    told[known:] = examples.wanted[known:]
    for seed in range(TIMES):
        train_on(network, replace(examples, wanted=told), seed=seed)


def _missed(network: Network, examples: Examples) -> Callable[[list[int]], Tensor]:
    """How wrong the network is about a batch."""

    def missed(places: list[int]) -> Tensor:
        wanted = examples.wanted[places] * (1 - SPREAD) + SPREAD / 2
        weight = examples.weight[places]
        scores = network(*examples.batch(places)).float()
        return functional.binary_cross_entropy_with_logits(scores, wanted, weight, reduction="sum") / weight.sum()

    return missed


def scores(network: Network, examples: Examples) -> Array:
    """Of each pair, in order."""
    found: dict[int, float] = {}
    ordered = np.argsort(examples.lengths).tolist()
    with torch.no_grad(), in_short():
        for start in range(0, len(ordered), 2 * BATCH):
            places = ordered[start : start + 2 * BATCH]
            found |= dict(zip(places, network(*examples.batch(places)).tolist(), strict=True))
    return np.array([found[place] for place in range(len(found))], np.float32)


class PairGraph(EncoderGraph):
    """Rows of tokens in, the score of each pair out."""

    SHAPES: ClassVar = {
        ROWS: ("batch", "length", WIDTH),
        "older": ("batch", "length"),
        "newer": ("batch", "length"),
    }

    def finished(self, network: Network) -> onnx.ModelProto:
        graph = self._graph
        states = self._states("older", "newer")
        old, new = self._mean(states, "older"), self._mean(states, "newer")
        apart = graph.add("Abs", graph.add("Sub", old, new))
        pooled = graph.add("Concat", self._first(states), old, new, apart, graph.add("Mul", old, new), axis=-1)
        inner = graph.add("Tanh", self._plain_linear(pooled, network.inner))
        return graph.model("score", self.SHAPES, self._plain_linear(inner, network.score))


def int8_model(network: Network, published: Weights, examples: Examples) -> bytes:
    """The network as the bytes of an ONNX file."""

    def run_some() -> None:
        for place in range(0, len(examples.ids), max(len(examples.ids) // CALIBRATED, 1)):
            network(*examples.batch([place]))

    graph = PairGraph(network.encoder, published, largest_inputs(network.encoder, run_some))
    return bytes(graph.finished(network).SerializeToString(deterministic=True))
