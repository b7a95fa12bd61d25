"""Accept what was said."""

from collections.abc import Sequence

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.model.conversation import Interaction, Request
from acumen.model.ids import Millis, RequestId, SessionId, UserId
from acumen.model.jobs.events import Published, SessionEnded, SessionQuiet
from acumen.model.jobs.job import Job, JobState
from acumen.storage.store import Tx


class Publication(Struct, frozen=True):
    """A request to be stored, and what it causes."""

    request: Request
    turns: Sequence[Interaction]
    event: Published | SessionQuiet
    at: Millis | None  # when that is due; None: now

    def __len__(self) -> int:
        return len(self.turns)


async def publish(request: Request, turns: Sequence[Interaction], deps: Deps) -> bool:
    """Stored when this returns. False when the very same request had been stored before."""
    if request.evaluation_only:
        quiet = SessionQuiet(request.user_id, request.session_id)
        said = Publication(request, turns, quiet, _quiet_at(request, deps))
    else:
        said = Publication(request, turns, Published(request.user_id, request.id), None)
    return await deps.store.write_grouped(store_all, said, hold_org=False)


def store_all(tx: Tx, said: Sequence[Publication]) -> list[bool]:
    """What several callers published, with the jobs that it causes; of each whether it is new."""
    added = tx.conversations.add_all([(one.request, one.turns) for one in said])
    tx.jobs.add_all([(one.event, one.at) for one, is_new in zip(said, added, strict=True) if is_new])
    return added


def _quiet_at(request: Request, deps: Deps) -> Millis:
    """When the session may be judged, if nothing more is said in it."""
    wait = 0 if request.session_finished else deps.settings.evaluation.quiet_seconds * 1000
    return Millis(request.created_at + wait)


async def finalize(user: UserId, session: SessionId, deps: Deps) -> None:
    """Nothing more will be said in this session: what is unread is read now."""

    def store(tx: Tx) -> None:
        if not tx.sessions.exists(user, session):
            raise NotFound(f"User {user!r} has no session {session!r}.")
        tx.sessions.finish(user, session)
        tx.jobs.add(SessionEnded(user, session))
        tx.jobs.add(SessionQuiet(user, session))

    await deps.store.write(store)


class LearningProgress(Struct, frozen=True):
    """How far learning has come with one request."""

    status: str  # pending | processing | done | failed | not_tracked
    reason: str | None = None
    error: str | None = None  # the last one, which extractor failed and why


async def progress(request_id: RequestId, deps: Deps) -> LearningProgress:
    """Told by the data itself: a request is learned when every extractor that may read it has passed it."""
    return await deps.store.read(lambda tx: _progress(tx, request_id, deps))


def _progress(tx: Tx, request_id: RequestId, deps: Deps) -> LearningProgress:
    request = tx.conversations.get_request(request_id)
    if request is None:
        raise NotFound(f"There is no request {request_id!r}.")
    last = tx.conversations.get_last_id(request_id)
    if request.evaluation_only or last is None:
        return LearningProgress("not_tracked", "not_applicable" if request.evaluation_only else "inputs_erased")
    readers = [one for one in deps.config.extractors if one.reads(request.source)]
    if all(tx.bookmarks.get(request.user_id, reader.bookmark) >= last for reader in readers):
        return LearningProgress("done", "covered")
    return _of_jobs({job.state: job for job in tx.jobs.find_by_scope(Published.name, request.user_id)}, deps.now())


def _of_jobs(jobs: dict[JobState, Job], at: Millis) -> LearningProgress:
    if JobState.RUNNING in jobs:
        return LearningProgress("processing", "extracting")
    if waiting := jobs.get(JobState.WAITING):
        if waiting.attempts:
            return LearningProgress("pending", "retrying", waiting.last_error)
        # A job set for later looks again when the user has been idle; nothing happens before that.
        return LearningProgress("pending", "queued" if waiting.run_at <= at else "waiting_for_window")
    if dead := jobs.get(JobState.DEAD):
        return LearningProgress("failed", "the job failed too often; `acumen status` tells why", dead.last_error)
    return LearningProgress("pending", "waiting_for_window")
