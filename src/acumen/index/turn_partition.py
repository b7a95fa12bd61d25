"""An index over the turns of conversations, where the neighbours and the session of a turn count too."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from msgspec import Struct

from acumen.index import fusion
from acumen.index.arrays import Floats, Ints, RowIds
from acumen.index.bm25 import idf, length_norm, term_saturation
from acumen.index.partition import IndexedRows, RankQuery, Scored, Scorer
from acumen.index.postings import TermMatch
from acumen.index.session_links import NONE, Links, SessionLinks, Speakers, Timestamps, name_in
from acumen.index.similarity import Similarities
from acumen.index.tokenizer import terms

F = TypeVar("F")


class TurnPartition(IndexedRows[F]):
    """Turns in sessions, in the order they were put."""

    def __init__(self) -> None:
        super().__init__()
        self._sessions = SessionLinks()
        self._speakers = Speakers()
        self._timestamps = Timestamps()

    @property
    def bytes(self) -> int:
        return super().bytes + self._sessions.bytes + self._speakers.bytes + self._timestamps.bytes

    def put_turn(
        self,
        key: str,
        session: str,
        text: str,
        vector: Floats | None,
        facet: F,
        *,
        role: str = "",
        at: int | None = None,
        words: Sequence[str] | None = None,
    ) -> None:
        """Insert at the end of its session, or replace in place. `at` is in epoch milliseconds.

        A role that is someone's name is among the words of the turn.
        """
        old = self._rows.kill(key)
        self._rows.add(key, facet)
        self._words.append(" ".join([*(terms(text) if words is None else words), *name_in(role)]))
        self._vectors.append(vector)
        self._sessions.append(session, instead_of=old)
        self._speakers.append(role, text)
        self._timestamps.append(at)
        self._sweep()

    def drop(self, key: str) -> bool:
        """The turns around it become neighbours. False if there was no such turn."""
        row = self._rows.kill(key)
        if row is None:
            return False
        self._sessions.cut(row)
        self._sweep()
        return True

    def vectors(self, keys: Sequence[str]) -> tuple[Floats, list[int]]:
        """Of the passages of these turns, one line each; and how many each has. KeyError for a turn that is gone."""
        return self._vectors.of([self._rows.row_of(key) for key in keys])

    def weights(self, words: Sequence[str]) -> dict[str, float]:
        """The idf of each term in these conversations."""
        return self._words.weights(words, self._rows.alive())

    def _scorer(self, query: RankQuery) -> Scorer:
        links, matches = self._sessions.links(), None
        if query.by_words:
            matches = TermScores.of(
                self._words.matches(query.terms, self._rows.alive()), links, self._session_lengths(links)
            )
        return _TurnScorer(matches, self._similarities(query), links, self._bonus(query))

    def _session_lengths(self, links: Links) -> Floats:
        lengths = np.where(self._rows.alive(), self._words.lengths(), np.float32(0))
        return np.bincount(links.session, lengths).astype(np.float32)

    def _bonus(self, query: RankQuery) -> Floats:
        """For the speaker and the day. The user's turns have one unless the query names a speaker."""
        named = self._speakers.named(query.terms)
        bonus: Floats = np.float32(fusion.NAMED) * named
        if not named.any():
            bonus += np.float32(fusion.BY_USER) * self._speakers.of_user()
        bonus += np.float32(fusion.ON_THE_DAY) * self._timestamps.match(query.days)
        return bonus

    def _sweep(self) -> None:
        rows = self._rows.sweep()
        if rows is not None:
            for part in (self._words, self._vectors, self._sessions, self._speakers, self._timestamps):
                part.sweep(rows)


class TermScores(Struct, frozen=True):
    """How much of a query's information turns and their sessions contain, 0 to 1."""

    words: Floats
    session: Floats

    @staticmethod
    def of(matches: Sequence[TermMatch], links: Links, session_lengths: Floats) -> "TermScores":
        return TermScores(with_neighbours(matches, links), in_session(matches, links.session, session_lengths))


class _TurnScorer:
    def __init__(
        self, terms: TermScores | None, similarities: Similarities | None, links: Links, bonus: Floats
    ) -> None:
        words, session = (terms.words, terms.session) if terms else (None, None)
        self._terms = terms
        self._similarities = similarities
        similarity = None if similarities is None else _turn_similarity(similarities, links)
        self._scores = fusion.fuse_turn(words, similarity, session, bonus)

    def words(self) -> Floats | None:
        return None if self._terms is None else self._terms.words

    def cosines(self) -> Floats | None:
        return None if self._similarities is None else self._similarities.cosines

    def approximate(self) -> Floats:
        return self._scores

    def exact(self, rows: RowIds) -> Scored:
        """Averaged with its neighbours, a turn gains or loses nothing by rounding."""
        arms: dict[str, Floats] = {}
        if self._terms is not None:
            arms |= {"fts": self._terms.words[rows], "session": self._terms.session[rows]}
        if self._similarities is not None:
            arms["vector"] = self._similarities.cosines[rows]
        return Scored(rows, self._scores[rows], arms)


def _turn_similarity(similarities: Similarities, links: Links) -> fusion.TurnSimilarity:
    averaged = averaged_with_neighbours(similarities, links)
    return fusion.TurnSimilarity(
        fusion.similarity(similarities.cosines, fusion.UNRELATED_TURN),
        fusion.similarity(averaged, fusion.UNRELATED_TURN, fusion.PARAPHRASE_WITH_NEIGHBOURS),
        similarities.has_vector,
    )


def with_neighbours(matches: Sequence[TermMatch], links: Links) -> Floats:
    """Coverage, where a turn also contains, with less weight, the words of the turns around it."""
    covered = np.zeros(len(links.session), np.float32)
    two_on = np.where(links.after == NONE, NONE, links.after[links.after])
    total = sum(match.weight for match in matches)
    for match in matches:
        saturation = np.zeros(len(covered), np.float32)
        saturation[match.rows] = match.saturation
        _lend(saturation, match, fusion.BEFORE, links.after)
        _lend(saturation, match, fusion.LONG_BEFORE, two_on)
        _lend(saturation, match, fusion.AFTER, links.before)
        covered += saturation * np.float32(match.weight / total)
    return covered


def _lend(saturation: Floats, match: TermMatch, share: float, to: Ints) -> None:
    """Raise the neighbours of matching rows to this share of the match."""
    neighbours = to[match.rows]
    exist = neighbours != NONE
    neighbours = neighbours[exist]
    saturation[neighbours] = np.maximum(saturation[neighbours], (match.saturation * np.float32(share))[exist])


def in_session(matches: Sequence[TermMatch], session: Ints, lengths: Floats) -> Floats:
    """For every row the share of the query's information that its session contains, taken as one long text."""
    used = lengths > 0
    sessions, mean = int(np.count_nonzero(used)), float(lengths[used].mean()) if used.any() else 1.0
    covered, norm = np.zeros(len(lengths), np.float32), length_norm(lengths, mean)
    total = 0.0
    for match in matches:
        counts = np.bincount(session[match.rows], match.counts, len(lengths)).astype(np.float32)
        weight = idf(sessions, int(np.count_nonzero(counts)))
        covered += np.float32(weight) * term_saturation(counts, norm)
        total += weight
    return covered[session] / np.float32(total or 1.0)


def averaged_with_neighbours(similarities: Similarities, links: Links) -> Floats:
    """The cosine of each turn together with the one before and the one after it, as far as these have vectors."""
    summed, weights = similarities.cosines.copy(), similarities.has_vector.astype(np.float32)
    for neighbours, share in ((links.before, fusion.SIMILARITY_BEFORE), (links.after, fusion.SIMILARITY_AFTER)):
        there = np.float32(share) * ((neighbours != NONE) & similarities.has_vector[neighbours])
        summed += there * similarities.cosines[neighbours]
        weights += there
    averaged: Floats = np.divide(summed, np.maximum(weights, np.float32(1)))
    return averaged
