"""Lessons that say the same come together; whatever the input, the result is a sound partition."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acumen.learn.share.cluster import Point, clusters, same_rule
from acumen.learn.share.stance import opposed, stance
from acumen.llm.embed import Embedder


@pytest.fixture(scope="module")
def embed(embedder: Embedder):
    def points(*lessons: str, trigger: str | None = None, meaning: bool = True) -> list[Point]:
        texts = [f"{trigger}\n{lesson}" if trigger else lesson for lesson in lessons]
        vectors = embedder.embed(texts) if meaning else [None] * len(lessons)
        return [
            Point(f"{number:03}", stance(lesson, trigger), vector)
            for number, (lesson, vector) in enumerate(zip(lessons, vectors, strict=True))
        ]

    return points


def keys(parts: Sequence[Sequence[Point]]) -> set[tuple[str, ...]]:
    return {tuple(point.key for point in part) for part in parts}


def test_paraphrases_come_together(embed):
    points = embed(
        "Always run the tests before committing.",
        "Run the test suite before you commit anything.",
        "Never commit without running the tests first.",
    )

    assert keys(clusters(points)) == {("000", "001", "002")}


def test_opposites_stay_apart_however_alike_they_sound(embed):
    points = embed("Always use emojis in replies.", "Never use emojis in replies.", "Use emojis in all replies.")

    assert keys(clusters(points)) == {("000", "002"), ("001",)}


def test_other_rules_on_the_same_topic_stay_apart(embed):
    points = embed(
        "Take a backup before running a database migration.",
        "Run database migrations only at night.",
        "Always back up the database before a migration.",
        "Migrations must run at night.",
        trigger="running a migration",
    )

    found = keys(clusters(points))

    assert not any({"000", "001"} <= set(part) or {"002", "003"} <= set(part) for part in found)


def test_another_value_is_another_rule(embed):
    points = embed("Deploy production to us-west-2.", "Deploy production to eu-central-1.", "Deploy prod to us-west-2.")

    assert keys(clusters(points)) == {("000", "002"), ("001",)}


def test_without_vectors_words_decide(embed):
    points = embed("Run the tests before committing.", "Before committing, run the tests.", "Answer.", meaning=False)

    assert keys(clusters(points)) == {("000", "001"), ("002",)}


def test_one_with_a_vector_and_one_without_are_compared_by_words(embed):
    (with_vector,) = embed("Run the tests before committing.")
    (without,) = embed("Before committing, run all the tests.", meaning=False)

    assert same_rule(with_vector, without)
    assert keys(clusters([with_vector, Point("9", without.stance)])) == {("000", "9")}


def test_a_stricter_line_keeps_more_apart(embed):
    points = embed("Always run the tests before committing.", "Tests must be run before each commit.")

    assert len(clusters(points, least=0.4)) == 1
    assert len(clusters(points, least=0.999)) == 2


def test_many_copies_of_one_text_do_not_hide_its_paraphrase(embed):
    same = embed("Always run the tests before committing.")[0]
    copies = [Point(f"copy-{number}", same.stance, same.vector) for number in range(100)]
    (other,) = embed("Run the test suite before you commit anything.")

    (part,) = clusters([*copies, Point("other", other.stance, other.vector)])

    assert len(part) == 101


def test_nothing_makes_no_cluster():
    assert clusters([]) == []


def test_a_vector_without_direction_does_no_harm():
    zero = np.zeros(4, np.float32)

    assert len(clusters([Point("a", stance("Run."), zero), Point("b", stance("Walk."), zero)])) == 2


ORDERS = (
    "Always use {}.",
    "Never use {}.",
    "Use {} before lunch.",
    "Do not use {} for that.",
    "Please use {}, not tea.",
    "Leave out {}.",
)
THINGS = ("emojis", "us-west-2", "us-east-1", "German", "French", "three retries", "five retries", "bullet points", "")


@st.composite
def some_points(draw: st.DrawFn) -> list[Point]:
    count = draw(st.integers(0, 25))
    numbers = np.random.default_rng(draw(st.integers(0, 10_000)))
    made = []
    for place in range(count):
        text = draw(st.sampled_from(ORDERS)).format(draw(st.sampled_from(THINGS)))
        vector = numbers.normal(size=6).astype(np.float32) + 1
        known = draw(st.booleans()) or draw(st.booleans())
        made.append(Point(f"{place:03}", stance(text), vector / np.linalg.norm(vector) if known else None))
    return made


@settings(max_examples=150)
@given(points=some_points(), order=st.randoms(use_true_random=False))
def test_any_lessons_are_parted_soundly(points: list[Point], order):
    found = clusters(points)
    mixed = list(points)
    order.shuffle(mixed)

    assert sorted(point.key for part in found for point in part) == sorted(point.key for point in points)
    assert keys(clusters(mixed)) == keys(found)
    for part in found:
        assert not any(opposed(one.stance, other.stance) for one in part for other in part if one is not other)
