"""Train what tells what a sentence is, from the lines under scripts/reader/ and scripts/talk/.

    PYTHONPATH=src:.:scripts python -m scripts.train_reader --weights …/model.safetensors --teacher …/all-mpnet-base-v2
    PYTHONPATH=src:.:scripts python -m scripts.train_reader --weights …/model.safetensors

Writes src/acumen/llm/reader.onnx, and into src/acumen/learn/rules/reader.npz what words alone count for; tells how well
strangers are understood, whose talk nobody has learned from. First a larger network learns (`teacher.py`), then the one
that is shipped goes on learning from it and from the same talk; it begins as it was shipped last. Without a larger one
it is told what it thinks already, but for the talk of the newest writers, which counts by its labels alone.
The weights are those that `build_model.py` fetches. Needs torch and onnx beside the project's own packages, here alone:
a virtual environment of its own that sees the project's. Takes an hour of two cores, or a quarter.
"""

import argparse
import itertools
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from minilm import weights as published_weights

from acumen.learn.rules.classifier import (
    LABELS,
    LEARNABLE,
    WEIGHTS,
    Floats,
    cues,
    last_words,
    packed,
    shown,
    softmax,
)
from acumen.learn.rules.cues import surface
from acumen.llm.reading import MODEL, MOST_BEFORE, MOST_OF_ONE
from acumen.llm.vocabulary import MAX_TOKENS, Vocabulary, load_vocabulary
from scripts import reader_network as network
from scripts import talk
from scripts.encoder import Encoder, save
from scripts.reader_network import Example, Examples
from scripts.restored import Shipped
from scripts.teacher import Teacher

FOLDER = Path(__file__).parent / "reader"
# These wrote whole conversations, sentence after sentence, so that what is worth keeping stands among all else as in
# life: each of their sentences counts so many times.
CONVERSED = frozenset("coding finance health operations everyday languages makers offices".split())
COUNTS, COUNTS_LAST = 1.5, 3.0
# Most talk goes on after the agent said something, most lines stand alone: this share of them is put after words of it.
PUT_AFTER = 0.5
# Such a share of the sentences of longer turns are seen alone too, as many people say one thing at a time.
ALONE = 0.3
# Sentences that follow each other after the same words of the agent are of one turn, up to so many.
MOST_OF_A_TURN, MOST_OF_AN_OPENING = 8, 4
# So many turns are put together of short sentences that stand alone, with what people say around them.
PUT_TOGETHER = 14_000
SHORT = 16
TOGETHER = "together"
GREETINGS = (
    "hi",
    "Hi!",
    "hello",
    "Hello there.",
    "hey",
    "Good morning.",
    "good evening",
    "Thanks.",
    "ok",
    "Great.",
    "Sure.",
)
GOODBYES = ("thanks", "Thanks!", "bye", "cheers", "Thank you.", "ok")
OPENINGS = (
    "hi, ",
    "Hello, ",
    "hey, ",
    "Hi! ",
    "oh and ",
    "by the way, ",
    "btw ",
    "Also, ",
    "so ",
    "fyi ",
    "ok, ",
    "well, ",
)
ASIDES = (", by the way", ", thanks", " btw", ", just so you know", " actually")
STEPS = 400
RATE = 0.05
DECAY = 2e-3


class Line(NamedTuple):
    text: str
    label: str
    before: str
    file: str
    domain: str = ""

    @property
    def counts(self) -> float:
        if self.file in talk.NEWEST:
            return COUNTS_LAST
        return COUNTS if self.file in CONVERSED or self.file in TALKERS else 1.0


TALKERS = frozenset(path.stem for path in talk.FOLDER.glob("*.jsonl"))
Turn = tuple[Line, ...]


def read() -> list[Turn]:
    """The turns, each once."""
    return list(dict.fromkeys([*_turns(_lines()), *_talked()]))


def _lines() -> Iterator[Line]:
    for path in sorted(FOLDER.glob("*.jsonl")):
        for line in filter(str.strip, path.read_text(encoding="utf-8").splitlines()):
            one = json.loads(line)
            yield Line(one["text"], one["label"], one.get("before") or "", path.stem, one.get("domain") or "")


def _turns(lines: Iterator[Line]) -> Iterator[Turn]:
    turn: list[Line] = []
    for line in lines:
        most = MOST_OF_A_TURN if line.before else MOST_OF_AN_OPENING
        of_it = turn and turn[-1][2:] == line[2:] and line.file in CONVERSED and len(turn) < most
        if turn and not of_it:
            yield tuple(turn)
            turn = []
        turn.append(line)
    yield tuple(turn)


def _talked() -> Iterator[Turn]:
    for conversation in talk.read():
        for turn in conversation.turns:
            yield tuple(Line(one.text, one.label, turn.before, conversation.writer) for one in turn.sentences)


def in_other_places(turns: Sequence[Turn]) -> Iterator[Turn]:
    """Some that stand alone come after what the agent said to somebody else, some of longer turns come alone too."""
    chance = np.random.default_rng(5)
    single = [turn for turn in turns if turn[0].counts == 1]
    spoken = [turn[0].before for turn in single if turn[0].before.rstrip().endswith((".", "!"))]
    for turn in turns:
        one = turn[0]
        opens = len(turn) == 1 and not one.before and one.counts == 1
        after = opens and chance.random() < PUT_AFTER
        yield (one._replace(before=spoken[chance.integers(len(spoken))]),) if after else turn
        yield from ((line,) for line in turn if len(turn) > 1 and chance.random() < ALONE)


def put_together(lines: Sequence[Line]) -> Iterator[Turn]:
    """What is worth keeping among greetings and requests, which whoever thinks of sentences leaves out."""
    chance = random.Random(7)  # noqa: S311 - nobody's secret
    spoken = [line.before for line in lines if line.before.rstrip().endswith((".", "!"))]
    alone = [line for line in lines if not line.before and len(line.text.split()) <= SHORT]
    kept = [line for line in alone if line.label in ("fact", "preference", "instruction")]
    idle = [line for line in alone if line.label in ("chatter", "question", "task")]

    def greeting(which: Sequence[str]) -> Line:
        return Line(chance.choice(which), "chatter", "", "")

    for _ in range(PUT_TOGETHER):
        turn = [greeting(GREETINGS)] if chance.random() < 0.55 else []
        turn += [chance.choice(idle)] if chance.random() < 0.15 else []
        turn += [_in_passing(chance.choice(kept), chance) for often in (0.75, 0.2) if chance.random() < often]
        turn += [chance.choice(idle)] if chance.random() < 0.5 or not turn else []
        turn += [greeting(GOODBYES)] if chance.random() < 0.2 else []
        before = chance.choice(spoken) if chance.random() < 0.3 else ""
        yield tuple(line._replace(before=before, file=TOGETHER, domain="") for line in turn)


def _in_passing(line: Line, chance: random.Random) -> Line:
    """'I work as a nurse.', 'Hello, I work as a nurse.', 'I work as a nurse, by the way.'."""
    text, drawn = line.text, chance.random()
    if drawn < 0.25:
        own = text.startswith(("I ", "I'")) or text[:2].isupper()
        text = chance.choice(OPENINGS) + (text if own else text[:1].lower() + text[1:])
    elif drawn < 0.35 and text.endswith((".", "!")):
        text = text[:-1] + chance.choice(ASIDES) + text[-1]
    return line._replace(text=text)


def example(turn: Turn, vocabulary: Vocabulary) -> Example:
    """As `llm/reading.py` puts it together."""
    first, last = vocabulary.ends
    before = last_words(turn[0].before)
    ids = vocabulary.ids(before)[:MOST_BEFORE] if before else [first]
    sentence_of = [-1] * len(ids)
    read = 0
    for number, line in enumerate(turn):
        own = vocabulary.ids(line.text)[1:-1][:MOST_OF_ONE] or [last]
        if len(ids) + len(own) >= MAX_TOKENS:
            break
        ids, sentence_of, read = [*ids, *own], [*sentence_of, *itertools.repeat(number, len(own))], number + 1
    return Example(
        [*ids, last],
        [*sentence_of, -1],
        np.stack([cues(surface(line.text, line.before)) for line in turn[:read]]),
        np.array([LABELS.index(line.label) for line in turn[:read]]),
        np.array([line.counts for line in turn[:read]], np.float32),
        taught=turn[0].file not in talk.NEWEST,
    )


def fit(turns: Sequence[Turn]) -> Floats:
    """By words alone: Adam on the cross-entropy; each label counts by the root of how rare it is."""
    lines = [line for turn in turns for line in turn]
    given = np.stack([np.append(shown(surface(line.text, line.before)), 1.0) for line in lines]).astype(np.float32)
    wanted = np.eye(len(LABELS), dtype=np.float32)[[LABELS.index(line.label) for line in lines]]
    counts = np.array([line.counts for line in lines], np.float32)
    rarity = (wanted / np.maximum(wanted.sum(axis=0), 1)).sum(axis=1) * len(wanted) / wanted.shape[1]
    matter = (np.sqrt(rarity) * counts / counts.mean())[:, None]
    weights = np.zeros((given.shape[1], wanted.shape[1]), np.float32)
    mean, spread = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = given.T @ ((softmax(given @ weights) - wanted) * matter) / len(given) + DECAY * weights
        mean = 0.9 * mean + 0.1 * slope
        spread = 0.999 * spread + 0.001 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
    return weights


def tell(chances: Floats, labels: Floats) -> None:
    right = chances.argmax(axis=1) == labels
    kept = chances[:, : len(LEARNABLE)].sum(axis=1) > 0.5
    worth = labels < len(LEARNABLE)
    print(f"{len(labels)} sentences: label right {right.mean():.3f}; worth keeping or not {(kept == worth).mean():.3f}")
    for place, label in enumerate(LABELS):
        those, told = labels == place, chances.argmax(axis=1) == place
        print(f"  {label:13} recall {right[those].mean():.2f}  precision {right[told].mean():.2f}  of {those.sum()}")


def larger(folder: Path, examples: Examples) -> network.Network:
    teacher = network.Network(Teacher(folder))
    network.train(teacher, examples, rate=network.TEACHER_RATE)
    return teacher


def shipped(published: published_weights.Weights) -> network.Network:
    """As it was shipped last."""
    restored = network.Network(Encoder(published, network.LAYERS))
    Shipped(MODEL).fill(restored, network.LAYERS, (restored.inner, restored.label))
    return restored.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, help="the folder of the larger network")
    parser.add_argument("--state", type=Path, help="also write what was learned here, for torch")
    asked = parser.parse_args()
    turns, vocabulary = read(), load_vocabulary()
    ours = [turn for turn in turns if turn[0].file not in talk.STRANGERS]
    learned = [*in_other_places(ours), *put_together([turn[0] for turn in ours if len(turn) == 1])]
    examples = Examples([example(turn, vocabulary) for turn in learned])
    published = published_weights.read(asked.weights)
    strangers = Examples([example(turn, vocabulary) for turn in turns if turn[0].file in talk.STRANGERS])
    teacher = larger(asked.teacher, examples) if asked.teacher else shipped(published)
    tell(network.chances(teacher, strangers), strangers.labels)
    trained = shipped(published)
    network.learn_from(teacher, trained, examples)
    if asked.state:
        save(trained, asked.state)
    tell(network.chances(trained, strangers), strangers.labels)
    weights = fit(learned)
    words, scale = packed(weights[:-1])
    np.savez_compressed(WEIGHTS, words=words, words_scale=scale, words_bias=weights[-1])
    MODEL.write_bytes(network.int8_model(trained, published, examples))
    print(f"{len(examples.labels)} sentences, {MODEL.stat().st_size} bytes in {MODEL}")


if __name__ == "__main__":
    main()
