"""What a context is compared with: dated turns and dated sentences in the same budget, without any learning."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from acumen.llm.tokens import count_tokens
from bench.memory.api import Api
from bench.memory.histories import History

TURNS_SEARCHED = 150
MAX_TURN_CHARACTERS = 400
# The usual parameters of BM25.
TERM_SATURATION, LENGTH_NORM = 1.2, 0.75

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w+")
_ENDING = re.compile(r"(?<=\w{3})(?:ies|es|s|ing|ed|ly|e)$")
_STOP_WORDS = frozenset(
    "a an the of to in on at for from by with and or but is are was were be been do did does have has had i you he she "
    "it we they my your his her its our their me him them what which who whom when where why how that this these those "
    "there any some can could would should will not no so as if about into than then".split()
)


def dated(at: int, text: str) -> str:
    """One line of a baseline; `at` is in epoch seconds."""
    return f"- {datetime.fromtimestamp(at, UTC):%Y-%m-%d}: {' '.join(text.split())}"


def pack(lines: Iterable[str], budget: int, count: Callable[[str], int] = count_tokens) -> str:
    """Lines in their order, those that no longer fit left out; at most `budget` tokens."""
    packed: list[str] = []
    left = budget
    for line in lines:
        cost = count(f"{line}\n")
        if cost <= left:
            packed.append(line)
            left -= cost
    return "\n".join(packed)


def dated_turns(api: Api, history: History, question: str, budget: int) -> str:
    """The turns that `search_interactions` ranks first; long ones are cut."""
    roles = {role.lower() for role in history.roles}
    rows = [row for row in api.search_turns(history.user_id, question, TURNS_SEARCHED) if row["role"].lower() in roles]
    return pack((dated(row["created_at"], row["content"][:MAX_TURN_CHARACTERS]) for row in rows), budget)


class Sentence(Struct, frozen=True):
    text: str
    at: int


def sentences(history: History) -> list[Sentence]:
    """All sentences that people said, in the order of time."""
    return [
        Sentence(text, turn.at)
        for turn in history.turns
        if turn.role in history.roles
        for text in _SENTENCE_END.split(turn.text)
        if _WORD.search(text)
    ]


class SentenceRanking:
    """BM25 over sentences; among equals the newest first."""

    def __init__(self, corpus: Sequence[Sentence]) -> None:
        self._corpus = corpus
        self._terms = [Counter(_words(sentence.text)) for sentence in corpus]
        self._lengths = [sum(terms.values()) for terms in self._terms]
        self._mean_length = sum(self._lengths) / max(1, len(corpus))
        self._frequency = Counter(word for terms in self._terms for word in terms)

    def rank(self, question: str) -> list[Sentence]:
        """Those that share a word with the question."""
        wanted = set(_words(question))
        scored = [(self._score(place, wanted), sentence) for place, sentence in enumerate(self._corpus)]
        matches = [(score, sentence) for score, sentence in scored if score > 0]
        return [sentence for _, sentence in sorted(matches, key=lambda match: (-match[0], -match[1].at))]

    def context(self, question: str, budget: int) -> str:
        return pack((dated(sentence.at, sentence.text) for sentence in self.rank(question)), budget)

    def _score(self, place: int, wanted: set[str]) -> float:
        terms = self._terms[place]
        norm = TERM_SATURATION * (1 - LENGTH_NORM + LENGTH_NORM * self._lengths[place] / self._mean_length)
        return sum(
            self._idf(word) * terms[word] * (TERM_SATURATION + 1) / (terms[word] + norm)
            for word in sorted(wanted & terms.keys())
        )

    def _idf(self, word: str) -> float:
        frequency = self._frequency[word]
        return math.log(1 + (len(self._corpus) - frequency + 0.5) / (frequency + 0.5))


def _words(text: str) -> list[str]:
    """Without stop words; of longer words only the stem, cut by rule."""
    return [_ENDING.sub("", word) for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS]
