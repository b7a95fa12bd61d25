"""Turns cut into pieces that can be quoted."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from acumen.index.days import iso_day
from acumen.index.passages import of_turn, sentences
from acumen.index.session_links import is_agent
from acumen.index.tokenizer import terms
from acumen.model.conversation import Interaction
from acumen.model.echoes import RenderedMemory, joined_words, without_echoes
from acumen.model.fence import one_line
from acumen.model.ids import InteractionId, Millis, SessionId, UserId
from acumen.model.secrets import redact
from acumen.model.times import DAY_MS
from acumen.storage.metering.injections import ECHO_DAYS, ECHO_INJECTIONS
from acumen.storage.store import Tx

# A turn up to this many characters is quoted whole, of a longer one its best sentences. Measured: 320 is the best of
# 160 to 400 for LoCoMo's short turns, and costs LongMemEval's long ones nothing.
WHOLE = 320
LONGEST = 400
# A sentence this short ("1.", "Sure!") goes with the next one.
TINY = 40
QUESTION_MARKS = ("?", "？")
# Of a pasted document the beginning is read.
READ = 12_000


class QuotePiece(Struct, frozen=True):
    """A whole short turn or a sentence of a long one. `passage` is the place of its vector; None: all of the turn's."""

    text: str
    terms: frozenset[str]
    passage: int | None
    words: str  # as `joined_words` gives them
    statements: str = ""  # the text of a whole turn without its questions, if that leaves enough
    question_terms: frozenset[str] = frozenset()

    def text_for(self, query_terms: Collection[str]) -> str:
        """Without questions to the other side ("How was your day?"), unless they share a word with the query.

        Measured (answers at 300 tokens): LoCoMo .767 with all questions, .780 without; LongMemEval .778 and .806.
        """
        return self.statements if self.statements and self.question_terms.isdisjoint(query_terms) else self.text


class Excerpt(Struct, frozen=True):
    """A turn, cut into pieces that can be quoted; redacted, without echoes, each piece one line."""

    turn: InteractionId
    day: str
    session: SessionId
    by_agent: bool
    pieces: tuple[QuotePiece, ...]
    terms: frozenset[str]


def excerpts(tx: Tx, user: UserId, turns: Sequence[Interaction]) -> list[Excerpt]:
    """Of these turns of a user, in order."""
    echoes = _Echoes(tx, user, turns)
    return [excerpt(turn, echoes.before(turn)) for turn in turns]


def excerpt(turn: Interaction, shown: Sequence[RenderedMemory]) -> Excerpt:
    """`shown` are the memories that were rendered before the turn: their words are not the speaker's own."""
    # Without memories only a whole rendered context can come back, as from a user.
    text = redact(without_echoes(turn.content[:READ], shown, by_user=turn.by_user or not shown).text)
    parts: list[tuple[str, int | None]]
    if len(" ".join(text.split())) <= WHOLE:
        whole = one_line(text)
        parts = [(whole, None)] if whole else []
    else:
        passages = [one_line(passage) for passage in of_turn(turn.role, turn.content)]
        parts = [(part, _passage(part, passages)) for part in _parts(text)]
    pieces = tuple(_piece(part, passage) for part, passage in parts)
    everything = frozenset[str]().union(*(piece.terms for piece in pieces))
    return Excerpt(turn.id, iso_day(turn.created_at), turn.session_id, is_agent(turn.role), pieces, everything)


def _piece(text: str, passage: int | None) -> QuotePiece:
    parts = sentences(text) if passage is None else []
    questions = [part for part in parts if part.endswith(QUESTION_MARKS)]
    statements = " ".join(part for part in parts if not part.endswith(QUESTION_MARKS))
    return QuotePiece(
        text,
        frozenset(terms(text)),
        passage,
        joined_words(text),
        statements if questions and len(statements) >= TINY else "",
        frozenset(terms(" ".join(questions))) if questions else frozenset(),
    )


def _parts(text: str) -> list[str]:
    parts: list[str] = []
    for sentence in map(one_line, sentences(text)):
        if parts and len(parts[-1]) < TINY:
            parts[-1] = f"{parts[-1]} {sentence}"
        elif sentence:
            parts.append(sentence)
    return [part[start : start + LONGEST] for part in parts for start in range(0, len(part), LONGEST)]


def _passage(part: str, passages: Sequence[str]) -> int:
    """Which passage contains the end of it; -1 for none: text further back has no vector."""
    end = part[-TINY:]
    return next((place for place, passage in enumerate(passages) if end in passage), -1)


class _Echoes:
    """The memories that a user's agents were given around the time of some turns."""

    def __init__(self, tx: Tx, user: UserId, turns: Sequence[Interaction]) -> None:
        self._tx = tx
        self._user = user
        times = [turn.created_at for turn in turns]
        self._all = self._between(min(times), max(times)) if times else []
        self._complete = len(self._all) < ECHO_INJECTIONS
        self._by_day: dict[int, list[RenderedMemory]] = {}

    def before(self, turn: Interaction) -> Sequence[RenderedMemory]:
        if self._complete:
            return [line for lines in self._all for line in lines]
        day = turn.created_at // DAY_MS
        if day not in self._by_day:
            lines = self._between(Millis(day * DAY_MS), Millis(day * DAY_MS))
            self._by_day[day] = [line for injected in lines for line in injected]
        return self._by_day[day]

    def _between(self, first: Millis, last: Millis) -> list[list[RenderedMemory]]:
        """A day later too: the clock of the caller who dated the turn is not ours."""
        since, until = Millis(first - ECHO_DAYS * DAY_MS), Millis(last + 2 * DAY_MS)
        return self._tx.injections.find_memories_between(self._user, since, until)
