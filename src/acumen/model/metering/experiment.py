"""A holdout experiment: some users get no memories, to measure the impact of memory."""

import hashlib

from msgspec import Struct

from acumen.model.ids import Millis

TREATMENT = "treatment"
HOLDOUT = "holdout"


class Experiment(Struct, frozen=True):
    """`holdout_percentage` of the users see nothing, from `started_at` until it is stopped."""

    id: str
    holdout_percentage: float
    started_at: Millis
    ended_at: Millis | None = None

    def arm_of(self, user: str) -> str:
        """Always the same for a user of one experiment, and unrelated to the arm of another experiment."""
        digest = hashlib.sha256(f"{self.id}\0{user}".encode()).digest()
        share = int.from_bytes(digest[:8]) / 2**64
        return HOLDOUT if share * 100 < self.holdout_percentage else TREATMENT


class Assignment(Struct, frozen=True):
    """Which arm of which experiment a user is in."""

    experiment_id: str
    arm: str

    @property
    def is_holdout(self) -> bool:
        return self.arm == HOLDOUT
