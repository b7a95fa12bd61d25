"""Accept conversations, and read them back."""

from collections.abc import Sequence

from msgspec import Struct

from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.model.conversation import Interaction, Request
from acumen.model.ids import Millis, RequestId, SessionId, UserId
from acumen.model.jobs.events import Published, SessionEnded, SessionQuiet
from acumen.model.jobs.job import Job, JobState
from acumen.model.redaction import Redactor
from acumen.storage.engine.scope import OrgLock
from acumen.storage.store import Tx


class Publication(Struct, frozen=True):
    """A request to store, and the event it triggers."""

    request: Request
    turns: Sequence[Interaction]
    event: Published | SessionQuiet
    due_at: Millis | None  # None: now

    def __len__(self) -> int:
        return len(self.turns)


class Accepted(Struct, frozen=True):
    """`is_new` is false when the same request was stored before; `warning` says what was redacted, if anything."""

    is_new: bool
    warning: str | None


async def publish(request: Request, turns: Sequence[Interaction], deps: Deps) -> Accepted:
    """Committed when this returns, without secrets."""
    redactor = Redactor(keep_secrets=deps.settings.observe.keep_secrets)
    turns = [redactor.struct(turn) for turn in turns]
    if request.evaluation_only:
        quiet = SessionQuiet(request.user_id, request.session_id)
        publication = Publication(request, turns, quiet, _quiet_at(request, deps))
    else:
        publication = Publication(request, turns, Published(request.user_id, request.id), None)
    is_new = await deps.store.write_batched(_store_all, publication, OrgLock.NONE)
    return Accepted(is_new, redactor.warning("the turns"))


def _store_all(tx: Tx, publications: Sequence[Publication]) -> list[bool]:
    """Publications of several callers in one transaction; returns for each whether it is new."""
    added = tx.conversations.add_all([(publication.request, publication.turns) for publication in publications])
    new = (publication for publication, is_new in zip(publications, added, strict=True) if is_new)
    for publication in new:
        tx.jobs.add(publication.event, publication.due_at, len(publication))
    return added


def _quiet_at(request: Request, deps: Deps) -> Millis:
    """When the session may be evaluated, if nothing more is published in it."""
    wait = 0 if request.session_finished else deps.settings.evaluation.quiet_seconds * 1000
    return Millis(request.created_at + wait)


async def finalize(user: UserId, session: SessionId, deps: Deps) -> None:
    """Ends the session: unread turns are extracted now, and the session is evaluated."""

    def store(tx: Tx) -> None:
        if not tx.sessions.exists(user, session):
            raise NotFound(f"User {user!r} has no session {session!r}.")
        tx.sessions.finish(user, session)
        tx.jobs.add(SessionEnded(user, session))
        tx.jobs.add(SessionQuiet(user, session))

    await deps.store.write_for_user(user, store)


class LearningProgress(Struct, frozen=True):
    """How far learning has come with a request."""

    status: str  # pending | processing | done | failed | not_tracked
    reason: str | None = None
    error: str | None = None  # the last error: which extractor failed and why


async def progress(request_id: RequestId, deps: Deps) -> LearningProgress:
    """A request is learned when the bookmark of every extractor that may read it has passed it."""
    return await deps.store.read(lambda tx: _progress(tx, request_id, deps))


def _progress(tx: Tx, request_id: RequestId, deps: Deps) -> LearningProgress:
    request = tx.conversations.get_request(request_id)
    if request is None:
        raise NotFound(f"There is no request {request_id!r}.")
    last = tx.conversations.get_last_id(request_id)
    if request.evaluation_only or last is None:
        return LearningProgress("not_tracked", "not_applicable" if request.evaluation_only else "inputs_erased")
    readers = [extractor for extractor in deps.config.extractors if extractor.reads(request.source)]
    if all(tx.bookmarks.get(request.user_id, reader.bookmark) >= last for reader in readers):
        return LearningProgress("done", "covered")
    return _of_jobs({job.state: job for job in tx.jobs.find_by_scope(Published.name, request.user_id)}, deps.now())


def _of_jobs(jobs: dict[JobState, Job], at: Millis) -> LearningProgress:
    if JobState.RUNNING in jobs:
        return LearningProgress("processing", "extracting")
    if waiting := jobs.get(JobState.WAITING):
        if waiting.attempts:
            return LearningProgress("pending", "retrying", waiting.last_error)
        # A job with a later time waits until the user has been idle.
        return LearningProgress("pending", "queued" if waiting.run_at <= at else "waiting_for_window")
    if dead := jobs.get(JobState.DEAD):
        return LearningProgress("failed", "the job failed too often; see `acumen status`", dead.last_error)
    return LearningProgress("pending", "waiting_for_window")


# --- reading back --------------------------------------------------------------------------------------------------


class RequestQuery(Struct, frozen=True):
    """Which requests; None means any. Both ends of the time range are included."""

    user_id: UserId | None = None
    session_id: SessionId | None = None
    request_id: RequestId | None = None
    source: str | None = None
    since: Millis | None = None
    until: Millis | None = None


# A session: its requests in order, each with its turns.
Session = list[tuple[Request, list[Interaction]]]


async def sessions(query: RequestQuery, limit: int, offset: int, deps: Deps) -> tuple[list[Session], bool]:
    """Sessions with a matching request, newest first, with only those requests; and whether more follow."""

    def read(tx: Tx) -> tuple[list[Session], bool]:
        selected = tx.conversations.select_requests(
            user=query.user_id,
            session=query.session_id,
            request=query.request_id,
            source=query.source,
            since=query.since,
            until=query.until,
        )
        pages, more = tx.conversations.page_sessions(selected, limit, offset)
        return [_session(tx, requests) for requests in pages], more

    return await deps.store.read(read)


def _session(tx: Tx, requests: Sequence[Request]) -> Session:
    turns: dict[RequestId, list[Interaction]] = {request.id: [] for request in requests}
    for turn in tx.conversations.find_by_requests(list(turns)):
        turns[turn.request_id].append(turn)
    return [(request, turns[request.id]) for request in requests]


async def newest_turns(
    user: UserId | None, limit: int | None, deps: Deps, since: Millis | None = None, until: Millis | None = None
) -> list[Interaction]:
    """Of a user or of all, oldest first."""
    return await deps.store.read(lambda tx: tx.conversations.find_newest(user, limit, since, until))


class LearnedCounts(Struct, frozen=True):
    """How many memories a request added and updated."""

    profiles_added: int
    profiles_updated: int
    playbooks_added: int
    playbooks_updated: int


async def learned_from(request_id: RequestId, deps: Deps) -> LearnedCounts:
    profiles, playbooks = await deps.store.read(lambda tx: tx.lineage.count_caused_by(request_id))
    added = profiles.get("add", 0), playbooks.get("add", 0)
    return LearnedCounts(added[0], sum(profiles.values()) - added[0], added[1], sum(playbooks.values()) - added[1])
