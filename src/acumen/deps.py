"""What a step may touch: the store of its org, the index, the models, the clock, the settings."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from acumen.index.search_index import SearchIndex
from acumen.llm.gateway import Llm
from acumen.llm.local_models import LocalModels
from acumen.model.config import OrgConfig
from acumen.model.ids import Millis, OrgId
from acumen.model.review.signal import Thresholds
from acumen.settings import Settings
from acumen.storage.store import OrgStore


class Deps(Struct, frozen=True):
    """Bound to one org, with its config of this moment."""

    org: OrgId
    store: OrgStore
    local_models: LocalModels
    index: SearchIndex
    now: Callable[[], Millis]
    settings: Settings
    config: OrgConfig
    llm: Llm | None  # None: no language model is configured; rules do its work
    stand_back: Callable[[], Awaitable[None]]  # called between pieces of long work; lets waiting requests go first
    renewed: Callable[[], Awaitable["Deps"]]  # with the current config, for work that outlasts a change of it

    @property
    def thresholds(self) -> Thresholds:
        """Of the review signals: the org's, or else the server's."""
        return Thresholds(**{**self.settings.review.model_dump(), **self.config.review})
