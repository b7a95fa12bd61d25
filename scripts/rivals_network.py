"""The network that tells whether a statement leaves room for an older one, as it is trained.

Both go through the lower half of the embedding model together, as it is; what follows is its upper half, trained on.
Needs torch, which nothing else does. `rivals_graph.py` writes down the same sums for the server.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from minilm.weights import HEAD_WIDTH, HEADS, LAYER_NORM_EPSILON, WIDTH, Array, Weights
from torch import Tensor, nn
from torch.nn import functional

# The layers (from 0) that are trained; those below are the embedding model's.
LAYERS = (4, 5)
INNER = 64
EPOCHS = 3
BATCH = 32
RATE = 1e-4
# What is new learns so many times faster than what was learned already.
FRESH = 10.0
DECAY = 0.01
HIDDEN = 0.1
# So much of each answer is left open, as some pairs can be seen either way.
SPREAD = 0.06
# Batches are drawn from so many examples in turn, and hold those of like length.
SORTED = 8 * BATCH


@dataclass(frozen=True, slots=True)
class Examples:
    """Of each pair the states of its tokens, which of them are the newer statement's, the answer, and how it counts."""

    states: Sequence[Array]
    newer: Sequence[Array]
    wanted: Tensor
    weight: Tensor

    def batch(self, places: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        length = max(len(self.states[place]) for place in places)
        states = torch.zeros(len(places), length, WIDTH)
        parts = torch.zeros(2, len(places), length)
        for row, place in enumerate(places):
            here = len(self.states[place])
            states[row, :here] = torch.from_numpy(self.states[place].astype(np.float32))
            newer = torch.from_numpy(self.newer[place].astype(np.float32))
            parts[0, row, :here], parts[1, row, :here] = 1 - newer, newer
        return states, parts[0], parts[1]

    def alike(self, which: Sequence[int], order: np.random.Generator) -> list[list[int]]:
        """Batches in any order, each of pairs of like length."""
        mixed = order.permutation(which).tolist()
        found = []
        for start in range(0, len(mixed), SORTED):
            drawn = sorted(mixed[start : start + SORTED], key=lambda place: len(self.states[place]))
            found += [drawn[at : at + BATCH] for at in range(0, len(drawn), BATCH)]
        return [found[place] for place in order.permutation(len(found))]


class Layer(nn.Module):
    """As published, and hiding a share of what it adds while it is trained."""

    def __init__(self, published: Weights, layer: int) -> None:
        super().__init__()
        name = f"encoder.layer.{layer}"
        self.query, self.key, self.value = (
            _linear(published, f"{name}.attention.self.{part}") for part in ("query", "key", "value")
        )
        self.mixed = _linear(published, f"{name}.attention.output.dense")
        self.mixed_norm = _norm(published, f"{name}.attention.output.LayerNorm")
        self.widen = _linear(published, f"{name}.intermediate.dense")
        self.narrow = _linear(published, f"{name}.output.dense")
        self.narrow_norm = _norm(published, f"{name}.output.LayerNorm")
        self.hide = nn.Dropout(HIDDEN)

    def forward(self, states: Tensor, padding: Tensor) -> Tensor:
        query, key, value = (_by_head(step(states)) for step in (self.query, self.key, self.value))
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=padding)
        states = self.mixed_norm(states + self.hide(self.mixed(attended.transpose(1, 2).reshape(states.shape))))
        narrowed: Tensor = self.narrow(functional.gelu(self.widen(states)))
        normed: Tensor = self.narrow_norm(states + self.hide(narrowed))
        return normed


class Network(nn.Module):
    """The score of each pair, by its tokens."""

    def __init__(self, published: Weights) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(published, layer) for layer in LAYERS)
        self.part = nn.Parameter(torch.zeros(2, WIDTH))
        self.inner = nn.Linear(5 * WIDTH, INNER)
        self.score = nn.Linear(INNER, 1)
        self.hide = nn.Dropout(2 * HIDDEN)

    def forward(self, states: Tensor, older: Tensor, newer: Tensor) -> Tensor:
        padding = ((1 - older - newer) * -10_000)[:, None, None, :]
        states = states + older[..., None] * self.part[0] + newer[..., None] * self.part[1]
        for layer in self.layers:
            states = layer(states, padding)
        old, new = _mean(states, older), _mean(states, newer)
        pooled = torch.cat([states[:, 0], old, new, (old - new).abs(), old * new], dim=1)
        inner = torch.tanh(self.inner(self.hide(pooled)))
        scores: Tensor = self.score(self.hide(inner))
        return scores[:, 0]


def _mean(states: Tensor, part: Tensor) -> Tensor:
    return (states * part[..., None]).sum(dim=1) / part.sum(dim=1, keepdim=True)


def _by_head(states: Tensor) -> Tensor:
    return states.view(*states.shape[:2], HEADS, HEAD_WIDTH).transpose(1, 2)


def _linear(published: Weights, name: str) -> nn.Linear:
    matrix, bias = published.linear(name)
    step = nn.Linear(matrix.shape[1], matrix.shape[0])
    step.weight.data, step.bias.data = torch.tensor(matrix), torch.tensor(bias)
    return step


def _norm(published: Weights, name: str) -> nn.LayerNorm:
    gain, bias = published.linear(name)
    step = nn.LayerNorm(WIDTH, eps=LAYER_NORM_EPSILON)
    step.weight.data, step.bias.data = torch.tensor(gain), torch.tensor(bias)
    return step


def train(published: Weights, examples: Examples, which: Sequence[int], seed: int = 0) -> Network:
    """AdamW, faster at first and then slower and slower. What is paired by chance is seen in one of the epochs only."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    order = np.random.default_rng(seed)
    network = Network(published)
    known = [value for name, value in network.named_parameters() if name.startswith("layers.")]
    fresh = [value for name, value in network.named_parameters() if not name.startswith("layers.")]
    groups = [{"params": known, "share": 1.0}, {"params": fresh, "share": FRESH}]
    descent = torch.optim.AdamW(groups, lr=RATE, weight_decay=DECAY)
    thought = [place for place in which if examples.weight[place] >= 1]
    by_chance = order.permutation([place for place in which if examples.weight[place] < 1]).tolist()
    epochs = [examples.alike([*thought, *by_chance[epoch::EPOCHS]], order) for epoch in range(EPOCHS)]
    steps, step = sum(map(len, epochs)), 0
    for batches in epochs:
        print(f"step {step} of {steps}", flush=True)
        for places in batches:
            step += 1
            for group in descent.param_groups:
                group["lr"] = RATE * group["share"] * min(1.0, 10 * step / steps) * max(0.02, 1 - step / steps)
            _step(network, descent, examples, places)
    return network.eval()


def _step(network: Network, descent: torch.optim.Optimizer, examples: Examples, places: Sequence[int]) -> None:
    wanted = examples.wanted[places] * (1 - SPREAD) + SPREAD / 2
    scores = network(*examples.batch(places))
    weight = examples.weight[places]
    missed = functional.binary_cross_entropy_with_logits(scores, wanted, weight, reduction="sum") / weight.sum()
    descent.zero_grad()
    missed.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    descent.step()


def scores(network: Network, examples: Examples, which: Sequence[int]) -> Array:
    """In the order given."""
    found: dict[int, float] = {}
    ordered = sorted(which, key=lambda place: len(examples.states[place]))
    with torch.no_grad():
        for start in range(0, len(ordered), 2 * BATCH):
            places = ordered[start : start + 2 * BATCH]
            told = network(*examples.batch(places))
            found |= dict(zip(places, told.tolist(), strict=True))
    return np.array([found[place] for place in which], np.float32)
