"""The embedding model as a network that is trained on: some of its layers, over rows of tokens that stay as they are.

Needs torch, which nothing else does. `encoder_graph.py` writes down the same sums for the server.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from minilm.graph import token_rows
from minilm.weights import HEAD_WIDTH, HEADS, LAYER_NORM_EPSILON, WIDTH, Array, Weights
from torch import Tensor, nn
from torch.nn import functional

RATE = 8e-5
FRESH = 10.0
DECAY = 0.01
HIDDEN = 0.1
# Batches are drawn from so many examples in turn, and hold those of like length.
BATCH = 32
DRAWN = 8 * BATCH
TOLD_EVERY = 100


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


class Encoder(nn.Module):
    """The states of tokens that belong to one of two parts of what is read."""

    width = WIDTH

    def __init__(self, published: Weights, layers: int) -> None:
        super().__init__()
        rows = token_rows(published)
        self.rows = nn.Embedding.from_pretrained(torch.tensor(rows["row"] * rows["scale"][:, None]), freeze=True)
        self.positions = nn.Parameter(torch.tensor(published.positions()), requires_grad=False)
        self.norm = _norm(published, "embeddings.LayerNorm").requires_grad_(requires_grad=False)
        self.part = nn.Parameter(torch.zeros(2, WIDTH))
        self.layers = nn.ModuleList(Layer(published, layer) for layer in range(layers))
        self.hide = nn.Dropout(HIDDEN)

    def forward(self, ids: Tensor, first: Tensor, second: Tensor) -> Tensor:
        """`first` and `second` hold a one where a token is of that part."""
        states = self.norm(self.rows(ids) + self.positions[: ids.shape[1]])
        states = self.hide(states + first[..., None] * self.part[0] + second[..., None] * self.part[1])
        padding = ((1 - first - second) * -10_000)[:, None, None, :]
        for layer in self.layers:
            states = layer(states, padding)
        return states


def mean(states: Tensor, which: Tensor) -> Tensor:
    """Of each text's states, those of `which` tokens."""
    return (states * which[..., None]).sum(dim=1) / which.sum(dim=1, keepdim=True)


def alike(lengths: Array, which: Sequence[int], order: np.random.Generator) -> Iterator[list[int]]:
    """Batches in any order, each of examples of like length."""
    mixed = order.permutation(which)
    found = []
    for start in range(0, len(mixed), DRAWN):
        drawn = mixed[start : start + DRAWN]
        drawn = drawn[np.argsort(lengths[drawn], kind="stable")].tolist()
        found += [drawn[at : at + BATCH] for at in range(0, len(drawn), BATCH)]
    yield from (found[place] for place in order.permutation(len(found)))


def descend(
    network: nn.Module,
    batches: Sequence[list[int]],
    missed: Callable[[list[int]], Tensor],
    fresh: float = FRESH,
    rate: float = RATE,
) -> None:
    """AdamW, faster at first and then slower and slower. `missed` tells how wrong the network is about a batch.

    What is new learns `fresh` times faster than what was learned already. Numbers are of 16 bits on the way, which
    takes two fifths of the time on processors that multiply such numbers.
    """
    network.train()
    known = [value for name, value in network.named_parameters() if "layers." in name and value.requires_grad]
    new = [value for name, value in network.named_parameters() if "layers." not in name and value.requires_grad]
    groups = [{"params": known, "share": 1.0}, {"params": new, "share": fresh}]
    descent = torch.optim.AdamW(groups, lr=rate, weight_decay=DECAY)
    began = time.monotonic()
    for step, batch in enumerate(batches, 1):
        for group in descent.param_groups:
            share = min(1.0, 10 * step / len(batches)) * max(0.02, 1 - step / len(batches))
            group["lr"] = rate * group["share"] * share
        with in_short():
            loss = missed(batch)
        descent.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        descent.step()
        if step % TOLD_EVERY == 0:
            print(f"step {step} of {len(batches)}, {time.monotonic() - began:.0f} s", flush=True)
    network.eval()


def in_short() -> torch.autocast:
    """Numbers of 16 bits where they do no harm."""
    return torch.autocast("cpu", dtype=torch.bfloat16)


def save(network: nn.Module, path: Path) -> None:
    """What was learned, without the rows, which are as published."""
    torch.save({name: value for name, value in network.state_dict().items() if ".rows." not in name}, path)


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
