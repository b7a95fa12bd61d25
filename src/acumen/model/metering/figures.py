"""Sums over many sessions, as the database adds them up."""

from msgspec import Struct, field

from acumen.model.ids import MemoryRef, Millis, SessionId

# Corrections in a session, up to this many; the last bin holds all that are more.
MOST_CORRECTIONS = 5


class ReportPeriod(Struct, frozen=True):
    """From `since` to `until`, both included."""

    since: Millis
    until: Millis

    @property
    def before(self) -> "ReportPeriod":
        """As long a time, right before this one."""
        length = self.until - self.since + 1
        return ReportPeriod(Millis(self.since - length), Millis(self.since - 1))

    def holds(self, at: Millis) -> bool:
        return self.since <= at <= self.until


class Totals(Struct, frozen=True):
    """Of sessions that ended in a period."""

    sessions: int = 0
    successes: int = 0
    system_errors: int = 0  # failures that were not the agent's
    corrections: int = 0
    resolved: int = 0  # sessions of which it is known how many turns they took
    turns: int = 0
    escalations: int = 0

    @property
    def success_rate(self) -> float:
        return self.successes / self.sessions if self.sessions else 0.0

    @property
    def behaviour_rate(self) -> float | None:
        """Of the sessions that the agent could have got right; None where there are none."""
        eligible = self.sessions - self.system_errors
        return self.successes / eligible if eligible else None

    @property
    def mean_corrections(self) -> float:
        return self.corrections / self.sessions if self.sessions else 0.0

    @property
    def mean_turns(self) -> float:
        return self.turns / self.resolved if self.resolved else 0.0

    @property
    def escalation_rate(self) -> float:
        return self.escalations / self.sessions if self.sessions else 0.0


class Attribution(Struct, frozen=True):
    """How the sessions ended in which a memory was cited."""

    ref: MemoryRef
    successes: int
    failures: int
    sessions: list[SessionId] = field(default_factory=list)

    @property
    def net(self) -> int:
        return self.successes - self.failures


class Wins(Struct, frozen=True):
    """How answers did against their shadows."""

    wins: int = 0
    losses: int = 0
    ties: int = 0

    @property
    def compared(self) -> int:
        return self.wins + self.losses + self.ties

    def __add__(self, more: "Wins") -> "Wins":
        return Wins(self.wins + more.wins, self.losses + more.losses, self.ties + more.ties)
