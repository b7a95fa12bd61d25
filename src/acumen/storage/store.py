"""Transactions. A transaction is a plain function handed to the store, so none can be open while a model is asked."""

from collections.abc import Callable, Sequence, Sized
from functools import cached_property, partial
from typing import Any, TypeVar

import sqlalchemy as sa

from acumen.errors import BadSettings
from acumen.model.ids import Kind, Millis, OrgId, now
from acumen.model.memories.playbook import AgentPlaybook, UserPlaybook
from acumen.model.memories.profile import Profile
from acumen.settings import Settings
from acumen.storage.accounts.api_keys import ApiKeys
from acumen.storage.accounts.erasure import Erasure
from acumen.storage.accounts.orgs import Orgs
from acumen.storage.conversations.bookmarks import Bookmarks
from acumen.storage.conversations.conversations import Conversations
from acumen.storage.conversations.request_users import RequestUsers
from acumen.storage.conversations.sessions import SessionRecords
from acumen.storage.disk_reserve import freeing_space
from acumen.storage.engine.database import Database, Lock
from acumen.storage.engine.scope import OrgLock, OrgScope
from acumen.storage.engine.write_batcher import WriteBatcher
from acumen.storage.jobs.jobs import JobLeases, JobQueue
from acumen.storage.jobs.run_items import RunItems
from acumen.storage.jobs.runs import Runs
from acumen.storage.memories.aggregations import Aggregations
from acumen.storage.memories.candidates.engine import SearchScope
from acumen.storage.memories.candidates.engines import candidates_of
from acumen.storage.memories.candidates.postgres import PostgresCandidates
from acumen.storage.memories.change_numbers import IndexVersion
from acumen.storage.memories.clusters import Clusters
from acumen.storage.memories.conflicts import Conflicts
from acumen.storage.memories.hidden_turns import HiddenTurns
from acumen.storage.memories.lesson_sources import LessonSources
from acumen.storage.memories.lineage import Lineage
from acumen.storage.memories.memories import Memories
from acumen.storage.memories.memory_browser import MemoryBrowser
from acumen.storage.memories.memory_rows import MemoryRows
from acumen.storage.memories.playbooks import AGENT_PLAYBOOKS, USER_PLAYBOOKS
from acumen.storage.memories.profiles import PROFILES
from acumen.storage.memories.search_rows import SearchRows
from acumen.storage.metering.evaluations import Evaluations
from acumen.storage.metering.experiments import Experiments
from acumen.storage.metering.injections import Injections
from acumen.storage.metering.llm_calls import LlmCalls
from acumen.storage.metering.outcomes import Outcomes
from acumen.storage.metering.session_statistics import SessionStatistics
from acumen.storage.metering.usage import Usage
from acumen.storage.operations.alerts import AlertLog
from acumen.storage.operations.failure_group_index import FailureGroupIndex
from acumen.storage.operations.failures import Failures
from acumen.storage.operations.hourly_counts import HourlyCounts
from acumen.storage.operations.operations import Operations
from acumen.storage.operations.proposals import Proposals
from acumen.storage.operations.verdicts import Verdicts
from acumen.storage.review.actions import Actions
from acumen.storage.review.memory_flags import MemoryFlags
from acumen.storage.review.review_queue import ReviewQueue
from acumen.storage.review.review_records import ReviewRecords
from acumen.storage.review.review_states import ReviewStates
from acumen.storage.review.saved_views import SavedViews
from acumen.telemetry import traces

T = TypeVar("T")
R = TypeVar("R")
I = TypeVar("I", bound=Sized)  # noqa: E741 - what is written


def _of(repository: Callable[[OrgScope], R]) -> "cached_property[R]":
    """A repository of the transaction, made when it is first asked for."""
    return cached_property(lambda tx: repository(tx.scope))


class Tx:
    """One transaction of one org: the repositories, by attribute."""

    def __init__(self, scope: OrgScope) -> None:
        self.scope = scope
        self.at = scope.at

    orgs = _of(Orgs)
    api_keys = _of(ApiKeys)
    jobs = _of(JobQueue)
    runs = _of(Runs)
    run_items = _of(RunItems)
    conversations = _of(Conversations)
    request_users = _of(RequestUsers)
    sessions = _of(SessionRecords)
    bookmarks = _of(Bookmarks)
    operations = _of(Operations)
    hourly_counts = _of(HourlyCounts)
    failures = _of(Failures)
    failure_group_index = _of(FailureGroupIndex)
    alerts = _of(AlertLog)
    verdicts = _of(Verdicts)
    proposals = _of(Proposals)
    evaluations = _of(Evaluations)
    session_statistics = _of(SessionStatistics)
    outcomes = _of(Outcomes)
    experiments = _of(Experiments)
    llm_calls = _of(LlmCalls)
    clusters = _of(Clusters)
    conflicts = _of(Conflicts)
    sources = _of(LessonSources)
    aggregations = _of(Aggregations)
    search_rows = _of(SearchRows)
    memory_browser = _of(MemoryBrowser)
    lineage = _of(Lineage)
    injections = _of(Injections)
    usage = _of(Usage)
    actions = _of(Actions)
    review_states = _of(ReviewStates)
    memory_flags = _of(MemoryFlags)
    saved_views = _of(SavedViews)
    erasure = _of(Erasure)
    profiles = cached_property(lambda tx: MemoryRows(tx.scope, PROFILES))
    user_playbooks = cached_property(lambda tx: MemoryRows(tx.scope, USER_PLAYBOOKS))
    agent_playbooks = cached_property(lambda tx: MemoryRows(tx.scope, AGENT_PLAYBOOKS))
    hidden_turns = cached_property(lambda tx: HiddenTurns(tx.scope, tx.search_rows))
    review_records = cached_property(
        lambda tx: ReviewRecords(tx.actions, tx.review_states, tx.memory_flags, tx.injections, tx.saved_views)
    )
    review_queue = cached_property(lambda tx: ReviewQueue(tx.scope, tx.memory_flags, tx.conflicts))
    memories = cached_property(
        lambda tx: Memories(tx.by_kind, tx.search_rows, tx.lineage, tx.hidden_turns, tx.review_records, tx.conflicts)
    )

    @cached_property
    def by_kind(self) -> dict[Kind, MemoryRows[Profile] | MemoryRows[UserPlaybook] | MemoryRows[AgentPlaybook]]:
        return {
            Kind.PROFILE: self.profiles,
            Kind.USER_PLAYBOOK: self.user_playbooks,
            Kind.AGENT_PLAYBOOK: self.agent_playbooks,
        }

    def candidates(self, search_scope: SearchScope) -> PostgresCandidates | None:
        """None where the scope has to be searched in memory."""
        return candidates_of(self.scope, search_scope, self.by_kind)

    @cached_property
    def index_version(self) -> IndexVersion:
        """Queried once: a search looks through several kinds, and a reader's snapshot does not change."""
        return self.search_rows.get_version()


class OrgStore:
    """The store as one org sees it: no query can forget the org."""

    def __init__(self, store: "Store", org: OrgId, clock: Callable[[], Millis]) -> None:
        self._store = store
        self._database = store.database
        self._clock = clock
        self.org = org

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """On a connection that cannot write, in one snapshot."""
        with traces.transaction("db read", fn):
            return await self._database.read(lambda conn: fn(self._tx(conn, OrgLock.NONE)))

    async def write_freeing(self, fn: Callable[[Tx], T]) -> T:
        """Like `write`, for deletes: on a full disk they may use the room that is kept for them."""
        with freeing_space():
            return await self.write(fn)

    async def write(self, fn: Callable[[Tx], T], *, hold_org: bool = True) -> T:
        """Returns after COMMIT.

        The transaction begins with the lock of the whole org. One without it may lock users and insert rows, but not
        change what others of the org read and change: see the lock order in `scope.py`.
        """
        key = f"org:{self.org}"
        with traces.transaction("db write", fn):
            if not hold_org:
                return await self._database.write(lambda conn: self._run(conn, fn, OrgLock.NONE))
            return await self._database.write(lambda conn: self._run(conn, fn, OrgLock.WHOLE), Lock(key), queue=key)

    async def write_for_user(self, user: str, fn: Callable[[Tx], T]) -> T:
        """Next to writers for other users, and next to publishing for this one: changes only rows of this user."""

        def run(conn: sa.Connection) -> T:
            return self._run(conn, fn, OrgLock.SHARED, user)

        with traces.transaction("db write", fn):
            return await self._database.write(run, self._shared, queue=f"user:{self.org}:{user}")

    async def write_shared(self, fn: Callable[[Tx], T]) -> T:
        """Next to writers for users: changes only rows that nobody changes without the lock that `fn` takes, or else
        the whole org.
        """
        with traces.transaction("db write", fn):
            return await self._database.write(lambda conn: self._run(conn, fn, OrgLock.SHARED), self._shared)

    def _run(self, conn: sa.Connection, fn: Callable[[Tx], T], lock: OrgLock, user: str | None = None) -> T:
        tx = self._tx(conn, lock)
        if user is not None:
            tx.scope.lock_learning(user)
        answer = fn(tx)
        tx.jobs.write()
        return answer

    @property
    def _shared(self) -> Lock:
        return Lock(f"org:{self.org}", shared=True)

    async def write_batched(self, fn: Callable[[Tx, Sequence[I]], Sequence[T]], item: I, lock: OrgLock) -> T:
        """Returns after COMMIT; concurrent calls with the same `fn` share a transaction, which begins with the lock."""
        batcher = self._store.batchers.get((self.org, fn))
        if batcher is None:
            write = self.write_shared if lock is OrgLock.SHARED else partial(self.write, hold_org=lock is OrgLock.WHOLE)
            batcher = WriteBatcher(lambda items: write(lambda tx: fn(tx, items)), self._store.most_waiting)
            self._store.batchers[self.org, fn] = batcher
        with traces.transaction("db batched write", fn):
            answer: T = await batcher.add(item)
        return answer

    async def scrub(self) -> bool:
        """Whether the bytes of what was erased are gone too, as far as that is ours to do."""
        return await self._database.scrub()

    def _tx(self, conn: sa.Connection, org_lock: OrgLock) -> Tx:
        return Tx(OrgScope(conn, self._database, self.org, self._clock(), org_lock))


class Store:
    """The database, before it is known whose data is meant."""

    def __init__(self, database: Database, clock: Callable[[], Millis] = now, most_waiting: int = 4096) -> None:
        self.database = database
        self.most_waiting = most_waiting
        self.batchers: dict[tuple[OrgId, Any], WriteBatcher[Any, Any]] = {}
        self._clock = clock

    def of(self, org: OrgId) -> OrgStore:
        return OrgStore(self, org, self._clock)

    async def read(self, fn: Callable[[sa.Connection], T]) -> T:
        return await self.database.read(fn)

    async def lease(self, fn: Callable[[JobLeases], T]) -> T:
        """A worker's transaction over the jobs of all orgs."""
        return await self.database.write(lambda conn: fn(JobLeases(conn, self.database, self._clock())))

    async def peek(self, fn: Callable[[JobLeases], T]) -> T:
        return await self.database.read(lambda conn: fn(JobLeases(conn, self.database, self._clock())))

    def close(self) -> None:
        self.database.close()


def connect(settings: Settings) -> Database:
    """The database that the settings name; the driver of the other one is never loaded."""
    most = settings.limits.waiting_writes
    if not settings.database_url:
        from acumen.storage.engine.sqlite import Sqlite  # noqa: PLC0415 - Postgres users need no SQLite driver

        _make_folder(settings)
        return Sqlite(settings.sqlite_path, most, settings.limits.reserve_mb * 1024 * 1024)
    if not settings.database_url.startswith(("postgresql://", "postgres://")):
        raise BadSettings("database_url (ACUMEN_DATABASE_URL) must start with postgresql://, or be empty for SQLite.")
    from acumen.storage.engine.postgres import Postgres  # noqa: PLC0415 - SQLite users need no Postgres driver

    return Postgres(settings.database_url.replace("postgres://", "postgresql://", 1), most)


def _make_folder(settings: Settings) -> None:
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as wrong:
        raise BadSettings(f"The data folder {settings.data_dir} cannot be made: {wrong.strerror}.") from None
