"""Turns are found by what they say and by what is said around them."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from acumen.index.partition import RankQuery
from acumen.index.rows import FEW_DEAD
from acumen.index.turn_partition import TurnPartition
from acumen.model.memories.search import Found, RankingMode

DIMS = 32
MEANINGS = np.random.default_rng(4).standard_normal((8, DIMS)).astype(np.float32)


def talk(*turns: tuple[str, str], session: str = "one", at: int | None = None) -> TurnPartition[None]:
    return said(TurnPartition[None](), *turns, session=session, at=at)


def said(
    partition: TurnPartition[None], *turns: tuple[str, str], session: str = "one", at: int | None = None
) -> TurnPartition[None]:
    for role, text in turns:
        partition.put_turn(str(len(partition)), session, text, None, None, role=role, at=at)
    return partition


def keys(hits: Sequence[Found]) -> list[str]:
    return [hit.entity_id for hit in hits]


def on(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, 12, tzinfo=UTC).timestamp() * 1000)


# ---------- surroundings


def test_an_answer_is_found_by_the_words_of_its_question() -> None:
    partition = talk(
        ("user", "Hello there"),
        ("assistant", "Which restaurant did you like best in Rome?"),
        ("user", "The one by the river, it was called Roscioli."),
        ("assistant", "I see."),
    )

    hits = partition.rank(RankQuery.of("favourite restaurant in Rome"), 4)

    assert set(keys(hits)[:2]) == {"1", "2"}
    assert "0" not in keys(hits)[:2]


def test_words_do_not_reach_into_another_session() -> None:
    partition = said(talk(("user", "I love the restaurant in Rome")), ("user", "Roscioli"), session="two")

    assert keys(partition.rank(RankQuery.of("restaurant in Rome"), 5)) == ["0"]


def test_of_two_equal_turns_the_one_in_the_fitting_session_comes_first() -> None:
    partition = said(
        talk(("user", "The garden is lovely"), ("user", "Nothing new"), ("user", "We painted the fence")),
        ("user", "The car is lovely"),
        ("user", "Nothing new"),
        ("user", "We painted the fence"),
        session="two",
    )

    assert keys(partition.rank(RankQuery.of("painting the fence, car"), 1)) == ["5"]


def test_a_dropped_turn_no_longer_speaks_for_its_neighbours_and_they_close_ranks() -> None:
    partition = talk(("user", "green tea"), ("user", "between"), ("user", "the last word"))
    before = partition.rank(RankQuery.of("green tea"), 5)

    partition.drop("1")

    after = partition.rank(RankQuery.of("green tea"), 5)
    assert keys(before) == ["0", "1", "2"]
    assert keys(after) == ["0", "2"]
    assert after[1].reasons["fts"] > before[2].reasons["fts"]


def test_a_turn_put_again_keeps_its_place() -> None:
    partition = talk(("user", "green tea"), ("user", "between"), ("user", "the last word"))

    partition.put_turn("1", "one", "nothing of the kind", None, None)

    assert keys(partition.rank(RankQuery.of("green tea"), 5)) == ["0", "1", "2"]


def test_meaning_counts_the_neighbours_too() -> None:
    partition = TurnPartition[None]()
    basis = np.eye(DIMS, dtype=np.float32)
    for number, direction in enumerate([5, 6, 0, 7, 8]):
        partition.put_turn(str(number), "one", "", basis[direction], None)

    hits = partition.rank(RankQuery.of("?", basis[0], RankingMode.VECTOR), 5)

    assert keys(hits) == ["2", "3", "1"]


def test_a_long_turn_is_found_by_any_of_its_passages() -> None:
    basis = np.eye(DIMS, dtype=np.float32)
    partition = TurnPartition[None]()
    partition.put_turn("long", "one", "", basis[[1, 2, 3]], None)
    partition.put_turn("short", "two", "", basis[4], None)

    assert keys(partition.rank(RankQuery.of("?", basis[3], RankingMode.VECTOR), 5)) == ["long"]


# ---------- who and when


def test_the_turns_of_the_speaker_named_come_first() -> None:
    partition = talk(("Melanie", "I paint, Caroline"), ("Caroline", "I paint, Melanie"))

    assert keys(partition.rank(RankQuery.of("What does Caroline paint?"), 2)) == ["1", "0"]
    assert keys(partition.rank(RankQuery.of("What does Melanie paint?"), 2)) == ["0", "1"]


def test_a_turn_is_found_by_the_name_of_who_said_it_but_not_by_a_role() -> None:
    partition = said(talk(("Caroline", "I paint")), ("user", "I paint"), session="two")

    assert keys(partition.rank(RankQuery.of("Caroline"), 2)) == ["0"]
    assert partition.rank(RankQuery.of("user"), 2) == []


def test_a_name_before_the_text_is_a_speaker_where_the_role_is_nobodys_name() -> None:
    partition = talk(("user", "Melanie: I paint"), ("user", "Caroline: I paint"))

    assert keys(partition.rank(RankQuery.of("What does Melanie paint?"), 2)) == ["0", "1"]


def test_of_equal_turns_the_users_own_comes_first() -> None:
    partition = talk(("user", "I paint the fence"), ("assistant", "I paint the fence"))

    assert keys(partition.rank(RankQuery.of("paint the fence"), 2)) == ["0", "1"]


def test_turns_of_the_day_that_is_asked_for_come_first() -> None:
    partition = TurnPartition[None]()
    for session, moment in {"may": on(2023, 5, 8), "june": on(2023, 6, 9), "year before": on(2022, 5, 8)}.items():
        said(partition, ("user", "We went hiking"), session=session, at=moment)

    assert keys(partition.rank(RankQuery.of("hiking in May 2023"), 3))[0] == "0"
    assert keys(partition.rank(RankQuery.of("hiking on 9 June"), 3))[0] == "1"
    assert keys(partition.rank(RankQuery.of("hiking on 2022-05-08"), 3))[0] == "2"


@pytest.mark.parametrize("at", [None, -(10**18), 10**18, 0])
def test_a_time_outside_the_calendar_does_no_harm(at: int | None) -> None:
    assert keys(talk(("user", "hiking"), at=at).rank(RankQuery.of("hiking in May 2023"), 1)) == ["0"]


def test_neither_speaker_nor_day_nor_session_find_a_turn_that_says_nothing_of_it() -> None:
    basis = np.eye(DIMS, dtype=np.float32)
    partition = TurnPartition[None]()
    for number, text in enumerate(["I like tea", "Good morning", "Nothing new"]):
        partition.put_turn(str(number), "one", text, basis[number], None, role="Ann", at=on(2023, 5, 8))

    assert partition.rank(RankQuery.of("What did Ann bake for her sister in May 2023?", basis[9]), 5) == []


# ---------- as in any partition


@pytest.mark.parametrize("mode", list(RankingMode))
def test_nothing_relevant_is_an_answer(mode: RankingMode) -> None:
    partition = TurnPartition[None]()
    for number, vector in enumerate(np.eye(DIMS, dtype=np.float32)[:5]):
        partition.put_turn(str(number), "one", "we deploy to production", vector, None)

    assert partition.rank(RankQuery.of("how to bake bread", np.eye(DIMS, dtype=np.float32)[9], mode), 5) == []


def test_a_turn_is_found_by_words_before_its_vector_is_known() -> None:
    partition = talk(("user", "green tea"), ("user", "black coffee"))
    partition.set_vector("1", MEANINGS[1])

    hits = partition.rank(RankQuery.of("green tea", MEANINGS[0]), 1)

    assert keys(hits) == ["0"]
    assert hits[0].score > 0.5


def test_a_turn_that_is_gone_cannot_be_dropped_or_given_a_vector() -> None:
    partition = talk(("user", "green tea"))

    assert partition.drop("0")
    assert not partition.drop("0")
    assert not partition.set_vector("0", MEANINGS[0])
    assert "0" not in partition
    assert partition.rank(RankQuery.of("green tea"), 1) == []


def test_a_question_by_meaning_alone_without_a_vector_finds_nothing() -> None:
    assert talk(("user", "green tea")).rank(RankQuery.of("green tea", None, RankingMode.VECTOR), 5) == []


WORDS = "tea coffee milk sugar water bread".split()
texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
Event = tuple[str, int, str, str, int | None]
puts = st.tuples(st.just("put"), st.integers(0, 9), st.sampled_from("ab"), texts, st.none() | st.integers(0, 7))
drops = st.tuples(st.just("drop"), st.integers(0, 9), st.just(""), st.just(""), st.none())
questions = st.tuples(texts, st.integers(0, 7), st.sampled_from(list(RankingMode))).map(
    lambda asked: RankQuery.of(asked[0], MEANINGS[asked[1]], asked[2])
)


def vector_of(number: int | None) -> NDArray[np.float32] | None:
    """Every third turn has two passages."""
    if number is None:
        return None
    return MEANINGS[[number, (number + 1) % 8]] if number % 3 == 0 else MEANINGS[number]


def played(history: Sequence[Event]) -> TurnPartition[str]:
    partition = TurnPartition[str]()
    for what, key, session, text, meaning in history:
        if what == "drop":
            partition.drop(str(key))
        else:
            role = "user" if key % 2 else "assistant"
            partition.put_turn(str(key), session, text, vector_of(meaning), text, role=role)
    return partition


def in_order(history: Sequence[Event]) -> list[Event]:
    """The turns that are still there, each where it stands in its session, newest text last."""
    standing: dict[int, Event] = {}
    for one in history:
        what, key, session, _, _ = one
        if what == "drop":
            standing.pop(key, None)
        elif key in standing and standing[key][2] == session:
            standing[key] = one
        else:
            standing.pop(key, None)
            standing[key] = one
    return list(standing.values())


def scores(hits: Sequence[Found]) -> dict[str, float]:
    return {hit.entity_id: round(hit.score, 4) for hit in hits}


@given(st.lists(puts | drops, max_size=30), questions)
def test_how_a_partition_came_to_be_does_not_matter(history: list[Event], question: RankQuery) -> None:
    grown, fresh = played(history), played(in_order(history))

    assert scores(grown.rank(question, 20)) == pytest.approx(scores(fresh.rank(question, 20)), abs=2e-4)


@settings(max_examples=10)
@given(st.lists(puts | drops, max_size=20), questions)
def test_a_swept_partition_answers_as_before(history: list[Event], question: RankQuery) -> None:
    partition = played(history)
    before = scores(partition.rank(question, 20))

    for number in range(FEW_DEAD + 20):
        partition.put_turn("passing", "elsewhere", f"tea {number}", MEANINGS[0], "")
    partition.drop("passing")

    assert scores(partition.rank(question, 20)) == pytest.approx(before, abs=2e-4)
    assert partition._words.size <= FEW_DEAD + 20


@given(st.lists(puts | drops, max_size=30), questions, st.sampled_from(WORDS))
def test_a_filter_leaves_out_what_it_refuses_and_nothing_else(
    history: list[Event], question: RankQuery, word: str
) -> None:
    partition = played(history)

    everything = scores(partition.rank(question, 100))
    filtered = scores(partition.rank(question, 100, lambda text: word in text))

    assert filtered == {key: score for key, score in everything.items() if word in partition.facet(key)}
