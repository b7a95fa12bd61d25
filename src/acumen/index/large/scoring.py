"""The exact scores of candidates: what a partition says about all of its rows, about a few of a large scope."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from acumen.index.arrays import Flags, Floats, RowIds
from acumen.index.bm25 import length_norm, term_saturation
from acumen.index.partition import MemoryScorer, RankQuery, admissible
from acumen.index.postings import term_weight
from acumen.model.memories.search import Found
from acumen.storage.memories.candidates.engine import QueryTerm


class Candidate(Struct, frozen=True):
    """A row of a large scope. `vectors` has one line per passage, of any length; None if it has none."""

    entity_id: str
    terms: Sequence[str]
    vectors: Floats | None


class Corpus(Struct, frozen=True):
    """What depends on all rows of the scope, not only on the candidates."""

    mean_length: float
    terms: Sequence[QueryTerm]  # of the query, each once


def rank_candidates(
    query: RankQuery, candidates: Sequence[Candidate], corpus: Corpus, limit: int, threshold: float | None = None
) -> list[Found]:
    """Best first, the last among equals; `candidates` are in the order in which they were written."""
    if not candidates or limit <= 0:
        return []
    words = coverage([candidate.terms for candidate in candidates], corpus) if query.by_words else None
    unit = None if query.query_vector is None else query.query_vector.unit
    cosines = None if unit is None else CandidateCosines.of(unit, [candidate.vectors for candidate in candidates])
    scorer = MemoryScorer(words, cosines)
    scores, floor = admissible(scorer, query, threshold)
    rows = np.flatnonzero(scores >= floor)
    return scorer.exact(rows).best(floor, limit, lambda row: candidates[row].entity_id)


def coverage(documents: Sequence[Sequence[str]], corpus: Corpus) -> Floats:
    """For every document the share of the question's information that it contains, 0 to 1."""
    norm = length_norm(np.array([len(terms) for terms in documents], np.float32), corpus.mean_length)
    weights = [term.weight for term in corpus.terms]
    total, covered = sum(weights) or 1.0, np.zeros(len(documents), np.float32)
    for term, weight in zip(corpus.terms, weights, strict=True):
        counts = [max(map(terms.count, term.forms)) for terms in documents]
        covered += np.float32(weight / total) * term_saturation(np.array(counts, np.float32), norm)
    return covered


class CandidateCosines:
    """The cosine of every candidate to one query; 0 without a vector, and of several vectors the closest one's."""

    def __init__(self, cosines: Floats, has_vector: Flags) -> None:
        self.cosines = cosines
        self.has_vector = has_vector
        self.all_have_vectors = bool(has_vector.all())

    @staticmethod
    def of(unit: Floats, vectors: Sequence[Floats | None]) -> "CandidateCosines":
        counts = np.array([0 if lines is None else len(lines) for lines in vectors])
        cosines, has_vector = np.zeros(len(vectors), np.float32), counts > 0
        if has_vector.any():
            lines = np.concatenate([lines for lines in vectors if lines is not None])
            lengths = np.maximum(np.linalg.norm(lines, axis=1), np.float32(1e-12))
            first = (np.cumsum(counts) - counts)[has_vector]
            cosines[has_vector] = np.maximum.reduceat(lines @ unit / lengths, first)
        return CandidateCosines(cosines, has_vector)

    def exact(self, rows: RowIds) -> Floats:
        return self.cosines[rows]


def with_counts(terms: Sequence[QueryTerm], matching: Mapping[str, int], rows: int) -> list[QueryTerm]:
    """The same terms, with the weights of what was counted where they were counted."""
    counts = [matching.get(term.text, term.matching) for term in terms]
    return [
        replace(term, matching=count, weight=term_weight(term.text, rows, count))
        for term, count in zip(terms, counts, strict=True)
    ]
