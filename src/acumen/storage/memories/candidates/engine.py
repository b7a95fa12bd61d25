"""What a database has to offer so that scopes too large for memory can be searched in it."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field
from numpy.typing import NDArray

from acumen.model.memories.search import Filter

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


class WordCandidates(Struct, frozen=True):
    """`matching` is, for terms that were counted on the way, how many rows of the scope contain them."""

    ids: Sequence[str]
    matching: Mapping[str, int] = field(default_factory=dict)


class CandidateEngine(Protocol):
    """Finds the candidates of a scope; bound to one transaction. The caller scores them exactly.

    An engine promises:

    - It sees what the transaction sees: every committed row, and nothing that is gone. Whatever it keeps beside
      `search_rows` is written in the same transaction, by whichever version of the server, or is rebuilt from the rows
      before it answers. If it cannot promise that, `engine_of` returns None, and the scope is read into memory.
    - Filters are applied before the limit: it returns `limit` ids wherever that many rows fit, each once. Where an
      approximate index finds too few, it compares all rows that fit.
    - Ids are ordered by what the arm says, best first, approximately: of the best ten by the exact order at least
      95 % are among them, for every shape of filter.
    - `find_by_vector` knows only vectors of `model`. A row with several vectors counts by the closest one.
    - `find_by_words` returns rows with the most information of the question. It may leave out rows that contain only
      its most frequent terms, as long as it returns `limit` others.
    - A write costs the next search nothing that grows with the scope.
    """

    name: str

    def find_by_vector(
        self, scope: SearchScope, criteria: Filter, vector: Vector, model: str, limit: int
    ) -> Sequence[str]:
        """Ids of the rows that fit and are closest to the vector."""
        ...

    def find_by_words(
        self, scope: SearchScope, criteria: Filter, terms: Sequence[QueryTerm], limit: int
    ) -> WordCandidates:
        """Ids of rows that fit and contain some of these terms, which are sorted by `matching`, the rarest first."""
        ...
