"""What extraction reads out of a window, before it is compared with known memories. Plain values."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from acumen.model.ids import Kind, MemoryRef, Millis, RequestId
from acumen.model.memories.base import Category, Cause, EvidenceSpan, Origin
from acumen.model.memories.playbook import Lesson
from acumen.model.memories.profile import TimeToLive


class Note(Struct, frozen=True):
    """A statement worth keeping: a fact about the user (PROFILE) or a lesson for the agent (USER_PLAYBOOK).

    `lesson` holds the words of either kind; a fact has only its `content`.
    """

    kind: Kind
    lesson: Lesson
    evidence: EvidenceSpan
    request_id: RequestId
    category: Category = Category.FACT
    standing: bool = False  # belongs into every prompt: no situation limits it
    # The single-valued attribute that it states ("my dentist") and its value ("dr. molar"); empty when it states none.
    subject: str = ""
    value: str = ""
    # What it says no longer holds: "Jenkins" in "we no longer use Jenkins", in the user's words.
    corrects: str = ""
    certain: bool = True  # False: hedged, joking or additive ("too"): it ends nothing
    amends: bool = False  # "sorry, I meant …": it corrects the value that was stated before
    updates: MemoryRef | None = None  # a model's UPDATE: the known memory whose place it takes
    valid_from: Millis | None = None
    valid_until: Millis | None = None
    ttl: TimeToLive = TimeToLive.INFINITY
    expires_at: Millis | None = None  # its stated end; None: as `ttl` says
    confidence: float = 0.7
    tags: tuple[str, ...] = ()
    features: Mapping[str, str] = field(default_factory=dict)


class Reach(StrEnum):
    """What an ending means: the memories its words name, those of the turn before, or all of the user's."""

    NAMED = "named"
    LAST = "last"
    EVERYTHING = "everything"


class Ending(Struct, frozen=True):
    """Words that end known memories and leave nothing in their place."""

    evidence: EvidenceSpan
    request_id: RequestId
    cause: Cause  # FORGET, RETRACTION or MODEL
    target: str = ""  # the words that name what ends
    reach: Reach = Reach.NAMED
    only_rules: bool = False
    ends: MemoryRef | None = None  # a model's END: the known memory
    since: Millis | None = None  # when it stopped being true, where that is stated


class Extraction(Struct, frozen=True):
    """Notes and endings in the order in which they were said.

    `because` says why rules have read what a model should have; it is kept with the memories.
    """

    notes: list[Note]
    endings: list[Ending]
    origin: Origin
    because: str = ""
