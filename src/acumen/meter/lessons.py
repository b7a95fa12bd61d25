"""The impact of a lesson: sessions with and without it, and before and after its approval."""

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.model.ids import Kind, Millis
from acumen.model.memories.playbook import Approval
from acumen.model.metering.intervals import Interval, newcombe, wilson
from acumen.storage.store import Tx

# A comparison needs this many sessions in each group.
LEAST_SESSIONS = 20


class Rate(Struct, frozen=True):
    """Sessions that made the call, and those of them in which it failed this way."""

    sessions: int
    failed: int

    @property
    def share(self) -> float | None:
        return self.failed / self.sessions if self.sessions else None

    @property
    def interval(self) -> Interval | None:
        return wilson(self.failed, self.sessions) if self.sessions else None


class Effect(Struct, frozen=True):
    shown: Rate
    not_shown: Rate
    before: Rate
    after: Rate

    @property
    def enough(self) -> bool:
        return min(self.shown.sessions, self.not_shown.sessions) >= LEAST_SESSIONS

    @property
    def difference(self) -> tuple[float, Interval] | None:
        """With the lesson minus without it; None with too few sessions."""
        shown, not_shown = self.shown, self.not_shown
        if not self.enough:
            return None
        interval = newcombe(shown.failed, shown.sessions, not_shown.failed, not_shown.sessions)
        return shown.failed / shown.sessions - not_shown.failed / not_shown.sessions, interval

    @property
    def verdict(self) -> str:
        if self.difference is None:
            return "not_enough_data"
        _, interval = self.difference
        return "helps" if interval.high < 0 else "harms" if interval.low > 0 else "no_effect_seen"


async def effect(playbook_id: int, deps: Deps) -> Effect:
    return await deps.store.read(lambda tx: _effect(tx, playbook_id))


def _effect(tx: Tx, playbook_id: int) -> Effect:
    proposal = tx.proposals.find_by_playbook(playbook_id)
    playbook = tx.agent_playbooks.get(str(playbook_id))
    if proposal is None or playbook is None:
        raise NotFound(f"There is no proposed lesson {playbook_id}.")
    groups = tuple(group.id for group in tx.failures.find_members(proposal.group_id)) if proposal.group_id else ()
    endpoints = tuple(proposal.detail.get("endpoints") or (proposal.endpoint,))
    sessions = tx.operations.find_sessions_of_call(proposal.source, endpoints, groups)
    shown = tx.usage.find_sessions(Kind.AGENT_PLAYBOOK, str(playbook_id))
    decided = proposal.decided_at if playbook.approval is Approval.APPROVED else None
    return compare(sessions, shown, decided)


def compare(sessions: dict[str, tuple[Millis, bool]], shown: set[str], decided_at: Millis | None) -> Effect:
    """By session: when it first made the call, and whether that failed in this way. Pure."""

    def rate(ids: set[str]) -> Rate:
        return Rate(len(ids), sum(sessions[session][1] for session in ids))

    every = set(sessions)
    early = {session for session, (at, _) in sessions.items() if decided_at is None or at < decided_at}
    return Effect(rate(every & shown), rate(every - shown), rate(early), rate(every - early))
