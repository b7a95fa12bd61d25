"""The vectors are the published model's, whatever company a text is in."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from acumen.errors import ModelMissing
from acumen.llm.embedding import Embedder, Vectors, load_embedder
from acumen.llm.vocabulary import MODEL_DIRECTORY

ROOT = Path(__file__).parents[2]
SAMPLE: list[str] = json.loads((ROOT / "scripts" / "minilm" / "sample.json").read_text(encoding="utf-8"))
# Made by a plain numpy pass over the unrounded weights: `python scripts/build_model.py --reference …`.
REFERENCE: Vectors = np.load(Path(__file__).with_name("reference.npy"))

LONG = "We walked along the shore until the lamps came on. " * 60


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_embedder()


def cosine(one: Vectors, other: Vectors) -> float:
    return float(one @ other)


# ----------------------------------------------------------------------------------------------- what the vectors mean


def test_vectors_agree_with_the_model_at_full_precision(embedder: Embedder) -> None:
    vectors = embedder.embed(SAMPLE)

    cosines = (vectors * REFERENCE).sum(axis=1)
    assert len(REFERENCE) == len(SAMPLE) >= 30
    assert cosines.min() >= 0.98, SAMPLE[int(cosines.argmin())]
    assert cosines.mean() >= 0.995


def test_similarities_are_those_that_the_authors_publish(embedder: Embedder) -> None:
    weather, sun, stadium = embedder.embed(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )

    assert cosine(weather, sun) == pytest.approx(0.6660, abs=0.02)
    assert cosine(weather, stadium) == pytest.approx(0.1046, abs=0.02)
    assert cosine(sun, stadium) == pytest.approx(0.1411, abs=0.02)


@pytest.mark.parametrize(
    "text,like,unlike",
    [
        ("I adopted a puppy.", "She brought home a young dog.", "The central bank left its rate unchanged."),
        ("How do I get my money back?", "refund policy", "opening hours of the museum"),
        ("My flight was cancelled.", "The airline called off the trip.", "I baked bread on Sunday."),
        ("The server ran out of memory.", "OOMKilled: container exceeded its limit", "We planted tulips."),
    ],
)
def test_like_meanings_are_closer_than_unlike_ones(embedder: Embedder, text: str, like: str, unlike: str) -> None:
    vector, near, far = embedder.embed([text, like, unlike])

    assert cosine(vector, near) > cosine(vector, far) + 0.15


# ------------------------------------------------------------------------------------------------- order and company


def test_a_text_has_the_same_vector_alone_and_in_any_company(embedder: Embedder) -> None:
    alone = np.stack([embedder.embed([text])[0] for text in SAMPLE])

    mixed = embedder.embed([*SAMPLE, LONG, "?", *reversed(SAMPLE)])[: len(SAMPLE)]

    assert (alone * mixed).sum(axis=1).min() > 0.9999


def test_rows_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    forwards = embedder.embed(SAMPLE)

    backwards = embedder.embed(SAMPLE[::-1])

    assert np.allclose(forwards, backwards[::-1], atol=1e-4)


def test_many_threads_get_what_one_gets(embedder: Embedder) -> None:
    expected = embedder.embed(SAMPLE)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: embedder.embed(SAMPLE), range(6)))

    assert all(np.allclose(answer, expected, atol=1e-4) for answer in answers)


# --------------------------------------------------------------------------------------------------------- odd texts


@pytest.mark.parametrize(
    "text",
    ["", " ", "\n\t\r", "\x00\x1f", "🔥", "👩‍💻" * 50, "[PAD] [SEP]", "é" * 3, "x" * 5000, LONG, "\ud83d", "a\udc00b"],
)
def test_any_text_has_a_vector_of_length_one(embedder: Embedder, text: str) -> None:
    vector = embedder.embed([text])[0]

    assert vector.dtype == np.float32
    assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-4)


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    vectors = embedder.embed([])

    assert vectors.shape == (0, embedder.dims)


def test_a_long_text_is_read_up_to_256_tokens(embedder: Embedder) -> None:
    beginning = "harbour " * 254

    cut, tail, early = embedder.embed([beginning, beginning + "quarterly tax report", "tax " + beginning])

    assert np.allclose(cut, tail, atol=1e-4)
    assert cosine(cut, early) < 0.9999


def test_a_book_costs_no_more_than_its_first_page(embedder: Embedder) -> None:
    page = "The ferry left before sunrise and nobody waved. " * 400

    of_page, of_book = embedder.embed([page, page * 500])

    assert np.allclose(of_page, of_book, atol=1e-4)


# -------------------------------------------------------------------------------------------------- repeated queries


def test_a_repeated_query_is_remembered(embedder: Embedder) -> None:
    first = embedder.embed_one("where is the key?")

    again = embedder.embed_one("where is the key?")

    assert again is first
    assert np.allclose(first, embedder.embed(["where is the key?"])[0], atol=1e-4)


def test_a_remembered_vector_cannot_be_changed_by_who_asked_first(embedder: Embedder) -> None:
    vector = embedder.embed_one("what was the plan?")

    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 7.0


# ----------------------------------------------------------------------------------------------------------- loading


def test_importing_loads_no_model_and_no_runtime() -> None:
    program = (
        "import sys, acumen.llm.embedding, acumen.llm.tokens; print({'onnxruntime', 'splintr'} & set(sys.modules))"
    )

    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert finished.stdout.strip() == "set()"


FILES = ("model.onnx", "tokens.npy", "tokenizer.json")


@pytest.mark.parametrize("missing", FILES)
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    for name in {*FILES} - {missing}:
        (tmp_path / name).write_bytes((MODEL_DIRECTORY / name).read_bytes())

    with pytest.raises(ModelMissing, match=rf"not installed: {missing} missing"):
        load_embedder(tmp_path)


@pytest.mark.parametrize("damaged", FILES)
def test_a_damaged_file_is_a_reason_and_not_a_crash(tmp_path: Path, damaged: str) -> None:
    for name in FILES:
        content = (MODEL_DIRECTORY / name).read_bytes()
        (tmp_path / name).write_bytes(content[:1000] if name == damaged else content)

    with pytest.raises(ModelMissing, match="damaged"):
        load_embedder(tmp_path)


def test_the_library_neither_marks_this_machine_nor_reports_to_its_maker(tmp_path: Path):
    """Its own telemetry would leave a device id and a queue of events in the home folder."""
    embeds = "from acumen.llm.embedding import load_embedder; load_embedder().embed(['x'])"
    environ = {**os.environ, "HOME": str(tmp_path)}
    environ.pop("ORT_DISABLE_TELEMETRY", None)

    subprocess.run([sys.executable, "-c", embeds], env=environ, check=True)

    assert list(tmp_path.rglob("*")) == []
