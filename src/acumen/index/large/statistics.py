"""How frequent words are in a large scope, estimated from a sample of its rows."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from acumen.index.postings import term_weight
from acumen.index.tokenizer import is_one_sign
from acumen.storage.memories.candidates.engine import QueryTerm, SearchScope
from acumen.storage.store import Tx

# Rows of a sample. A term in a hundredth of them is estimated to within a fifth, which moves its weight by a twentieth.
SAMPLE = 10_000
# A term that fewer rows of the sample contain is rare: the engine counts it when it looks for it.
LEAST = 3


class ScopeStatistics(Struct, frozen=True):
    """Of all rows of a scope, approximately: words are counted in `sampled` rows, and rows that are gone may count."""

    rows: int
    sampled: int
    mean_length: float
    counts: dict[str, int]

    @staticmethod
    def read(tx: Tx, scope: SearchScope) -> "ScopeStatistics":
        rows = tx.search_rows.count(scope.kind, scope.user)
        return ScopeStatistics.of(rows, tx.search_rows.sample_terms(scope.kind, scope.user, SAMPLE))

    @staticmethod
    def of(rows: int, sample: Iterable[str]) -> "ScopeStatistics":
        """`sample` has the terms of each row, separated by spaces."""
        counts: Counter[str] = Counter()
        sampled = words = 0
        for text in sample:
            terms = text.split()
            counts.update(set(terms))
            sampled += 1
            words += len(terms)
        frequent = {term: count for term, count in counts.items() if count >= LEAST or sampled == rows}
        return ScopeStatistics(rows, sampled, max(words / sampled, 1.0) if sampled else 1.0, frequent)

    def query_terms(self, terms: Sequence[str]) -> list[QueryTerm]:
        """Each once, the rarest first."""
        distinct = [self._query_term(term) for term in dict.fromkeys(terms)]
        return sorted(distinct, key=lambda term: term.matching)

    def _query_term(self, term: str) -> QueryTerm:
        pairs = () if term.isascii() or not is_one_sign(term) else self._pairs_with(term)
        matching = sum(map(self._matching, pairs)) if pairs else self._matching(term)
        return QueryTerm(term, matching, term_weight(term, self.rows, matching), pairs)

    def _pairs_with(self, sign: str) -> tuple[str, ...]:
        return tuple(pair for pair in self.counts if len(pair) == 2 and sign in pair)

    def _matching(self, term: str) -> int:
        if self.sampled == self.rows:
            return self.counts.get(term, 0)
        return min(round(self.counts.get(term, LEAST / 2) * self.rows / max(self.sampled, 1)), self.rows)
