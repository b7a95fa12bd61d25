"""Candidates of a large scope are scored as a partition in memory would score the same rows."""

import numpy as np
import pytest

from acumen.index.large.scoring import Candidate, Corpus, rank_candidates
from acumen.index.large.statistics import ScopeStatistics
from acumen.index.partition import Partition, RankQuery
from acumen.model.memories.search import Found, RankingMode

WORDS = "deploy region zebra lunch 東京 大阪 invoice payment retry queue number advice".split()
DIMS = 32
# A partition holds vectors in eight bits a number.
ROUNDED = 0.005


def documents(count: int) -> list[Candidate]:
    """With words said once or more, and none, one or two vectors."""
    random = np.random.default_rng(3)
    return [
        Candidate(
            f"m{place}",
            random.choice(WORDS, random.integers(0, 8)).tolist(),
            random.standard_normal((place % 3, DIMS)).astype(np.float32) if place % 3 else None,
        )
        for place in range(count)
    ]


def in_memory(rows: list[Candidate], query: RankQuery, limit: int, threshold: float | None) -> list[Found]:
    partition = Partition[None]()
    for row in rows:
        partition.put(row.entity_id, "", row.vectors, None, words=row.terms)
    return partition.rank(query, limit, None, threshold)


def as_candidates(rows: list[Candidate], query: RankQuery, limit: int, threshold: float | None) -> list[Found]:
    statistics = ScopeStatistics.of(len(rows), (" ".join(row.terms) for row in rows))
    corpus = Corpus(statistics.mean_length, statistics.query_terms(query.terms))
    return rank_candidates(query, rows, corpus, limit, threshold)


@pytest.mark.parametrize("mode", RankingMode)
@pytest.mark.parametrize("threshold", [None, 0.0, 0.3])
@pytest.mark.parametrize("text", ["deploy zebra region", "number of the invoice", "京", "unheard", "payment payment"])
def test_the_scores_are_those_of_a_partition(text: str, threshold: float | None, mode: RankingMode) -> None:
    rows = documents(300)
    vector = np.random.default_rng(5).standard_normal(DIMS).astype(np.float32)
    query = RankQuery.of(text, vector, mode)

    exact, scored = in_memory(rows, query, 300, threshold), as_candidates(rows, query, 300, threshold)

    by_id = [{match.entity_id: match.score for match in matches} for matches in (exact, scored)]
    line = min((match.score for match in (*exact, *scored)), default=0.0) + ROUNDED  # rounding decides who passes it
    for these, others in (by_id, by_id[::-1]):
        assert {key for key, score in these.items() if score > line} <= others.keys()
        assert all(abs(score - these[key]) <= ROUNDED for key, score in others.items() if key in these)


def test_a_sample_estimates_how_frequent_a_term_is() -> None:
    statistics = ScopeStatistics.of(100_000, ["zebra lunch"] * 10 + ["lunch"] * 990)

    zebra, lunch = statistics.query_terms(["lunch", "zebra", "zebra"])

    assert (zebra.text, zebra.matching, lunch.matching) == ("zebra", 1_000, 100_000)
    assert zebra.weight > lunch.weight
