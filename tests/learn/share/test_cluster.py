"""Lessons that say the same come together; whatever the input, the result is a sound partition."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acumen.learn.share.cluster import LessonIndex, regroup
from acumen.learn.share.stance import Stance, Vector, opposed, same_rule, stance
from acumen.llm.embedding import Embedder
from acumen.model.ids import PlaybookId
from acumen.model.memories.playbook import Lesson


class Point(NamedTuple):
    lesson: Lesson
    vector: Vector | None = None

    @property
    def stance(self) -> Stance:
        return stance(self.lesson.content, self.lesson.trigger)


@pytest.fixture(scope="module")
def embed(embedder: Embedder):
    def points(*lessons: str, trigger: str | None = None, meaning: bool = True) -> list[Point]:
        texts = [f"{trigger}\n{lesson}" if trigger else lesson for lesson in lessons]
        vectors = embedder.embed(texts) if meaning else [None] * len(lessons)
        return [Point(Lesson(lesson, trigger), vector) for lesson, vector in zip(lessons, vectors, strict=True)]

    return points


def groups(points: Sequence[Point], min_cosine: float | None = None) -> set[tuple[int, ...]]:
    """Places of the points that came together."""
    width = next((len(point.vector) for point in points if point.vector is not None), 1)
    rows = [np.zeros(width) if point.vector is None else point.vector for point in points]
    vectors = np.array(rows, np.float32).reshape(len(points), width)
    ids = [PlaybookId(place) for place in range(len(points))]
    index = LessonIndex(ids, vectors, [True] * len(points))
    return set(regroup(index, (), lambda read: [points[place].lesson for place in read], min_cosine))


def test_paraphrases_come_together(embed):
    points = embed(
        "Always run the tests before committing.",
        "Run the test suite before you commit anything.",
        "Never commit without running the tests first.",
    )

    assert groups(points) == {(0, 1, 2)}


def test_opposites_stay_apart_however_alike_they_sound(embed):
    points = embed("Always use emojis in replies.", "Never use emojis in replies.", "Use emojis in all replies.")

    assert groups(points) == {(0, 2), (1,)}


def test_other_rules_on_the_same_topic_stay_apart(embed):
    points = embed(
        "Take a backup before running a database migration.",
        "Run database migrations only at night.",
        "Always back up the database before a migration.",
        "Migrations must run at night.",
        trigger="running a migration",
    )

    assert not any({0, 1} <= set(part) or {2, 3} <= set(part) for part in groups(points))


def test_another_value_is_another_rule(embed):
    points = embed("Deploy production to us-west-2.", "Deploy production to eu-central-1.", "Deploy prod to us-west-2.")

    assert groups(points) == {(0, 2), (1,)}


def test_without_vectors_words_decide(embed):
    first, same, other = embed(
        "Run the tests before committing.", "Before committing, run the tests.", "Answer in German.", meaning=False
    )
    (with_vector,) = embed("Run all the tests before committing.")

    assert same_rule(first.stance, None, same.stance, None)
    assert same_rule(with_vector.stance, with_vector.vector, same.stance, None)
    assert not same_rule(first.stance, None, other.stance, None)


def test_a_lesson_without_a_vector_waits_until_it_has_one(embed):
    (known,) = embed("Run the tests before committing.")

    assert groups([known, Point(known.lesson), known]) == {(0, 2), (1,)}


def test_a_stricter_line_keeps_more_apart(embed):
    points = embed("Always run the tests before committing.", "Tests must be run before each commit.")

    assert len(groups(points, min_cosine=0.4)) == 1
    assert len(groups(points, min_cosine=0.999)) == 2


def test_many_copies_of_one_text_do_not_hide_its_paraphrase(embed):
    same = embed("Always run the tests before committing.")[0]
    (other,) = embed("Run the test suite before you commit anything.")

    assert groups([same] * 100 + [other]) == {tuple(range(101))}


def test_nothing_makes_no_cluster():
    assert groups([]) == set()


def test_a_vector_without_direction_does_no_harm():
    zero = np.zeros(4, np.float32)

    assert len(groups([Point(Lesson("Run."), zero), Point(Lesson("Walk."), zero)])) == 2


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
    for _ in range(count):
        text = draw(st.sampled_from(ORDERS)).format(draw(st.sampled_from(THINGS)))
        vector = numbers.normal(size=6).astype(np.float32) + 1
        known = draw(st.booleans()) or draw(st.booleans())
        made.append(Point(Lesson(text), vector / np.linalg.norm(vector) if known else None))
    return made


@settings(max_examples=150)
@given(points=some_points(), order=st.randoms(use_true_random=False))
def test_any_lessons_are_parted_soundly(points: list[Point], order):
    """Whichever lesson comes first: every lesson is in one group, and no group holds two that are opposed."""
    mixed = list(range(len(points)))
    order.shuffle(mixed)

    for ordered in (points, [points[place] for place in mixed]):
        parts = groups(ordered)
        assert sorted(row for part in parts for row in part) == list(range(len(points)))
        for part in parts:
            stances = [ordered[row].stance for row in part]
            assert not any(opposed(left, right) for left in stances for right in stances if left is not right)
