"""What review and meter keep about memories, beside the memories themselves: it goes when they go."""

from collections.abc import Sequence
from dataclasses import dataclass

from acumen.model.ids import Kind
from acumen.storage.actions import Actions
from acumen.storage.flags import Flags
from acumen.storage.marks import Marks
from acumen.storage.usage import Usage
from acumen.storage.views import Views


@dataclass(frozen=True, slots=True)
class Reviewed:
    actions: Actions
    marks: Marks
    flags: Flags
    usage: Usage
    views: Views

    def forget(self, kind: Kind, ids: Sequence[str] | None) -> None:
        """No words of these memories (None: of any of the kind) stay behind; what they cost is still known."""
        self.actions.forget_words(kind, ids)
        self.marks.delete(kind, ids)
        self.flags.delete(kind, ids)
        self.usage.forget_words(kind, ids)

    def forget_user(self, user: str) -> dict[str, int]:
        """Of this user's memories nothing stays."""
        return {
            "review_actions": self.actions.delete_user(user),
            "review_marks": self.marks.delete_user(user),
            "review_flags": self.flags.delete_user(user),
            "saved_views": self.views.delete_user(user),
        }
