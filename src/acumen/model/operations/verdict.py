"""An auditor's word on a subject: what was found, and how often the same was found elsewhere."""

from msgspec import Struct

from acumen.model.ids import Millis
from acumen.model.operations.proposal import confidence, level


class VerdictFinding(Struct, frozen=True):
    """The signature determines the kind of fault, independent of where it occurs."""

    op_id: str
    subject: str
    overall: str  # approve | request_changes | block
    severity: str  # info | warn | block
    signature: str
    message: str
    created_at: Millis = Millis(0)


class Recurrence(Struct, frozen=True):
    signature: str
    count: int
    subjects: int

    @property
    def confidence(self) -> float:
        return confidence(self.subjects, self.count)

    @property
    def level(self) -> str:
        """One of none, info, warn and block; the same subject over and over never gets past info."""
        return level(self.subjects, self.count)
