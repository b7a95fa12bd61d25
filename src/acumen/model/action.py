"""What a person does to memories in review, and what is remembered of it so that it can be taken back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NewType

from acumen.model.ids import MemoryRef, Millis

ActionId = NewType("ActionId", str)

# A memory as its row says, and as JSON keeps it.
Snapshot = Mapping[str, Any]


class Doing(StrEnum):
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
    DELETE = "delete"
    CONFIGURE = "configure"  # other thresholds for all memories
    UNDO = "undo"


@dataclass(frozen=True, slots=True)
class Mark:
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


UNMARKED = Mark()


@dataclass(frozen=True, slots=True)
class Target:
    """A memory to act on. `version` is the one the caller has seen; None takes it as it is."""

    ref: MemoryRef
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """An action as it was asked for; only the fields its kind needs are read."""

    doing: Doing
    targets: Sequence[Target]
    actor: str
    reason: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)  # edit: field to new value
    successor: str | None = None  # supersede_by and merge: the id of the memory that stays, of the same kind
    until: Millis | None = None  # snooze
    confirm: str = ""  # delete: what the person typed


@dataclass(frozen=True, slots=True)
class ActionItem:
    """What an action did, or would do, to one memory: `why` says why nothing, if nothing."""

    ref: MemoryRef
    changed: bool
    why: str | None = None
    user_id: str | None = None
    before: Snapshot | None = None
    after: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """One row of the audit log."""

    id: ActionId
    doing: Doing
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
