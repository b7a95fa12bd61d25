"""What review and meter store about memories, apart from the memories themselves: it is deleted with them."""

from collections.abc import Mapping

from msgspec import Struct

from acumen.model.ids import Kind
from acumen.storage.metering.injections import Injections
from acumen.storage.review.actions import Actions
from acumen.storage.review.memory_flags import MemoryFlags
from acumen.storage.review.review_states import ReviewStates
from acumen.storage.review.saved_views import SavedViews


class ReviewRecords(Struct, frozen=True):
    actions: Actions
    review_states: ReviewStates
    memory_flags: MemoryFlags
    injections: Injections
    saved_views: SavedViews

    def erase(self, kind: Kind, owners: Mapping[str, str | None] | None) -> None:
        """No words of these memories (ids, each with its owner; None: any of the kind) stay; their cost is known."""
        ids = None if owners is None else list(owners)
        self.actions.erase_words(kind, ids)
        self.review_states.delete(kind, ids)
        self.memory_flags.delete(kind, ids)
        self.injections.erase_words(kind, owners)

    def delete_user(self, user: str) -> dict[str, int]:
        """Of this user's memories nothing stays."""
        return {
            "review_actions": self.actions.delete_user(user),
            "review_states": self.review_states.delete_user(user),
            "review_flags": self.memory_flags.delete_user(user),
            "saved_views": self.saved_views.delete_user(user),
        }
