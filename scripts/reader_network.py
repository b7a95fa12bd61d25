"""The network that tells what a sentence is, as it is trained: tokens seen with their neighbours, pooled, then weighed.

What the agent said just before is seen in the same way by weights of its own, and weighed together with the sentence.
Needs torch, which nothing else does; `classifier.py` does the same sums with numpy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from acumen.learn.rules.classifier import LABELS, Floats
from acumen.learn.rules.cues import NAMES

WIDTH = 64
EPOCHS = 14
BATCH = 128
RATE = 4e-3
DECAY = 1e-2
# Shares of the tokens' numbers, of what is pooled and of what is weighed as it stands that are hidden while training.
HIDDEN = (0.3, 0.5, 0.3)
# So much of each label is spread over all, as some sentences are two things at once.
SPREAD = 0.05
# Sentences run together with others of about their length.
NEAR = 6
MOST_TOKENS = 64
# Most of what tokens differ by lies along so few axes: who learns along them needs a third of the time.
AXES = 256
EPOCHS_ALONG = 10


@dataclass(frozen=True, slots=True)
class Axes:
    """Where tokens lie, and along what they differ most; turned at random, so that no axis matters more than others."""

    middle: Floats
    along: Floats

    @classmethod
    def of(cls, readings: Sequence[Floats]) -> "Axes":
        tokens = np.concatenate(readings[::4])
        middle = tokens.mean(axis=0)
        _, along = np.linalg.eigh(np.cov(tokens - middle, rowvar=False))
        turned = along[:, -AXES:] @ np.linalg.qr(np.random.default_rng(0).normal(size=(AXES, AXES)))[0]
        return cls(middle, (turned / ((tokens - middle) @ turned).std()).astype(np.float32))

    def __call__(self, reading: Floats) -> Floats:
        found: Floats = (reading - self.middle) @ self.along
        return found


@dataclass(frozen=True, slots=True)
class Examples:
    """What the network is given of each sentence, the place of its label, how much it counts. `before` may be empty."""

    states: Sequence[Floats]
    before: Sequence[Floats]
    beside: Floats
    labels: Floats
    counts: Floats

    def along(self, axes: "Axes") -> "Examples":
        states, before = ([axes(one) for one in listed] for listed in (self.states, self.before))
        return Examples(states, before, self.beside, self.labels, self.counts)

    def batch(self, which: Sequence[int]) -> tuple[Tensor, ...]:
        own, before = _padded([self.states[place] for place in which]), _padded([self.before[place] for place in which])
        return (*own, *before, torch.from_numpy(self.beside[which]))

    def batches(self, which: Floats, order: np.random.Generator | None = None) -> Iterator[list[int]]:
        """In any order, each of about one length."""
        lengths = np.array([len(self.states[place]) for place in which], float)
        listed = which[np.argsort(lengths + (order.random(len(which)) * NEAR if order else 0))]
        found = [listed[at : at + BATCH].tolist() for at in range(0, len(listed), BATCH)]
        yield from (found[place] for place in (order.permutation(len(found)) if order else range(len(found))))


def _padded(texts: Sequence[Floats]) -> tuple[Tensor, Tensor]:
    """The tokens of each text, and a one for each."""
    length = max(1, min(MOST_TOKENS, max(map(len, texts))))
    tokens, mask = np.zeros((len(texts), length, texts[0].shape[1]), np.float32), np.zeros((len(texts), length, 1))
    for row, text in enumerate(texts):
        kept = text[:length]
        tokens[row, : len(kept)], mask[row, : len(kept)] = kept, 1
    return torch.from_numpy(tokens), torch.from_numpy(mask.astype(np.float32))


class Seen(nn.Module):
    """Tokens with their neighbours; of what is seen, the strongest and the mean."""

    def __init__(self, wide: int) -> None:
        super().__init__()
        self.token, self.around = nn.Linear(wide, WIDTH), nn.Linear(3 * WIDTH, WIDTH)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        if self.training:
            tokens = tokens * functional.dropout(torch.ones(len(tokens), 1, tokens.shape[2]), HIDDEN[0])
        seen = functional.relu(self.token(tokens)) * mask
        padded = functional.pad(seen, (0, 0, 1, 1))
        found = functional.relu(self.around(torch.cat([padded[:, :-2], seen, padded[:, 2:]], -1))) * mask
        return torch.cat([found.amax(1), found.sum(1) / mask.sum(1).clamp(min=1)], -1)


class Network(nn.Module):
    def __init__(self, wide: int, beside: int) -> None:
        super().__init__()
        self.own, self.before = Seen(wide), Seen(wide)
        self.pooled = nn.Linear(2 * WIDTH, len(LABELS))
        self.beside = nn.Linear(beside, len(LABELS), bias=False)
        self.both = nn.Linear(4 * WIDTH + len(NAMES), WIDTH)
        self.answer = nn.Linear(WIDTH, len(LABELS), bias=False)
        for last in (self.pooled, self.beside, self.answer):
            nn.init.zeros_(last.weight)

    def forward(self, tokens: Tensor, mask: Tensor, told: Tensor, told_mask: Tensor, beside: Tensor) -> Tensor:
        """The scores of the labels; where nothing was said before, by the sentence alone."""
        own = functional.dropout(self.own(tokens, mask), HIDDEN[1], self.training)
        beside = functional.dropout(beside, HIDDEN[2], self.training)
        before = functional.dropout(self.before(told, told_mask), HIDDEN[0], self.training)
        both = functional.relu(self.both(torch.cat([own, before, beside[:, : len(NAMES)]], -1)))
        answer = self.answer(functional.dropout(both, HIDDEN[0], self.training))
        return self.pooled(own) + self.beside(beside) + answer * (told_mask.sum(1) > 0)


def train(examples: Examples, which: Floats, seed: int = 0, epochs: int = EPOCHS) -> Network:
    """Adam with decay, slower and slower; each label counts by the root of how rare it is."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    order = np.random.default_rng(seed)
    labels, matter = torch.from_numpy(examples.labels), torch.from_numpy(examples.counts)
    counts = np.bincount(examples.labels[which], minlength=len(LABELS))
    rarity = torch.from_numpy(np.sqrt(len(which) / len(LABELS) / np.maximum(counts, 1)).astype(np.float32))
    network = Network(examples.states[0].shape[1], examples.beside.shape[1])
    way = torch.optim.AdamW(network.parameters(), RATE, betas=(0.9, 0.99), weight_decay=DECAY)
    steps = epochs * -(-len(which) // BATCH)
    slower = torch.optim.lr_scheduler.LambdaLR(way, lambda step: max(0.02, 1 - step / steps))
    for _ in range(epochs):
        for places in examples.batches(which, order):
            wanted = labels[places]
            missed = functional.cross_entropy(
                network(*examples.batch(places)), wanted, rarity, label_smoothing=SPREAD, reduction="none"
            )
            missed = (missed * matter[places]).sum() / (rarity[wanted] * matter[places]).sum()
            way.zero_grad()
            missed.backward()
            way.step()
            slower.step()
    return network.eval()


def chances(network: Network, examples: Examples, which: Floats) -> Floats:
    """How likely each label is, for each of `which`."""
    found = np.zeros((len(examples.labels), len(LABELS)), np.float32)
    with torch.no_grad():
        for places in examples.batches(which):
            found[places] = network(*examples.batch(places)).softmax(-1).numpy()
    return found[which]


def weights(network: Network, axes: Axes | None = None) -> dict[str, Floats]:
    """By the names that the classifier knows, for tokens as they are read; matrices stand inputs by outputs."""
    found = {
        name.removesuffix(".weight").replace(".bias", "_bias").replace(".", "_"): value.detach().numpy().T.copy()
        for name, value in network.named_parameters()
    }
    for name in ("own_token", "before_token") if axes else ():
        found[name] = axes.along @ found[name]
        found[f"{name}_bias"] = found[f"{name}_bias"] - axes.middle @ found[name]
    return found
