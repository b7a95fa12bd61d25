"""An index over the turns of conversations: what was said around a turn speaks for it too. Not thread-safe."""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

import numpy as np
from msgspec import Struct

from acumen.model.memories.search import Found
from acumen.recall import fuse
from acumen.recall.fuse import Floats
from acumen.recall.partition import RankQuery, Scored, best
from acumen.recall.postings import Holding, Postings
from acumen.recall.rows import RowIds, Rows
from acumen.recall.threads import NONE, Ints, Links, Threads, Times, Voices, name_in
from acumen.recall.vectors import Near, Vectors
from acumen.recall.words import terms

F = TypeVar("F")


class TurnPartition(Generic[F]):
    """Turns under keys, in sessions, in the order they were put; otherwise like `Partition`."""

    def __init__(self) -> None:
        self._rows = Rows[F]()
        self._words = Postings()
        self._vectors = Vectors()
        self._threads = Threads()
        self._voices = Voices()
        self._times = Times()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    @property
    def bytes(self) -> int:
        """About how much memory this holds."""
        return self._rows.bytes + self._words.bytes + self._vectors.bytes + self._threads.bytes

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
        self._words.append([*(terms(text) if words is None else words), *name_in(role)])
        self._vectors.append(vector)
        self._threads.append(session, instead_of=old)
        self._voices.append(role, text)
        self._times.append(at)
        self._sweep()

    def drop(self, key: str) -> bool:
        """Forget a turn; its neighbours close ranks. False if it was not here."""
        row = self._rows.kill(key)
        if row is None:
            return False
        self._threads.cut(row)
        self._sweep()
        return True

    def set_vector(self, key: str, vector: Floats) -> bool:
        """Give a turn its meaning once it is known; False if the turn is gone."""
        row = self._rows.row(key)
        if row is None:
            return False
        self._vectors.set(row, vector)
        return True

    def facet(self, key: str) -> F:
        """KeyError if there is no such turn."""
        return self._rows.facet_of(key)

    def vectors(self, keys: Sequence[str]) -> tuple[Floats, list[int]]:
        """Of the passages of these turns, one line each; and how many each has. KeyError for a turn that is gone."""
        return self._vectors.of([self._rows.row_of(key) for key in keys])

    def weights(self, words: Sequence[str]) -> dict[str, float]:
        """How much each word tells in these conversations."""
        return self._words.weights(words, self._rows.alive())

    def rank(
        self,
        question: RankQuery,
        limit: int,
        accept: Callable[[F], bool] | None = None,
        threshold: float | None = None,
    ) -> list[Found]:
        """The best turns that `accept` lets through, best first, newest first among equals; perhaps none."""
        if not len(self) or limit <= 0 or not (question.by_words or question.by_meaning):
            return []
        holdings = self._words.holdings(question.terms, self._rows.alive()) if question.by_words else None
        near = None if question.aim is None else self._vectors.near(question.aim)
        heard = None if holdings is None else TermMatches.of(holdings, self._threads.links(), self._session_lengths())
        judge = _Turns(heard, near, self._threads.links(), self._favour(question))
        return best(self._rows, judge, question.floor, threshold, limit, accept)

    def _session_lengths(self) -> Floats:
        lengths = np.where(self._rows.alive(), self._words.lengths(), np.float32(0))
        return np.bincount(self._threads.links().session, lengths).astype(np.float32)

    def _favour(self, question: RankQuery) -> Floats:
        """What speaks for a turn besides its text: who said it, and when. The user, unless a speaker is named."""
        named = self._voices.named(question.terms)
        favour: Floats = np.float32(fuse.NAMED) * named
        if not named.any():
            favour += np.float32(fuse.BY_USER) * self._voices.of_user()
        favour += np.float32(fuse.ON_THE_DAY) * self._times.match(question.days)
        return favour

    def _sweep(self) -> None:
        kept = self._rows.sweep()
        if kept is not None:
            for part in (self._words, self._vectors, self._threads, self._voices, self._times):
                part.sweep(kept)


class TermMatches(Struct, frozen=True):
    """What turns and their sessions hold of a question's words."""

    words: Floats
    session: Floats

    @staticmethod
    def of(holdings: Sequence[Holding], links: Links, session_lengths: Floats) -> "TermMatches":
        return TermMatches(overheard(holdings, links), in_session(holdings, links.session, session_lengths))


class _Turns:
    """Judges turns by what they say, what is said around them, and their session as a whole."""

    def __init__(self, heard: TermMatches | None, near: Near | None, links: Links, favour: Floats) -> None:
        words, session = (heard.words, heard.session) if heard else (None, None)
        self._heard = heard
        self._near = near
        self._scores = fuse.turn(words, None if near is None else _meant(near, links), session, favour)

    def words(self) -> Floats | None:
        return None if self._heard is None else self._heard.words

    def cosines(self) -> Floats | None:
        return None if self._near is None else self._near.cosines

    def roughly(self) -> Floats:
        return self._scores

    def exactly(self, rows: RowIds) -> Scored:
        """Among its neighbours what a turn gains or loses by rounding is nothing."""
        arms: dict[str, Floats] = {}
        if self._heard is not None:
            arms |= {"fts": self._heard.words[rows], "session": self._heard.session[rows]}
        if self._near is not None:
            arms["vector"] = self._near.cosines[rows]
        return Scored(rows, self._scores[rows], arms)


def _meant(near: Near, links: Links) -> fuse.Meant:
    return fuse.Meant(
        fuse.meaning(near.cosines, fuse.UNRELATED_TURN),
        fuse.meaning(in_talk(near, links), fuse.UNRELATED_TURN, fuse.PARAPHRASE_IN_TALK),
        near.known,
    )


def overheard(holdings: Sequence[Holding], links: Links) -> Floats:
    """Coverage, where a turn also holds, less firmly, the words of the turns around it."""
    covered = np.zeros(len(links.session), np.float32)
    two_on = np.where(links.after == NONE, NONE, links.after[links.after])
    total = sum(holding.weight for holding in holdings)
    for holding in holdings:
        firmly = np.zeros(len(covered), np.float32)
        firmly[holding.rows] = holding.held
        _lend(firmly, holding.rows, holding.held * np.float32(fuse.BEFORE), links.after)
        _lend(firmly, holding.rows, holding.held * np.float32(fuse.LONG_BEFORE), two_on)
        _lend(firmly, holding.rows, holding.held * np.float32(fuse.AFTER), links.before)
        covered += firmly * np.float32(holding.weight / total)
    return covered


def _lend(firmly: Floats, rows: RowIds, held: Floats, to: Ints) -> None:
    """Let the neighbours of these rows hold a word at least so firmly."""
    neighbours = to[rows]
    there = neighbours != NONE
    neighbours = neighbours[there]
    firmly[neighbours] = np.maximum(firmly[neighbours], held[there])


def in_session(holdings: Sequence[Holding], session: Ints, lengths: Floats) -> Floats:
    """For every row the share of the question's information that its session holds, were the session one long text."""
    talked = lengths > 0
    sessions, mean = int(np.count_nonzero(talked)), float(lengths[talked].mean()) if talked.any() else 1.0
    covered, patience = np.zeros(len(lengths), np.float32), fuse.patience(lengths, mean)
    total = 0.0
    for holding in holdings:
        counts = np.bincount(session[holding.rows], holding.counts, len(lengths)).astype(np.float32)
        weight = fuse.rarity(sessions, int(np.count_nonzero(counts)))
        covered += np.float32(weight) * fuse.hold(counts, patience)
        total += weight
    return covered[session] / np.float32(total or 1.0)


def in_talk(near: Near, links: Links) -> Floats:
    """The cosine of each turn together with the one before and the one after it, as far as these have vectors."""
    summed, weights = near.cosines.copy(), near.known.astype(np.float32)
    for neighbours, share in ((links.before, fuse.BEFORE_MEANS), (links.after, fuse.AFTER_MEANS)):
        there = np.float32(share) * ((neighbours != NONE) & near.known[neighbours])
        summed += there * near.cosines[neighbours]
        weights += there
    averaged: Floats = np.divide(summed, np.maximum(weights, np.float32(1)))
    return averaged
