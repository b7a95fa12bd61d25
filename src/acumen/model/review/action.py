"""Review actions on memories, and the snapshots that undo needs."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NewType

from msgspec import Struct, field

from acumen.model.ids import MemoryRef, Millis

ActionId = NewType("ActionId", str)

# A memory as its row says, and as JSON keeps it.
Snapshot = Mapping[str, Any]


class ActionKind(StrEnum):
    """What can be done to a memory."""

    ARCHIVE = "archive"
    RESTORE = "restore"
    EDIT = "edit"
    SUPERSEDE_BY = "supersede_by"
    MERGE = "merge"
    PIN = "pin"  # never flag it
    UNPIN = "unpin"
    SNOOZE = "snooze"  # do not flag it before a time
    MARK_USEFUL = "mark_useful"
    DISMISS = "dismiss"  # do not flag it for these numbers
    CHANGE_SCOPE = "change_scope"  # the users and agents it applies to
    DELETE = "delete"
    CONFIGURE = "configure"  # other thresholds for all memories
    SETTLE_CONFLICT = "settle_conflict"  # of two memories in conflict keep one, or both
    UNDO_CHANGE = "undo_change"  # undo what learning did to a memory
    UNDO = "undo"


class ReviewState(Struct, frozen=True):
    """What a person has said about a memory. `dismissed` holds the numbers, by signal, that did not convince."""

    pinned: bool = False
    snoozed_until: Millis | None = None
    useful_at: Millis | None = None
    dismissed: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "pinned": self.pinned,
            "snoozed_until": self.snoozed_until,
            "useful_at": self.useful_at,
            "dismissed": dict(self.dismissed),
        }


UNREVIEWED = ReviewState()


class Target(Struct, frozen=True):
    """A memory to act on. `version` is the one the caller has seen; None takes it as it is."""

    ref: MemoryRef
    version: int | None = None


class ActionScope(Struct, frozen=True):
    """The new scope of a lesson: everyone instead of one user, or agents of another version."""

    everyone: bool = False
    agent_version: str | None = None


class ActionRequest(Struct, frozen=True):
    """An action as it was asked for; only the fields its kind needs are read."""

    doing: ActionKind
    targets: Sequence[Target]
    actor: str
    reason: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)  # edit: field to new value
    successor: str | None = None  # supersede_by and merge: the id of the memory that stays, of the same kind
    until: Millis | None = None  # snooze
    confirm: str = ""  # delete: what the person typed
    reach: ActionScope = ActionScope()  # change_scope


class ActionItem(Struct, frozen=True):
    """What an action did, or would do, to one memory: `why` says why nothing, if nothing."""

    ref: MemoryRef
    changed: bool
    why: str | None = None
    user_id: str | None = None
    before: Snapshot | None = None
    after: Snapshot | None = None


class Action(Struct, frozen=True):
    """One row of the audit log."""

    id: ActionId
    doing: ActionKind
    actor: str
    created_at: Millis
    reason: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    undoes: ActionId | None = None
    undone_by: ActionId | None = None
    items: Sequence[ActionItem] = ()

    @property
    def changed(self) -> int:
        return sum(item.changed for item in self.items)
