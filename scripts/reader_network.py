"""The network that tells what each sentence of a turn is: the turn is read at once, after what the agent had said."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import onnx
import torch
from minilm.graph import ROWS
from minilm.weights import WIDTH, Array, Weights
from torch import Tensor, nn
from torch.nn import functional

from acumen.learn.rules.classifier import LABELS
from acumen.learn.rules.cues import NAMES
from scripts.encoder import BATCH, HIDDEN, Encoder, alike, descend, in_short, mean
from scripts.encoder_graph import EncoderGraph, largest_inputs
from scripts.teacher import Teacher

# What a sentence does is told by the lower layers, before only its topic is left.
LAYERS = 4
INNER = 96
# The teacher sees everything once, so that it does not know the answers by heart when it is asked; more slowly.
TEACHER_RATE = 5e-5
# How much a teacher's word counts, beside the writer's own label; and how fast what is shipped learns on.
TAUGHT = 0.7
LATER_RATE = 6e-5
# So much of each label is spread over all, as some sentences are two things at once.
SPREAD = 0.05
# So many turns show how large values grow.
CALIBRATED = 512
# Taken from what is not of the sentence, so that it is never the largest.
FAR = 10_000.0


class Example(NamedTuple):
    """A turn: its tokens, the sentence of each (-1 for what was said before), and of each sentence what is known."""

    ids: list[int]
    sentence_of: list[int]
    signs: Array
    labels: Array
    counts: Array
    taught: bool = True  # whether a teacher's word counts beside the labels


class Batch(NamedTuple):
    ids: Tensor
    before: Tensor
    said: Tensor
    turn: Tensor
    sentence: Tensor
    signs: Tensor


@dataclass(frozen=True, slots=True)
class Examples:
    turns: Sequence[Example]

    @property
    def lengths(self) -> Array:
        return np.array([len(turn.ids) for turn in self.turns])

    @property
    def labels(self) -> Array:
        return np.concatenate([turn.labels for turn in self.turns])

    def batch(self, places: Sequence[int]) -> Batch:
        turns = [self.turns[place] for place in places]
        ids = torch.zeros(len(turns), max(len(turn.ids) for turn in turns), dtype=torch.long)
        whose = torch.full(ids.shape, -2)
        for row, turn in enumerate(turns):
            ids[row, : len(turn.ids)] = torch.tensor(turn.ids)
            whose[row, : len(turn.ids)] = torch.tensor(turn.sentence_of)
        of_turn = torch.tensor([row for row, turn in enumerate(turns) for _ in turn.labels])
        number = torch.tensor([place for turn in turns for place in range(len(turn.labels))])
        sentence = (whose[of_turn] == number[:, None]).float()
        signs = torch.from_numpy(np.concatenate([turn.signs for turn in turns]))
        return Batch(ids, (whose == -1).float(), (whose >= 0).float(), of_turn, sentence, signs)


class Network(nn.Module):
    """The scores of the labels for each sentence."""

    def __init__(self, encoder: Encoder | Teacher) -> None:
        super().__init__()
        self.encoder = encoder
        self.inner = nn.Linear(3 * encoder.width + len(NAMES), INNER)
        self.label = nn.Linear(INNER, len(LABELS))
        self.hide = nn.Dropout(2 * HIDDEN)

    def forward(self, batch: Batch) -> Tensor:
        states = self.encoder(batch.ids, batch.before, batch.said)[batch.turn]
        strongest = (states - FAR * (1 - batch.sentence[..., None])).amax(dim=1)
        pooled = torch.cat([states[:, 0], mean(states, batch.sentence), strongest, batch.signs], dim=1)
        scores: Tensor = self.label(self.hide(functional.relu(self.inner(self.hide(pooled)))))
        return scores


def train(network: Network, examples: Examples, seed: int = 0, **how: float) -> None:
    """Each label counts by the root of how rare it is."""
    missed = _missed(network, examples)
    _descend(network, examples, lambda places: _mean(missed(places), examples, places), seed, **how)


def learn_from(teacher: Network, network: Network, examples: Examples, seed: int = 0) -> None:
    """By what the teacher thinks of each sentence, where it may tell, and by the writers' labels."""
    told, missed = _scores(teacher, examples), _missed(network, examples)

    def differs(places: list[int]) -> Tensor:
        thought = torch.cat([told[place] for place in places]).softmax(dim=1)
        scores = network(examples.batch(places)).float()
        apart = -(thought * scores.log_softmax(dim=1)).sum(dim=1)
        taught = torch.tensor([TAUGHT * turn.taught for turn in _sentences(examples, places)])
        return _mean(taught * apart + (1 - taught) * missed(places, scores), examples, places)

    _descend(network, examples, differs, seed, fresh=1.0, rate=LATER_RATE)


def _descend(
    network: Network, examples: Examples, missed: Callable[[list[int]], Tensor], seed: int, **how: float
) -> None:
    torch.manual_seed(seed)
    batches = list(alike(examples.lengths, range(len(examples.turns)), np.random.default_rng(seed)))
    descend(network, batches, missed, **how)


def _missed(network: Network, examples: Examples) -> Callable[..., Tensor]:
    """How wrong the network is about each sentence of some turns."""
    many = np.bincount(examples.labels, minlength=len(LABELS))
    rarity = torch.tensor(np.sqrt(many.sum() / len(LABELS) / np.maximum(many, 1)), dtype=torch.float)

    def missed(places: list[int], scores: Tensor | None = None) -> Tensor:
        labels = torch.from_numpy(np.concatenate([examples.turns[place].labels for place in places]))
        given = network(examples.batch(places)).float() if scores is None else scores
        return functional.cross_entropy(given, labels, rarity, label_smoothing=SPREAD, reduction="none")

    return missed


def _sentences(examples: Examples, places: list[int]) -> list[Example]:
    """The turn of each sentence."""
    return [turn for turn in (examples.turns[place] for place in places) for _ in turn.labels]


def _mean(each: Tensor, examples: Examples, places: list[int]) -> Tensor:
    counts = torch.from_numpy(np.concatenate([examples.turns[place].counts for place in places]))
    return (each * counts).sum() / counts.sum()


def _scores(network: Network, examples: Examples) -> list[Tensor]:
    """Of each turn, a row for each sentence."""
    found: dict[int, Tensor] = {}
    ordered = np.argsort(examples.lengths).tolist()
    with torch.no_grad(), in_short():
        for start in range(0, len(ordered), BATCH):
            places = ordered[start : start + BATCH]
            rows = network(examples.batch(places)).float()
            found |= dict(zip(places, rows.split([len(examples.turns[place].labels) for place in places]), strict=True))
    return [found[place] for place in range(len(found))]


def chances(network: Network, examples: Examples) -> Array:
    """A row for each sentence, in order."""
    found: Array = torch.cat(_scores(network, examples)).softmax(dim=1).numpy()
    return found


class SentenceGraph(EncoderGraph):
    """Rows of tokens in, how likely each label is for each sentence out."""

    SHAPES: ClassVar = {
        ROWS: ("batch", "length", WIDTH),
        "before": ("batch", "length"),
        "said": ("batch", "length"),
        "turn": ("sentences",),
        "sentence": ("sentences", "length"),
        "signs": ("sentences", len(NAMES)),
    }

    def finished(self, network: Network) -> onnx.ModelProto:
        graph = self._graph
        states = graph.add("Gather", self._states("before", "said"), "turn", axis=0)
        elsewhere = graph.add("Mul", graph.add("Sub", self._one, self._column("sentence")), graph.number(FAR))
        strongest = graph.add("ReduceMax", graph.add("Sub", states, elsewhere), graph.integers(1), keepdims=0)
        pooled = [self._first(states), self._mean(states, "sentence"), strongest, "signs"]
        inner = graph.add("Relu", self._plain_linear(graph.add("Concat", *pooled, axis=-1), network.inner))
        scores = self._plain_linear(inner, network.label)
        return graph.model("chances", self.SHAPES, graph.add("Softmax", scores, axis=-1))


def int8_model(network: Network, published: Weights, examples: Examples) -> bytes:
    """The network as the bytes of an ONNX file."""

    def run_some() -> None:
        for place in range(0, len(examples.turns), max(len(examples.turns) // CALIBRATED, 1)):
            network(examples.batch([place]))

    graph = SentenceGraph(network.encoder, published, largest_inputs(network.encoder, run_some))
    return bytes(graph.finished(network).SerializeToString(deterministic=True))
