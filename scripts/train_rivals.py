"""Train what tells whether a statement leaves room for an older one, from scripts/pairs/, histories/ and talk/.

    PYTHONPATH=src:.:scripts python -m scripts.train_rivals --weights …/model.safetensors
    PYTHONPATH=src:.:scripts python -m scripts.train_rivals --weights …/model.safetensors \
        --met met-* --teacher …/all-mpnet-base-v2
    PYTHONPATH=src:.:scripts python -m scripts.train_rivals --weights …/model.safetensors --met met-*

The first writes src/acumen/llm/rivals.onnx, and into src/acumen/learn/rules/rivals.npz what the words of a pair count
for. With that network `gather_talk.py` gathers what meets in play. From this the second goes on: a larger network
learns it first (`teacher.py`), then the one that is shipped learns from it. The third goes on from what is shipped,
with the talk of new writers. All tell how well strangers are understood, whose talk is not learned from. The weights
are those that `build_model.py` fetches. Needs torch and onnx beside the project's own packages, here alone. The first
two take an hour of two cores each, the third a quarter.
"""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from minilm import weights as published_weights
from minilm.weights import LAYERS, Array, Weights

from acumen.learn.rules import rivals, voice
from acumen.learn.rules.framing import bare
from acumen.learn.rules.words import words
from acumen.llm.embed import load_embedder
from acumen.llm.rivalry import HALF, MODEL
from acumen.llm.vocabulary import load_vocabulary
from scripts import histories, talk
from scripts import rivals_network as network
from scripts.encoder import FRESH, Encoder
from scripts.restored import Shipped
from scripts.rivals_network import Examples, Network
from scripts.teacher import Teacher

PAIRS = Path(__file__).parent / "pairs"
SENTENCES = Path(__file__).parent / "reader"
# What `gather_pairs.py` has gathered.
MET = "conversations"
# What is paired by chance, and what repeats what is known, counts for less than what somebody has thought about.
BY_CHANCE = 0.7
# And what has met in conversations counts for more, being what is asked.
MET_COUNTS = 2.0
# Among so many old statements of the same writer, drawn by chance, the one is taken that comes nearest to a new one;
# but none that comes nearer than this to what the new one is about.
DRAWN = 30
ABOUT_THE_SAME = 0.6
# Every how manyth statement is held against itself, as it would be written down; every how manyth pair is turned round,
# or has another old statement beside its own.
REPEATED = 8
TURNED = 2
JOINED = 4
# What people say besides, and how many of it are held against what is known.
IDLE = frozenset({"task", "question", "chatter", "hypothetical", "reported"})
IDLE_TALK = 1500
# What is kept of people, and how many of it are held against what others say anew.
KEPT = frozenset({"fact", "instruction", "preference", "correction"})
KEPT_TALK = 2500
# Of what met in play, so much is learned from: of what nobody would have asked about and nothing ends, of the parts of
# memories; and of what was learned first so much is seen again. What no label tells of counts for half.
UNASKED, PARTS, AGAIN, AGAIN_BY_CHANCE, UNSURE = 0.1, 12_000, 5_000, 1_500, 0.5
# A teacher learns from such a share of what ends nothing, and is asked about so many pairs.
OF_THE_REST, TAUGHT = 0.35, 25_000
# What new writers' talk met counts so many times.
NEW_COUNTS = 1.5
STEPS = 500
RATE = 0.05
DECAY = 1e-3


T = TypeVar("T")


class Pair(NamedTuple):
    old: str
    new: str
    rival: bool
    file: str
    weight: float = 1.0


def read() -> list[Pair]:
    return [
        Pair(line["old"], line["new"], line["rival"], line["file"], MET_COUNTS if line["file"] == MET else 1.0)
        for line in _lines(PAIRS)
    ]


def met() -> list[Pair]:
    """What was told before, beside what was said then."""
    return [Pair(one.old, one.new, one.ends, one.writer) for one in histories.read()]


def talked() -> list[Pair]:
    """The same in whole conversations, those of strangers too."""
    return [
        Pair(one.old, one.new, one.ends, one.writer) for conversation in talk.read() for one in talk.pairs(conversation)
    ]


def lived(paths: Sequence[Path], pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """What met in play, with some of what was learned before it; and what strangers met."""
    order = np.random.default_rng(11)
    lines = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    strange = [_met(line) for line in lines if line["file"] in talk.STRANGERS and line["worth"] and not line["part"]]
    ours = [line for line in lines if line["file"] not in talk.STRANGERS]
    whole = [line for line in ours if not line["part"]]
    asked = [line for line in whole if line["worth"] or line["rival"] or order.random() < UNASKED]
    parts = _some([line for line in ours if line["part"]], PARTS, order)
    early = _some([*pairs, *met()], AGAIN, order)
    by_chance = _some(list(left_alone(pairs)), AGAIN_BY_CHANCE, order)
    return [*dict.fromkeys(map(_met, [*asked, *parts])), *early, *by_chance], strange


def _met(line: dict[str, Any]) -> Pair:
    weight = 1.0 if line["sure"] or line["rival"] else UNSURE
    return Pair(line["old"], line["new"], line["rival"], line["file"], weight)


def _some(those: Sequence[T], most: int, order: np.random.Generator) -> list[T]:
    return [those[place] for place in order.permutation(len(those))[:most]]


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [
        {**json.loads(line), "file": path.stem}
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def left_alone(rows: Sequence[Pair]) -> Iterator[Pair]:
    """New statements beside old ones that they have nothing to do with; and statements that are made again."""
    order = np.random.default_rng(3)
    written_by_hand = [row for row in rows if row.file != MET]
    for row in written_by_hand:
        other = rows[order.integers(len(rows))]
        if other.old != row.old:
            yield Pair(other.old, row.new, rival=False, file=row.file, weight=BY_CHANCE)
    yield from _near_misses(written_by_hand, order)
    for row in written_by_hand[::TURNED]:
        yield Pair(written(row.new), spoken(row.old), row.rival, row.file, BY_CHANCE)
    for row in written_by_hand[::JOINED]:
        both = order.permutation([row.old, rows[order.integers(len(rows))].old])
        yield Pair(" ".join(both), row.new, row.rival, row.file, BY_CHANCE)
    for row in rows[::REPEATED]:
        yield Pair(row.old, row.old, rival=False, file=row.file, weight=BY_CHANCE)
        yield Pair(written(row.new), row.new, rival=False, file=row.file, weight=BY_CHANCE)
    for text in order.permutation(_talk(IDLE))[:IDLE_TALK].tolist():
        other = rows[order.integers(len(rows))]
        yield Pair(other.old, text, rival=False, file=other.file, weight=BY_CHANCE)
    for text in order.permutation(_talk(KEPT))[:KEPT_TALK].tolist():
        other = rows[order.integers(len(rows))]
        yield Pair(written(text), other.new, rival=False, file=other.file, weight=BY_CHANCE)


def _near_misses(rows: Sequence[Pair], order: np.random.Generator) -> Iterator[Pair]:
    """Each new statement beside an old one of the same writer that sounds like it."""
    embed = load_embedder().embed
    old, new = embed([row.old for row in rows]), embed([written(row.new) for row in rows])
    files = np.array([row.file for row in rows])
    for place, row in enumerate(rows):
        drawn = order.permutation(np.flatnonzero(files == row.file))[:DRAWN]
        others = drawn[old[drawn] @ old[place] < ABOUT_THE_SAME]
        if len(others):
            nearest = rows[others[np.argmax(old[others] @ new[place])]]
            yield Pair(nearest.old, row.new, rival=False, file=row.file, weight=BY_CHANCE)


def _talk(labels: frozenset[str]) -> list[str]:
    return [one["text"] for one in _lines(SENTENCES) if one["label"] in labels and not one.get("before")]


def spoken(known: str) -> str:
    """As the user would say what is known of them, more or less."""
    said = known.replace("the user's", "my").replace("the user", "me").removesuffix(".")
    for ours, theirs in (
        (r"^User's ", "my "),
        (r"^User is ", "I'm "),
        (r"^User has ", "I have "),
        (r"^User (\w+?)s ", r"I \1 "),
    ):
        said = re.sub(ours, theirs, said)
    return said


def written(said: str) -> str:
    """Statements are compared as they are written down."""
    return voice.fact(bare(words(said)))


def examples(rows: Sequence[Pair]) -> Examples:
    """What the network is given of each pair."""
    vocabulary = load_vocabulary()
    ids = [(vocabulary.ids(row.old)[:HALF], vocabulary.ids(row.new)[1:HALF]) for row in rows]
    wanted = torch.tensor([float(row.rival) for row in rows])
    return Examples(ids, wanted, torch.tensor([row.weight for row in rows]))


def by_words(rows: Sequence[Pair]) -> tuple[Array, Array]:
    """What the classifier of words sees, without and with nearness."""
    vectors = load_embedder().embed([text for row in rows for text in (row.old, written(row.new))])
    near = (vectors[::2] * vectors[1::2]).sum(axis=1).tolist()
    seen = [(rivals.saying(row.old), rivals.saying(row.new)) for row in rows]
    told = np.stack([rivals.features(*one, cosine) for one, cosine in zip(seen, near, strict=True)])
    return np.stack([rivals.features(*one, None) for one in seen]), told


def fit(given: Array, rows: Sequence[Pair]) -> Array:
    """A logistic regression, by Adam."""
    wanted = _wanted(rows).astype(np.float32)
    counts = np.array([row.weight for row in rows], np.float32)
    weights = np.zeros(given.shape[1], np.float32)
    mean, spread = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = given.T @ (counts * (1 / (1 + np.exp(-given @ weights)) - wanted)) / counts.sum() + DECAY * weights
        mean, spread = 0.9 * mean + 0.1 * slope, 0.999 * spread + 0.001 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
    return weights


def _wanted(rows: Sequence[Pair]) -> Array:
    return np.array([row.rival for row in rows])


def tell(scores: Array, right: Array) -> None:
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores)] = np.arange(1, len(scores) + 1)
    many = right.sum()
    area = (ranks[right].sum() - many * (many + 1) / 2) / (many * (len(right) - many))
    told = scores > 0
    print(
        f"{len(right)} pairs, {many} rivals: area under the curve {area:.3f}, recall {told[right].mean():.3f}, "
        f"precision {right[told].mean():.3f}",
        flush=True,
    )


def first(published: Weights, pairs: Sequence[Pair]) -> tuple[Network, Examples, list[Pair]]:
    """From all that was written for it; answers with what it learned from and with what strangers say, too."""
    in_talk = talked()
    later = [row for row in in_talk if row.file not in talk.STRANGERS]
    rows = [*pairs, *met(), *left_alone(pairs), *later]
    words_alone, told = by_words(rows)
    np.savez(rivals.WEIGHTS, words=fit(words_alone, rows), near=fit(told, rows))
    seen = examples(rows)
    trained = network.train(published, seen, np.arange(len(rows)) >= len(rows) - len(later))
    return trained, seen, [row for row in in_talk if row.file in talk.STRANGERS]


def then(
    published: Weights, pairs: Sequence[Pair], paths: Sequence[Path], folder: Path
) -> tuple[Network, Examples, list[Pair]]:
    """From what met in play, of which a larger network learns what it is then asked about.

    Half-way between what it was and what it became it understands plain talk as before.
    """
    order = np.random.default_rng(2)
    rows, strange = lived(paths, pairs)
    teacher = Network(Teacher(folder))
    network.train_on(teacher, examples(list(_thinned(rows, order))), fresh=FRESH)
    tell(network.scores(teacher, examples(strange)), _wanted(strange))
    trained, seen = shipped(published), examples(_some(rows, TAUGHT, order))
    before = {name: value.clone() for name, value in trained.state_dict().items()}
    network.learn_from(teacher, trained, seen)
    return _half_way(trained, before), seen, strange


def last(published: Weights, pairs: Sequence[Pair], paths: Sequence[Path]) -> tuple[Network, Examples, list[Pair]]:
    """From what new writers' talk met in play, by its labels; the rest is told as the network tells it already, too."""
    order = np.random.default_rng(2)
    rows, strange = lived(paths, pairs)
    new = [row._replace(weight=NEW_COUNTS * row.weight) for row in rows if row.file in talk.NEWEST]
    known = _some([row for row in rows if row.file not in talk.NEWEST], TAUGHT, order)
    trained, seen = shipped(published), examples([*known, *new])
    tell(network.scores(trained, examples(strange)), _wanted(strange))
    before = {name: value.clone() for name, value in trained.state_dict().items()}
    network.go_on(trained, seen, len(known))
    return _half_way(trained, before), seen, strange


def _half_way(trained: Network, before: dict[str, torch.Tensor]) -> Network:
    trained.load_state_dict({name: (value + before[name]) / 2 for name, value in trained.state_dict().items()})
    return trained


def shipped(published: Weights) -> Network:
    """As it was shipped last."""
    restored = Network(Encoder(published, LAYERS))
    Shipped(MODEL).fill(restored, LAYERS, (restored.inner, restored.score))
    return restored.eval()


def _thinned(rows: Sequence[Pair], order: np.random.Generator) -> Iterator[Pair]:
    """All that ends something, and a share of the rest, which counts for all of it."""
    for row in rows:
        if row.rival:
            yield row
        elif order.random() < OF_THE_REST:
            yield row._replace(weight=row.weight / OF_THE_REST)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--met", type=Path, nargs="+", help="go on, with what gather_talk.py gathered")
    parser.add_argument("--teacher", type=Path, help="the folder of the larger network")
    asked = parser.parse_args()
    published, pairs = published_weights.read(asked.weights), read()
    if asked.teacher:
        trained, seen, strange = then(published, pairs, asked.met, asked.teacher)
    else:
        trained, seen, strange = last(published, pairs, asked.met) if asked.met else first(published, pairs)
    tell(network.scores(trained, examples(strange)), _wanted(strange))
    MODEL.write_bytes(network.int8_model(trained, published, seen))
    print(f"{len(seen.ids)} pairs, {MODEL.stat().st_size} bytes in {MODEL}")


if __name__ == "__main__":
    main()
