"""The quoted part of a context: which sentences of a user's conversations answer a question best. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from acumen.index import fusion
from acumen.index.arrays import Floats
from acumen.index.excerpts import Excerpt, QuotePiece
from acumen.index.tokenizer import terms
from acumen.model.echoes import RenderedMemory, joined_words, without_echoes
from acumen.model.handles import turn_handle
from acumen.model.ids import InteractionId, SessionId
from acumen.model.memories.search import Found

HEADING = "User said:"
AGENT = "agent: "
USER = "user: "
GAP = " … "

# Turns that are looked at for one context. Measured with the answer keys: 60 find no more than 30.
TURNS = 30

# Weights of a piece, in addition to the score of its turn: the place of the turn, the question's words that it has,
# its cosine. Most of what its turn has of both is already in the score of the turn.
# Measured (answers at 300 / 1,000 tokens, no learning): these weights give LoCoMo .79 / .87 and LongMemEval .81 / .92;
# other weights cost up to .03 in one of the two.
RANK, HALF_RANK = 0.2, 8
WORDS = 0.25
COSINE = 0.35
IN_TURN = 0.75
# Pieces that mean what is quoted already, and further ones of a session that is quoted already, rank below others:
# questions over several sessions need one piece of each.
ALIKE_FROM, ALIKE = 0.4, 0.3
SAME_SESSION = 0.5 * fusion.OF_SESSION
SESSION_TOKENS = 60
# A turn is quoted only if it has this share of the question's words, or this cosine: the user's name and the session
# alone are no reason.
FEWEST_WORDS = 0.15
LEAST_COSINE = 0.2
# What is left of a piece after known words were taken out must be worth a line.
WORTH = 0.35
FEWEST_LEFT = 3
# With fewer tokens left nothing more is looked for.
LEAST_ROOM = 12

# Punctuation of a sentence whose words were taken out.
_STRAY = re.compile(r"(?<!\S)[.,;:!?…]+(?:\s|$)")
_BLANK = re.compile(r"\s{2,}")
_IMITATES = re.compile(r"\W*(?:agent|user)\s*:", re.IGNORECASE)


class Quote(Struct, frozen=True):
    """What is quoted of one turn, as a line."""

    turn: InteractionId
    day: str
    text: str

    @property
    def line(self) -> str:
        return f"[{turn_handle(self.turn)}] {self.text}"


class Candidates:
    """Pieces of the turns that were found, scored for one question."""

    def __init__(
        self,
        ranked: Sequence[tuple[Found, Excerpt]],
        vectors: tuple[Floats, Sequence[int]],
        idf: Mapping[str, float],
        unit: Floats | None,
    ) -> None:
        """`ranked`: turns, best first; `vectors`: theirs, and how many each has; `idf`: the question's terms."""
        self._terms = frozenset(idf)
        total = sum(idf.values()) or 1.0
        shares = {term: weight / total for term, weight in idf.items()}
        lines, counts = vectors
        cosines = [] if unit is None or not len(lines) else np.maximum(lines @ unit, 0).tolist()
        sessions: dict[SessionId, int] = {}
        self._pieces: list[tuple[Excerpt, int]] = []
        self._sessions: list[int] = []
        self._in_session: list[float] = []
        scores: list[float] = []
        slots: list[int] = []
        first = 0
        for place, ((match, excerpt), count) in enumerate(zip(ranked, counts, strict=True)):
            of_turn = cosines[first : first + count]
            nearest = max(of_turn, default=0.0)
            base = match.score + RANK / (1 + place / HALF_RANK)
            base -= IN_TURN * (WORDS * _covered(excerpt.terms, shares) + COSINE * nearest)
            session = sessions.setdefault(excerpt.session, len(sessions))
            in_session = SAME_SESSION * match.reasons.get("session", 0.0)
            for number, piece in enumerate(excerpt.pieces):
                slot = (of_turn.index(nearest) if of_turn else -1) if piece.passage is None else piece.passage
                has_vector = 0 <= slot < len(of_turn)
                self._pieces.append((excerpt, number))
                self._sessions.append(session)
                self._in_session.append(in_session)
                scores.append(
                    base + WORDS * _covered(piece.terms, shares) + COSINE * (of_turn[slot] if has_vector else 0.0)
                )
                slots.append(first + slot if has_vector else -1)
            first += count
        self._scores = np.array(scores, np.float32)
        # A piece without a vector is similar to none: the last line, at -1, is one of zeros.
        self._vectors = np.vstack([lines, np.zeros((1, lines.shape[1]), np.float32)])[slots]

    def choose(self, room: int, count: Callable[[str], int], rendered: Sequence[RenderedMemory]) -> list[Quote]:
        """The best pieces that fit into the token budget, as lines; `rendered` memories are not repeated."""
        chosen = _Chosen(room, count)
        sessions, in_session = np.array(self._sessions), np.array(self._in_session, np.float32)
        of_session: dict[int, Floats] = {}
        gains, alike = self._scores.copy(), np.full(len(self._scores), ALIKE_FROM, np.float32)
        spent: dict[int, int] = {}
        memories = {joined_words(memory.text): memory for memory in rendered}
        while len(gains) and chosen.room >= LEAST_ROOM:
            best = int(gains.argmax())
            if gains[best] == -np.inf:
                break
            gains[best] = -np.inf
            excerpt, number = self._pieces[best]
            text = _beyond(memories, excerpt.pieces[number], self._terms)
            cost = chosen.add(excerpt, number, text) if text else 0
            if cost:
                session = self._sessions[best]
                before, after = spent.get(session, 0), spent.get(session, 0) + cost
                spent[session] = after
                if session not in of_session:
                    of_session[session] = in_session * (sessions == session)
                gains -= of_session[session] * np.float32(_used(after) - _used(before))
                nearer = np.maximum(alike, self._vectors @ self._vectors[best])
                gains -= np.float32(ALIKE) * (nearer - alike)
                alike = nearer
        return chosen.quotes()


class _Chosen:
    """Pieces taken so far, and the tokens that are left."""

    def __init__(self, room: int, count: Callable[[str], int]) -> None:
        self.room = room - count(f"{HEADING}\n")
        self._count = count
        self._turns: dict[InteractionId, tuple[Excerpt, dict[int, str]]] = {}
        self._texts: set[str] = set()
        self._days: set[str] = set()

    def add(self, excerpt: Excerpt, number: int, text: str) -> int:
        """What it costs; 0 if it does not fit or is quoted already."""
        # A token has seldom more than eight characters.
        if len(text) > 8 * self.room or text in self._texts:
            return 0
        cost = self._cost(excerpt, text)
        if cost > self.room:
            return 0
        self._texts.add(text)
        self._days.add(excerpt.day)
        self._turns.setdefault(excerpt.turn, (excerpt, {}))[1][number] = text
        self.room -= cost
        return cost

    def _cost(self, excerpt: Excerpt, text: str) -> int:
        if excerpt.turn in self._turns:
            return self._count(GAP + text)
        # The first quote of a day brings its date.
        date = 0 if excerpt.day in self._days else self._count(f"{excerpt.day}\n")
        return date + self._count(f"[{turn_handle(excerpt.turn)}] {_marked(excerpt, text)}\n")

    def quotes(self) -> list[Quote]:
        """Newest day first; within a day as they were said."""
        quotes = [
            Quote(excerpt.turn, excerpt.day, _marked(excerpt, _joined(parts)))
            for excerpt, parts in self._turns.values()
        ]
        by_turn = sorted(quotes, key=lambda quote: quote.turn)
        return sorted(by_turn, key=lambda quote: quote.day, reverse=True)


def _used(tokens: int) -> float:
    """How much a session has been quoted, 0 to 1."""
    return float(1 - 0.5 ** (tokens / SESSION_TOKENS))


def _covered(terms: frozenset[str], shares: Mapping[str, float]) -> float:
    return sum([shares[term] for term in shares.keys() & terms])


def quoted_lines(quotes: Sequence[Quote]) -> list[str]:
    """As they are rendered: the date on a line of its own, once for all quotes of the day."""
    lines: list[str] = []
    day = ""
    for quote in quotes:
        if quote.day != day:
            day = quote.day
            lines.append(day)
        lines.append(quote.line)
    return lines


def is_quotable(match: Found) -> bool:
    reasons = match.reasons
    return reasons.get("fts", 0.0) >= FEWEST_WORDS or reasons.get("vector", 0.0) >= LEAST_COSINE


def _beyond(memories: Mapping[str, RenderedMemory], piece: QuotePiece, query_terms: frozenset[str]) -> str:
    """What a piece says beyond the memories that are rendered; empty when that is too little."""
    text = piece.text_for(query_terms)
    repeated = [memory for words, memory in memories.items() if words in piece.words or piece.words in words]
    if not repeated:
        return text
    if any(piece.words in words for words in memories):
        return ""
    # A piece is one line with single spaces: more of them are words that were blanked.
    parts = [_STRAY.sub("", part).strip() for part in _BLANK.split(without_echoes(text, repeated).text)]
    left = GAP.join(part for part in parts if terms(part))  # not "From now on,": function words alone
    words = len(left.split())
    return left if left == text or words >= max(FEWEST_LEFT, WORTH * len(text.split())) else ""


def _marked(excerpt: Excerpt, text: str) -> str:
    """Turns of the user are not marked, unless they begin as if they were."""
    if excerpt.by_agent:
        return AGENT + text
    return USER + text if _IMITATES.match(text) else text


def _joined(parts: Mapping[int, str]) -> str:
    text, last = "", None
    for number in sorted(parts):
        text += ("" if last is None else " " if number == last + 1 else GAP) + parts[number]
        last = number
    return text
