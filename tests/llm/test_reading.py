"""A turn is read at once: what each sentence is, in the light of the others and of what was said before."""

from pathlib import Path

import numpy as np
import pytest

from acumen.errors import ModelMissing
from acumen.learn.rules.classifier import LABELS, LEARNABLE, Floats, cues
from acumen.learn.rules.cues import surface
from acumen.llm import reading
from acumen.llm.reading import Reader, Spoken, load_reader
from acumen.llm.vocabulary import MAX_TOKENS, load_vocabulary


@pytest.fixture(scope="module")
def reader() -> Reader:
    return load_reader(load_vocabulary())


def turn(*sentences: str, before: str = "") -> Spoken:
    return Spoken(before, sentences, np.stack([cues(surface(one, before)) for one in sentences]))


def worth(row: Floats) -> float:
    return float(row[: len(LEARNABLE)].sum())


def test_each_sentence_of_a_turn_has_a_chance_for_every_label(reader: Reader):
    (told,) = reader.chances([turn("My dog is called Rex.", "What should he eat?", "Thanks!")])

    assert told.shape == (3, len(LABELS))
    assert told.sum(axis=1) == pytest.approx(1, abs=1e-4)
    assert [LABELS[place] for place in told.argmax(axis=1)] == ["fact", "question", "chatter"]


def test_a_turn_is_read_alike_alone_and_among_others(reader: Reader):
    turns = [turn("I moved to Oslo."), turn("Thursday", before="Which day suits you?"), turn("ok", "never mind")]

    together = reader.chances(turns)

    alone = [reader.chances([one])[0] for one in turns]
    assert all(np.allclose(one, other, atol=0.02) for one, other in zip(together, alone, strict=True))


def test_what_the_agent_had_said_tells_an_answer_from_an_aside(reader: Reader):
    asked, unasked = reader.chances([turn("75", before="What's your hourly rate?"), turn("75", before="Done, sent.")])

    assert worth(asked[0]) > worth(unasked[0])


def test_of_a_turn_too_long_for_one_run_every_sentence_is_read(reader: Reader):
    many = [f"We keep the spare key number {place} in the blue box by the back door." for place in range(40)]

    (told,) = reader.chances([turn(*many, before="Where are the keys?")])

    assert len(told) == len(many)
    assert sum(len(load_vocabulary().ids(one)) for one in many) > MAX_TOKENS


def test_a_damaged_file_is_a_reason_and_not_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    damaged = tmp_path / "reader.onnx"
    damaged.write_bytes(reading.MODEL.read_bytes()[:1000])
    monkeypatch.setattr(reading, "MODEL", damaged)

    with pytest.raises(ModelMissing, match="reads sentences is damaged"):
        load_reader(load_vocabulary())
