"""Changes to memories, as the change feed lists them."""

from enum import StrEnum

from msgspec import Struct

from acumen.model.ids import Millis, SessionId, UserId


class ChangeKind(StrEnum):
    """What happened to a memory."""

    LEARNED = "learned"
    RESTATED = "restated"  # said again; the text is the same
    REFINED = "refined"  # the text changed
    SUPERSEDED = "superseded"
    CONFLICT = "conflict"  # it may disagree with another one; both stay current
    FORGOTTEN = "forgotten"  # the user asked for it
    EXPIRED = "expired"
    EDITED = "edited"  # a person or a caller changed it
    MERGED = "merged"
    ARCHIVED = "archived"
    RESTORED = "restored"  # current again, or for the first time after a rerun
    DELETED = "deleted"


class ChangeFilter(Struct, frozen=True):
    """Which changes; None means any. `until` is exclusive."""

    user: UserId | None = None
    kinds: tuple[ChangeKind, ...] | None = None
    since: Millis | None = None
    until: Millis | None = None
    session: SessionId | None = None
