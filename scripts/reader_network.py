"""The network that tells what a sentence is, as it is trained: tokens seen with their neighbours, pooled, then weighed.

Needs jax, which nothing else does: `uv run --with jax …`. `classifier.py` does the same sums with numpy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from acumen.learn.rules.classifier import LABELS, Floats

Params = dict[str, jax.Array]

WIDTH = 64
EPOCHS = 14
BATCH = 128
RATE = 4e-3
DECAY = 1e-2
# Shares of the tokens' numbers, of what is pooled and of what is weighed as it stands that are hidden while training.
HIDDEN = (0.3, 0.5, 0.3)
# So much of each label is spread over all, as some sentences are two things at once.
SPREAD = 0.05
# Sentences run together with others of like length, padded to one of these.
LENGTHS = (8, 12, 16, 24, 40, 64)


@dataclass(frozen=True, slots=True)
class Examples:
    """What the network is given of each sentence, and its label as ones and zeros."""

    states: Sequence[Floats]
    beside: Floats
    wanted: Floats

    def batch(self, which: Sequence[int], length: int) -> tuple[Floats, Floats]:
        tokens = np.zeros((len(which), length, self.states[0].shape[1]), np.float32)
        mask = np.zeros((len(which), length, 1), np.float32)
        for row, place in enumerate(which):
            states = self.states[place][:length]
            tokens[row, : len(states)], mask[row, : len(states)] = states, 1
        return tokens, mask

    def batches(self, which: Floats, order: np.random.Generator) -> Iterator[tuple[list[int], int]]:
        """In any order, each of one length."""
        fits = np.searchsorted(LENGTHS, [min(len(self.states[place]), LENGTHS[-1]) for place in which])
        found = []
        for fit in range(len(LENGTHS)):
            those = order.permutation(which[fits == fit])
            found += [(those[at : at + BATCH].tolist(), LENGTHS[fit]) for at in range(0, len(those), BATCH)]
        for place in order.permutation(len(found)):
            yield found[place]


def train(examples: Examples, which: Floats, seed: int = 0) -> dict[str, Floats]:
    """Adam with decay, slower and slower; each label counts by the root of how rare it is."""
    order, key = np.random.default_rng(seed), jax.random.PRNGKey(seed)
    rarity = np.sqrt(len(examples.wanted) / len(LABELS) / np.maximum(examples.wanted.sum(axis=0), 1))
    params = _fresh(examples, key)
    mean = spread = jax.tree.map(jnp.zeros_like, params)
    steps, step = EPOCHS * (len(which) // BATCH + len(LENGTHS) // 2), 0
    for _ in range(EPOCHS):
        for places, length in examples.batches(which, order):
            step += 1
            # Always as many rows, so that it is compiled once for each length; rows that repeat count nothing.
            rows = [*places, *[places[0]] * (BATCH - len(places))]
            weight = (examples.wanted[rows] @ rarity) * (np.arange(BATCH) < len(places))
            given = (*examples.batch(rows, length), examples.beside[rows], examples.wanted[rows], weight)
            key, now = jax.random.split(key)
            rate = RATE * max(0.02, 1 - step / steps)
            params, mean, spread = _step(params, mean, spread, float(step), rate, given, now)
    return {name: np.asarray(value) for name, value in params.items()}


def chances(params: dict[str, Floats], examples: Examples, which: Floats) -> Floats:
    """How likely each label is, for each of `which`."""
    found = {}
    for places, length in examples.batches(which, np.random.default_rng(0)):
        rows = [*places, *[places[0]] * (BATCH - len(places))]
        scores = _scores(params, *examples.batch(rows, length), examples.beside[rows], None)
        found |= dict(zip(places, np.asarray(jax.nn.softmax(scores)), strict=False))
    return np.stack([found[place] for place in which.tolist()])


def _fresh(examples: Examples, key: jax.Array) -> Params:
    def random(key: jax.Array, wide: int) -> jax.Array:
        return jax.random.normal(key, (wide, WIDTH)) * wide**-0.5

    first, second = jax.random.split(key)
    return {
        "token": random(first, examples.states[0].shape[1]),
        "token_bias": jnp.zeros(WIDTH),
        "around": random(second, 3 * WIDTH),
        "around_bias": jnp.zeros(WIDTH),
        "pooled": jnp.zeros((2 * WIDTH, len(LABELS))),
        "beside": jnp.zeros((examples.beside.shape[1], len(LABELS))),
        "bias": jnp.zeros(len(LABELS)),
    }


def _hide(values: jax.Array, share: float, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    return values * jax.random.bernoulli(key, 1 - share, shape) / (1 - share)


@jax.jit
def _scores(params: Params, tokens: jax.Array, mask: jax.Array, beside: jax.Array, key: jax.Array | None) -> jax.Array:
    keys = None if key is None else jax.random.split(key, 3)
    if keys is not None:
        tokens = _hide(tokens, HIDDEN[0], keys[0], (tokens.shape[0], 1, tokens.shape[2]))
    seen = jax.nn.relu(tokens @ params["token"] + params["token_bias"]) * mask
    padded = jnp.pad(seen, ((0, 0), (1, 1), (0, 0)))
    around = jnp.concatenate([padded[:, :-2], seen, padded[:, 2:]], axis=-1)
    found = jax.nn.relu(around @ params["around"] + params["around_bias"]) * mask
    pooled = jnp.concatenate([found.max(axis=1), found.sum(axis=1) / mask.sum(axis=1)], axis=-1)
    if keys is not None:
        pooled = _hide(pooled, HIDDEN[1], keys[1], pooled.shape)
        beside = _hide(beside, HIDDEN[2], keys[2], beside.shape)
    return pooled @ params["pooled"] + beside @ params["beside"] + params["bias"]


def _loss(params: Params, given: tuple[jax.Array, ...], key: jax.Array) -> jax.Array:
    tokens, mask, beside, wanted, weight = given
    told = jax.nn.log_softmax(_scores(params, tokens, mask, beside, key))
    missed = -((wanted * (1 - SPREAD) + SPREAD / len(LABELS)) * told).sum(axis=1)
    return (weight * missed).sum() / weight.sum()


@jax.jit
def _step(
    params: Params, mean: Params, spread: Params, step: float, rate: float, given: tuple[jax.Array, ...], key: jax.Array
) -> tuple[Params, Params, Params]:
    slope = jax.grad(_loss)(params, given, key)
    mean = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, mean, slope)
    spread = jax.tree.map(lambda old, new: 0.99 * old + 0.01 * new**2, spread, slope)

    def moved(old: jax.Array, mean: jax.Array, spread: jax.Array) -> jax.Array:
        way = (mean / (1 - 0.9**step)) / (jnp.sqrt(spread / (1 - 0.99**step)) + 1e-8)
        return old * (1 - rate * DECAY) - rate * way

    return jax.tree.map(moved, params, mean, spread), mean, spread
