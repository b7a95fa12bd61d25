"""What a search in a large scope asks the database, and what it answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from numpy.typing import NDArray

from acumen.model.memories.search import SearchRow

Vector = NDArray[Any]


class SearchScope(Struct, frozen=True):
    """The memories of one kind of one user, or of the whole org."""

    kind: str
    user: str | None


class QueryTerm(Struct, frozen=True):
    """A term of a question, about how many rows of the scope contain it, and its share of the question's information.

    `variants` are what a row may contain instead: a single Chinese sign is found within any pair of signs.
    """

    text: str
    matching: int
    weight: float = 0.0
    variants: tuple[str, ...] = ()

    @property
    def forms(self) -> tuple[str, ...]:
        return (self.text, *self.variants)


class CandidateQuery(Struct, frozen=True):
    """`rows` is about how many the scope has. Terms are sorted by `matching`, the rarest first; none: not by words.

    Without a vector candidates are found by words only. `limit` is for each of the two ways.
    """

    rows: int
    terms: Sequence[QueryTerm]
    vector: Vector | None
    model: str
    limit: int


class Candidates(Struct, frozen=True):
    """In the order in which they were last written.

    `matching` is, for terms that were counted on the way, how many rows of the scope contain them.
    """

    rows: Sequence[SearchRow]
    matching: Mapping[str, int] = field(default_factory=dict)
