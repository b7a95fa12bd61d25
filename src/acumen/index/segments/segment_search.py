"""Search a scope in a segment: candidates by words and by vector, then their exact scores, with what changed since."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acumen.index.arrays import Flags, Floats, RowIds
from acumen.index.bm25 import term_saturation
from acumen.index.large.scoring import CandidateCosines
from acumen.index.live_indexes import Ranked
from acumen.index.partition import NOTHING, MemoryScorer, RankQuery, admissible
from acumen.index.postings import term_weight
from acumen.index.rows import descending
from acumen.index.segments.segment import BY_VECTOR, BY_WORDS, MOST_MENTIONS, Mentions, Segment, Span
from acumen.index.segments.tail import Tail
from acumen.model.memories.search import Facet, Filter

GetFacets = Callable[[Sequence[str]], dict[str, Facet]]


class SegmentSearch(Struct, frozen=True):
    """One scope of a segment, with the rows that changed since."""

    segment: Segment
    tail: Tail
    span: Span
    fresh: bool
    get_facets: GetFacets

    def rank(self, query: RankQuery, limit: int, criteria: Filter, threshold: float | None) -> Ranked:
        """The best rows that fit, best first, newest first among equals."""
        if limit <= 0 or not (query.by_words or query.by_vector):
            return Ranked([], {})
        corpus = self._corpus(query) if query.by_words else None
        rows = self._candidates(query, corpus, criteria)
        changed = self._changed(query, corpus)
        scorer = MemoryScorer(self._words(rows, changed, corpus), self._cosines(rows, changed, query))
        scores, floor = admissible(scorer, query, threshold)
        accepted = self._accepted(scores, max(floor, NOTHING), limit, _Ids(self, rows, changed), criteria)
        ids = {place: facet_id for place, (facet_id, _) in accepted.items()}
        found = scorer.exact(np.array(list(ids), np.intp)).best(floor, limit, ids.__getitem__)
        return Ranked(found, dict(accepted.values()))

    def _corpus(self, query: RankQuery) -> "_Corpus":
        """Rows that changed are counted as the segment has them and as they are now."""
        terms = list(dict.fromkeys(query.terms))
        mentions = [self.segment.mentions(term, self.span) for term in terms]
        matching = self.tail.rows.matching(terms)
        rows = len(self.span) + len(self.tail.rows)
        weights = [
            term_weight(term, rows, min(each.matching + more, rows))
            for term, each, more in zip(terms, mentions, matching, strict=True)
        ]
        words = self.segment.words(self.span) + self.tail.rows.words
        total = sum(weights) or 1.0
        return _Corpus(terms, mentions, [weight / total for weight in weights], max(words / max(rows, 1), 1.0))

    def _candidates(self, query: RankQuery, corpus: "_Corpus | None", criteria: Filter) -> RowIds:
        """In the order in which they changed."""
        if not len(self.span):
            return np.zeros(0, np.intp)
        # Bulk changes begin a generation without changing every row: then only the rows themselves know what fits.
        allowed = self.segment.allowed(criteria, self.span) if self.fresh else None
        allowed = self.tail.unchanged(self.span, allowed)
        if len(self.span) <= BY_VECTOR:
            all_rows = np.arange(self.span.begin, self.span.end)
            return self._in_order(all_rows if allowed is None else all_rows[allowed])
        arms = []
        if corpus is not None:
            arms.append(self._by_words(corpus, allowed))
        if query.query_vector is not None:
            arms.append(self.segment.closest(query.query_vector, self.span, allowed, BY_VECTOR))
        return self._in_order(np.unique(np.concatenate(arms)))

    def _in_order(self, rows: RowIds) -> RowIds:
        """Of their last changes."""
        return rows[np.argsort(self.segment.arrays["seqs"][rows], kind="stable")]

    def _by_words(self, corpus: "_Corpus", allowed: Flags | None) -> RowIds:
        """The rows that contain most of the question's information, as far as its rarest terms tell."""
        places, shares = corpus.rarest(self.segment, self.span)
        covered = np.bincount(places, shares, len(self.span))
        if allowed is not None:
            places = places[allowed[places]]
        totals, most = covered[places], BY_WORDS * len(corpus.terms)  # a row stands here once per term
        if len(places) > most:
            places = places[totals >= np.partition(totals, len(totals) - most)[len(totals) - most]]
        places = np.unique(places)
        seqs = self.segment.arrays["seqs"][self.span.begin + places]
        return self.span.begin + places[_best(covered[places], BY_WORDS, seqs)]

    def _changed(self, query: RankQuery, corpus: "_Corpus | None") -> RowIds:
        """The candidates among the rows that changed."""
        alive = self.tail.rows.alive()
        arms = []
        if corpus is not None:
            covered = self.tail.rows.coverage_in(corpus.shares, corpus.terms, corpus.mean_length)
            arms.append(_best(np.where(alive, covered, 0), BY_WORDS))
        if query.query_vector is not None:
            cosines = self.tail.rows.cosines(query.query_vector)
            arms.append(_best(np.where(alive, cosines + 1, 0), BY_VECTOR))
        return np.unique(np.concatenate(arms)).astype(np.intp)

    def _words(self, rows: RowIds, changed: RowIds, corpus: "_Corpus | None") -> Floats | None:
        if corpus is None:
            return None
        now = self.tail.rows.coverage_in(corpus.shares, corpus.terms, corpus.mean_length)[changed]
        return np.concatenate([corpus.coverage(self.segment, rows), now])

    def _cosines(self, rows: RowIds, changed: RowIds, query: RankQuery) -> CandidateCosines | None:
        if query.query_vector is None:
            return None
        old, old_has = self.segment.cosines(query.query_vector, rows)
        new, new_has = self.tail.rows.exact_cosines(query.query_vector, changed)
        return CandidateCosines(np.concatenate([old, new]), np.concatenate([old_has, new_has]))

    def _accepted(
        self, scores: Floats, floor: float, limit: int, ids: "_Ids", criteria: Filter
    ) -> dict[int, tuple[str, Facet]]:
        """The best places whose rows exist and fit, as the transaction sees them: their ids and facets."""
        accepted: dict[int, tuple[str, Facet]] = {}
        for places, values in descending(scores, floor, 2 * limit):
            keys = ids.of([place for place, value in zip(places, values, strict=True) if value >= floor])
            facets = self.get_facets(list(keys.values()))
            for place, key in keys.items():
                if len(accepted) == limit:
                    return accepted
                if key in facets and criteria.admits(facets[key]):
                    accepted[place] = (key, facets[key])
            if len(keys) < len(places):
                break
        return accepted


class _Ids(Struct, frozen=True, eq=False):
    """Candidates by their places: first those of the segment, then those that changed since."""

    search: SegmentSearch
    rows: RowIds
    changed: RowIds

    def of(self, places: Sequence[int]) -> dict[int, str]:
        old = [place for place in places if place < len(self.rows)]
        ids = dict(zip(old, self.search.segment.ids(self.rows[old]), strict=True))
        tail, first = self.search.tail.rows, len(self.rows)
        return {place: ids[place] if place < first else tail.key(int(self.changed[place - first])) for place in places}


class _Corpus(Struct, frozen=True, eq=False):
    """The terms of a question among all rows of a scope; `shares` are of its information."""

    terms: Sequence[str]
    mentions: Sequence[Mentions]
    shares: Sequence[float]
    mean_length: float

    def rarest(self, segment: Segment, span: Span) -> tuple[RowIds, Floats]:
        """Places in the span of the rarest terms' rows, with the share of the information that each term gives."""
        rows, covered, read = [np.zeros(0, np.int32)], [np.zeros(0, np.float32)], 0
        for place in sorted(range(len(self.terms)), key=lambda place: len(self.mentions[place].rows)):
            mentions = self.mentions[place]
            read += len(mentions.rows)
            if read > MOST_MENTIONS and len(rows) > 1:
                break
            if len(mentions.rows):
                its_rows, counts = mentions.distinct()
                rows.append(its_rows)
                norm = segment.norm(its_rows, self.mean_length)
                covered.append(np.float32(self.shares[place]) * term_saturation(counts, norm))
        return np.concatenate(rows).astype(np.intp) - span.begin, np.concatenate(covered)

    def coverage(self, segment: Segment, rows: RowIds) -> Floats:
        """For each row the share of the question's information that it contains."""
        norm, covered = segment.norm(rows, self.mean_length), np.zeros(len(rows), np.float32)
        for mentions, share in zip(self.mentions, self.shares, strict=True):
            covered += np.float32(share) * term_saturation(mentions.counts(rows), norm)
        return covered


def _best(scores: NDArray[Any], many: int, seqs: NDArray[np.int64] | None = None) -> RowIds:
    """The places of the highest scores above 0; among equals the newest, which stand last unless `seqs` tell."""
    places = np.flatnonzero(scores > 0)
    if len(places) <= many:
        return places
    order = np.lexsort((places if seqs is None else seqs[places], scores[places].round(6)))
    return places[order[-many:]]
