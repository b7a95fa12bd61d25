"""What a step may touch: the store of its org, the models, the clock, the settings."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from acumen.llm.gateway import Llm
from acumen.llm.meaning import Meaning
from acumen.model.config import OrgConfig
from acumen.model.ids import Kind, Millis, OrgId, UserId
from acumen.model.memories.search import SearchRow
from acumen.model.review.signal import Thresholds
from acumen.settings import Settings
from acumen.storage.store import OrgStore, Tx


class Findable(Struct, frozen=True):
    """Text that is about to be stored and shall be found again."""

    kind: str
    user_id: str
    text: str
    passages: tuple[str, ...] = ()  # given a vector each; by default the text is one


class MakeFindable(Protocol):
    """Words and vectors for texts, made before the transaction that stores them."""

    def __call__(self, texts: Sequence[Findable]) -> Awaitable[list[SearchRow]]: ...


# Ids of memories, each with how near in meaning it is; None where its meaning is not known.
Nearness = Mapping[str, float | None]


def beside(place: int) -> str:
    """The id under which the nearness of another new row, the one at `place`, is told."""
    return f"+{place}"


class FindAlike(Protocol):
    """For each new row the stored memories of the user that may say the same, or otherwise; of any status."""

    def __call__(self, tx: Tx, kind: Kind, user: UserId, rows: Sequence[SearchRow]) -> list[Nearness]: ...


class Deps(Struct, frozen=True):
    """Bound to one org, and as its config is at the moment."""

    org: OrgId
    store: OrgStore
    meaning: Meaning
    findable: MakeFindable
    alike: FindAlike
    now: Callable[[], Millis]
    settings: Settings
    config: OrgConfig
    llm: Llm | None  # None: no language model is configured; rules do its work
    stand_back: Callable[[], Awaitable[None]]  # lets callers who wait go first; asked between pieces of long work
    renewed: Callable[[], Awaitable["Deps"]]  # the same by now: long work outlasts a change of the config

    @property
    def thresholds(self) -> Thresholds:
        """When a memory deserves a look: as the org has set, or else the server."""
        return Thresholds(**{**self.settings.review.model_dump(), **self.config.review})
