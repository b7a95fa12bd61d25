"""A partition finds what is in it, all of what is in it, and nothing else."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from acumen.index import bm25, fusion
from acumen.index.partition import Partition, RankQuery
from acumen.index.rows import FEW_DEAD
from acumen.index.similarity import QueryVector
from acumen.index.tokenizer import terms
from acumen.llm.embedding import Embedder, load_embedder
from acumen.model.memories.search import Found, RankingMode

Vector = NDArray[np.float32]

DEPLOYING = {
    "region": "User never deploys production to us-east-1 and always uses us-west-2",
    "migrations": "Run the database migrations before restarting the workers",
    "health": "After a deployment check the health endpoint first",
    "rollback": "Roll back when the error rate passes two percent",
    "code": "ERR_CONN_42 means that the pool of connections is exhausted",
}
DIMS = 32
# Vectors are kept in eight bits a number: two that are this close may change places.
ROUNDED = 0.002


def lessons() -> Partition[None]:
    partition = Partition[None]()
    for key, text in DEPLOYING.items():
        partition.put(key, text, None, None)
    return partition


def keys(hits: Sequence[Found]) -> list[str]:
    return [hit.entity_id for hit in hits]


def vectors(count: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((count, DIMS)).astype(np.float32)


# ---------- words


def test_the_row_that_holds_most_of_the_question_comes_first() -> None:
    assert keys(lessons().rank(RankQuery.of("restarting workers after migrations"), 5))[0] == "migrations"


@pytest.mark.parametrize("asked", ["ERR_CONN_42", "err_conn_42?", "conn 42", "us-west-2"])
def test_an_id_finds_its_row(asked: str) -> None:
    expected = "region" if "west" in asked else "code"

    assert keys(lessons().rank(RankQuery.of(asked, mode=RankingMode.FTS), 5))[0] == expected


@pytest.mark.parametrize("asked", ["how do I bake bread", "who are you", "", "?!"])
def test_nothing_relevant_is_an_answer(asked: str) -> None:
    assert lessons().rank(RankQuery.of(asked), 5) == []


def test_full_text_needs_a_shared_word_that_is_not_a_function_word() -> None:
    assert lessons().rank(RankQuery.of("when the and to", mode=RankingMode.FTS), 5) == []
    assert keys(lessons().rank(RankQuery.of("the rate", mode=RankingMode.FTS), 5)) == ["rollback"]


def test_a_word_of_asking_counts_less_than_a_word_of_the_subject() -> None:
    partition = Partition[None]()
    partition.put("subject", "guitar", None, None)
    partition.put("asking", "recommend", None, None)

    hits = partition.rank(RankQuery.of("recommend a guitar"), 5)

    assert keys(hits) == ["subject", "asking"]
    assert hits[0].score > hits[1].score


def test_a_sign_asked_for_alone_is_found_within_a_text_without_spaces() -> None:
    partition = Partition[None]()
    partition.put("tea", "我喜欢喝绿茶", None, None)
    partition.put("coffee", "我喜欢喝咖啡", None, None)

    assert keys(partition.rank(RankQuery.of("茶"), 5)) == ["tea"]


def test_scores_lie_between_nothing_and_one_and_come_with_reasons() -> None:
    hits = lessons().rank(RankQuery.of("health endpoint deployment"), 5)

    assert all(0 < hit.score <= 1 for hit in hits)
    assert hits[0].reasons == {"fts": pytest.approx(hits[0].score, abs=1e-3)}


# ---------- meaning


def test_meaning_finds_what_shares_no_word() -> None:
    partition = lessons()
    matrix = np.eye(DIMS, dtype=np.float32)
    for key, vector in zip(DEPLOYING, matrix, strict=False):
        assert partition.set_vector(key, vector)

    hits = partition.rank(RankQuery.of("which place do my services live in", matrix[0]), 5)

    assert keys(hits) == ["region"]
    assert hits[0].reasons["fts"] == 0
    assert hits[0].reasons["vector"] == pytest.approx(1, abs=0.005)


def test_each_mode_asks_only_its_own_arm() -> None:
    partition = Partition[None]()
    matrix = vectors(2)
    partition.put("said", "green tea", matrix[0], None)
    partition.put("meant", "something else", matrix[1], None)

    by_words = partition.rank(RankQuery.of("green tea", matrix[1], RankingMode.FTS), 5)
    by_meaning = partition.rank(RankQuery.of("green tea", matrix[1], RankingMode.VECTOR), 5)

    assert (keys(by_words), list(by_words[0].reasons)) == (["said"], ["fts"])
    assert (keys(by_meaning), list(by_meaning[0].reasons)) == (["meant"], ["vector"])


def test_a_question_by_meaning_alone_without_a_vector_finds_nothing() -> None:
    assert lessons().rank(RankQuery.of("health endpoint", None, RankingMode.VECTOR), 5) == []


def test_words_and_meaning_together_beat_either() -> None:
    partition = Partition[None]()
    matrix = vectors(3)
    partition.put("words", "green tea in the morning", matrix[1], None)
    partition.put("both", "green tea in the evening", matrix[0], None)
    partition.put("meaning", "an infusion of leaves", matrix[0], None)

    hits = partition.rank(RankQuery.of("green tea", matrix[0]), 5)

    assert keys(hits)[0] == "both"
    assert {"both", "meaning", "words"} == set(keys(hits))


def test_a_threshold_draws_another_line() -> None:
    partition, matrix = Partition[None](), vectors(2)
    partition.put("near", "a", matrix[0], None)
    partition.put("far", "b", matrix[0] + 3 * matrix[1], None)
    question = RankQuery.of("?", matrix[0])

    assert keys(partition.rank(question, 5, threshold=0.01)) == ["near", "far"]
    assert keys(partition.rank(question, 5, threshold=0.4)) == ["near"]


@pytest.mark.parametrize("threshold", [0.0, 0.4, 0.9, 1.0])
def test_a_threshold_is_a_cosine_and_hides_no_word_match(threshold: float) -> None:
    partition, matrix = Partition[None](), vectors(2)
    partition.put("word", "zebra", matrix[1], None)
    partition.put("nothing", "horse", -matrix[0], None)
    question = RankQuery.of("zebra", matrix[0])

    assert keys(partition.rank(question, 5, threshold=threshold)) == ["word"]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_embedder()


@pytest.fixture(scope="module")
def meant(embedder: Embedder) -> Partition[None]:
    partition = lessons()
    for key, vector in zip(DEPLOYING, embedder.embed(list(DEPLOYING.values())), strict=True):
        partition.set_vector(key, vector)
    return partition


@pytest.mark.parametrize(
    "asked, first",
    [
        ("which region do I deploy to", "region"),
        ("what comes before a restart of the background processes", "migrations"),
        ("is the app healthy after a release", "health"),
        ("too many failures, should I revert", "rollback"),
        ("what is ERR_CONN_42", "code"),
    ],
)
def test_a_paraphrase_finds_its_row(meant: Partition[None], embedder: Embedder, asked: str, first: str) -> None:
    assert keys(meant.rank(RankQuery.of(asked, embedder.embed_one(asked)), 5))[:1] == [first]


@pytest.mark.parametrize(
    "asked",
    [
        "how do I bake bread",
        "what is the capital of France",
        "tell me a joke",
        "best pasta recipe",
        "when was Mozart born",
    ],
)
def test_what_has_nothing_to_do_with_any_row_finds_none(meant: Partition[None], embedder: Embedder, asked: str) -> None:
    assert meant.rank(RankQuery.of(asked, embedder.embed_one(asked)), 5) == []


# ---------- putting, dropping


def test_a_row_put_again_is_found_by_its_new_words_only() -> None:
    partition = lessons()

    partition.put("region", "User prefers green tea", None, None)

    assert keys(partition.rank(RankQuery.of("green tea"), 5)) == ["region"]
    assert "region" not in keys(partition.rank(RankQuery.of("us-east-1 production"), 5))
    assert len(partition) == len(DEPLOYING)


def test_a_dropped_row_is_gone() -> None:
    partition = lessons()

    assert partition.drop("region")

    assert "region" not in partition
    assert partition.rank(RankQuery.of("us-east-1"), 5) == []
    assert not partition.drop("region")
    assert not partition.set_vector("region", vectors(1)[0])


def test_among_equals_the_newest_comes_first() -> None:
    partition = Partition[None]()
    for number in range(200):
        partition.put(str(number), "the same words", None, None)

    hits = partition.rank(RankQuery.of("same words"), 3)

    assert keys(hits) == ["199", "198", "197"]


def test_a_partition_that_changes_for_long_does_not_grow() -> None:
    partition = Partition[None]()
    matrix = vectors(64)
    for number in range(20 * FEW_DEAD):
        partition.put(str(number % 50), f"note {number}", matrix[number % 64], None)

    assert partition.bytes < 50 * FEW_DEAD * 20
    assert keys(partition.rank(RankQuery.of(f"note {20 * FEW_DEAD - 1}"), 1)) == [str((20 * FEW_DEAD - 1) % 50)]


def test_bytes_grow_with_the_rows() -> None:
    partition = Partition[None]()
    empty = partition.bytes
    for number, vector in enumerate(vectors(1000)):
        partition.put(str(number), f"note number {number}", vector, None)

    assert partition.bytes > empty + 1000 * DIMS


def test_no_limit_no_hits() -> None:
    assert lessons().rank(RankQuery.of("health"), 0) == []


# ---------- properties

WORDS = "tea coffee milk sugar water bread salt rice".split()
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
vector_numbers = st.none() | st.integers(0, 7)
puts = st.tuples(st.just("put"), st.integers(0, 9), texts, vector_numbers)
drops = st.tuples(st.just("drop"), st.integers(0, 9), st.just(""), st.none())
histories = st.lists(puts | drops, max_size=30)
MEANINGS = vectors(8, seed=4)
questions = st.tuples(texts, st.integers(0, 7), st.sampled_from(list(RankingMode))).map(
    lambda asked: RankQuery.of(asked[0], MEANINGS[asked[1]], asked[2])
)


def played(history: Sequence[tuple[str, int, str, int | None]]) -> Partition[str]:
    partition = Partition[str]()
    for what, key, text, meaning in history:
        if what == "put":
            partition.put(str(key), text, None if meaning is None else MEANINGS[meaning], text)
        else:
            partition.drop(str(key))
    return partition


def last_of(history: Sequence[tuple[str, int, str, int | None]]) -> list[tuple[str, int, str, int | None]]:
    """Only the puts whose rows are still there in the end, in their order."""
    last = {key: place for place, (_, key, _, _) in enumerate(history)}
    return [one for place, one in enumerate(history) if one[0] == "put" and last[one[1]] == place]


def seen(hits: Sequence[Found]) -> list[tuple[str, float]]:
    return [(hit.entity_id, round(hit.score, 4)) for hit in hits]


@given(histories, questions)
def test_how_a_partition_came_to_be_does_not_matter(
    history: list[tuple[str, int, str, int | None]], question: RankQuery
) -> None:
    grown, fresh = played(history), played(last_of(history))

    assert seen(grown.rank(question, 20)) == seen(fresh.rank(question, 20))


@settings(max_examples=10)
@given(histories, questions)
def test_a_swept_partition_answers_as_before(
    history: list[tuple[str, int, str, int | None]], question: RankQuery
) -> None:
    partition = played(history)
    before = seen(partition.rank(question, 20))

    for number in range(FEW_DEAD + 20):
        partition.put("passing", f"tea {number}", MEANINGS[0], "")
    partition.drop("passing")

    assert seen(partition.rank(question, 20)) == before
    assert partition._words.size <= FEW_DEAD + 20


@given(histories, questions, st.sampled_from(WORDS))
def test_a_filter_leaves_out_what_it_refuses_and_nothing_else(
    history: list[tuple[str, int, str, int | None]], question: RankQuery, word: str
) -> None:
    partition = played(history)

    everything = partition.rank(question, 100)
    filtered = partition.rank(question, 100, lambda text: word in text)

    assert seen(filtered) == [one for one in seen(everything) if word in partition.facet(one[0])]


@given(histories, questions, st.integers(1, 5))
def test_a_smaller_limit_shows_the_beginning_of_the_same_ranking(
    history: list[tuple[str, int, str, int | None]], question: RankQuery, limit: int
) -> None:
    partition = played(history)

    assert seen(partition.rank(question, limit)) == seen(partition.rank(question, 100))[:limit]


@given(histories, questions)
def test_scores_are_those_of_plain_arithmetic(
    history: list[tuple[str, int, str, int | None]], question: RankQuery
) -> None:
    rows = last_of(history)

    found = played(history).rank(question, 100, threshold=0)

    expected = {key: score for key, score in plain_scores(rows, question).items() if score > 1e-6}
    assert {hit.entity_id: hit.score for hit in found} == pytest.approx(expected, abs=0.01)


def plain_scores(rows: Sequence[tuple[str, int, str, int | None]], question: RankQuery) -> dict[str, float]:
    """BM25 and cosine as one would write them down, one row at a time."""
    bags = {str(key): terms(text) for _, key, text, _ in rows}
    mean = max(sum(map(len, bags.values())) / max(len(bags), 1), 1)
    asked = dict.fromkeys(question.terms)
    weights = {word: bm25.idf(len(bags), sum(word in bag for bag in bags.values())) for word in asked}
    scores = {}
    for _, number, _, meaning in rows:
        bag = bags[str(number)]
        norm = bm25.K1 * (1 - bm25.B + bm25.B * len(bag) / mean)
        held = {word: min(bag.count(word) * (1 + bm25.K1) / (bag.count(word) + norm), 1) for word in asked}
        words = sum(weights[word] * held[word] for word in asked) / sum(weights.values()) if weights else 0.0
        cosine = 0.0 if meaning is None or question.vector is None else _cosine(MEANINGS[meaning], question.vector)
        scores[str(number)] = plain_score(words, cosine, question.mode, known=meaning is not None)
    return scores


def plain_score(words: float, cosine: float, mode: RankingMode, *, known: bool) -> float:
    share = min(max((cosine - fusion.UNRELATED) / (fusion.PARAPHRASE - fusion.UNRELATED), 0), 1)
    if mode == RankingMode.FTS:
        return words
    if mode == RankingMode.VECTOR:
        return share
    trust = fusion.CHANCE + (1 - fusion.CHANCE) * min(share / fusion.AGREES, 1)
    return (1 - fusion.OF_SIMILARITY) * words * trust + fusion.OF_SIMILARITY * share if known else words


def _cosine(one: Vector, other: Vector) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_a_filter_that_few_rows_pass_finds_the_best_of_them_among_many(seed: int) -> None:
    random = np.random.default_rng(seed)
    question = random.standard_normal(384).astype(np.float32)
    matrix = question * 0.6 + random.standard_normal((1000, 384)).astype(np.float32)
    passing = random.choice(len(matrix), 5, replace=False)
    matrix[passing] -= question * np.linspace(0, 0.2, 5, dtype=np.float32)[:, None]
    partition = Partition[int]()
    for number, vector in enumerate(matrix):
        partition.put(str(number), "", vector, number, words=[])

    hits = partition.rank(RankQuery([], question, RankingMode.VECTOR), 3, lambda number: number in passing)

    best = sorted((_cosine(matrix[row], question) for row in passing), reverse=True)[:3]
    found = sorted((_cosine(matrix[int(key)], question) for key in keys(hits)), reverse=True)
    assert found == pytest.approx(best, abs=ROUNDED)


def test_rows_that_lie_closer_together_than_the_rounded_question_tells_apart_come_in_their_order() -> None:
    random = np.random.default_rng(3)
    matrix = random.standard_normal((1000, 384)).astype(np.float32)
    partition = Partition[int]()
    for number, vector in enumerate(matrix):
        partition.put(str(number), "", vector, number, words=[])
    asked = random.standard_normal((20, 384)).astype(np.float32)

    found = [keys(partition.rank(RankQuery([], one, RankingMode.VECTOR), 10, None, 0.0)) for one in asked]

    near = [partition._vectors.similarities(QueryVector.of(one)) for one in asked]
    true = [(-one.exact(np.arange(1000))).argsort()[:10] for one in near]
    assert found == [[str(row) for row in rows] for rows in true]
    assert found != [[str(row) for row in (-one.cosines).argsort()[:10]] for one in near]


@pytest.mark.parametrize("words, most", [("tea", 4), ("tea bread", 8)])
def test_of_rows_that_do_not_answer_or_answer_alike_the_filter_is_asked_for_few(words: str, most: int) -> None:
    partition = Partition[int]()
    for number in range(300):
        partition.put(str(number), "bread" if number % 100 else "tea", None, number)
    asked: list[int] = []

    hits = partition.rank(RankQuery.of(words), 2, lambda number: bool(asked.append(number)) or True)

    assert keys(hits) == ["200", "100"]
    assert len(asked) <= most
