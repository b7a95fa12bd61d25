"""Transactions. A transaction is a plain function handed to the store, so none can be open while a model is asked."""

import asyncio
from collections.abc import Callable, Sequence, Sized
from functools import cached_property
from typing import Any, TypeVar

import sqlalchemy as sa

from acumen.errors import BadSettings
from acumen.model.ids import Kind, Millis, OrgId, now
from acumen.model.playbook import AgentPlaybook, UserPlaybook
from acumen.model.profile import Profile
from acumen.settings import Settings
from acumen.storage.actions import Actions
from acumen.storage.alerts import Alerts
from acumen.storage.bookmarks import Bookmarks
from acumen.storage.clusters import Clusters
from acumen.storage.conversations import Conversations
from acumen.storage.database import Database
from acumen.storage.erasure import Erasure
from acumen.storage.evaluations import Evaluations
from acumen.storage.evidence import Evidence
from acumen.storage.experiments import Experiments
from acumen.storage.failures import Failures
from acumen.storage.figures import Figures
from acumen.storage.flags import Flags
from acumen.storage.hours import Hours
from acumen.storage.injections import Injections
from acumen.storage.jobs import JobLeases, Jobs
from acumen.storage.keys import Keys
from acumen.storage.lessons import Lessons
from acumen.storage.library import Library
from acumen.storage.lineage import Lineage
from acumen.storage.llm_calls import LlmCalls
from acumen.storage.marks import Marks
from acumen.storage.memories import Memories
from acumen.storage.memory_rows import MemoryRows
from acumen.storage.operations import Operations
from acumen.storage.orgs import Orgs
from acumen.storage.outcomes import Outcomes
from acumen.storage.playbooks import AGENT_PLAYBOOKS, USER_PLAYBOOKS
from acumen.storage.profiles import PROFILES
from acumen.storage.reviewed import Reviewed
from acumen.storage.runs import Runs
from acumen.storage.scope import Scope
from acumen.storage.search_rows import Mark, SearchRows
from acumen.storage.sessions import Sessions
from acumen.storage.shelf import Shelf
from acumen.storage.speakers import Speakers
from acumen.storage.together import Together
from acumen.storage.usage import Usage
from acumen.storage.verdicts import Verdicts
from acumen.storage.views import Views

T = TypeVar("T")
I = TypeVar("I", bound=Sized)  # noqa: E741 - what is written


class Tx:
    """One transaction of one org: the repositories, by attribute."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.at = scope.at

    @cached_property
    def conversations(self) -> Conversations:
        return Conversations(self.scope)

    @cached_property
    def sessions(self) -> Sessions:
        return Sessions(self.scope)

    @cached_property
    def evaluations(self) -> Evaluations:
        return Evaluations(self.scope)

    @cached_property
    def figures(self) -> Figures:
        return Figures(self.scope)

    @cached_property
    def bookmarks(self) -> Bookmarks:
        return Bookmarks(self.scope)

    @cached_property
    def operations(self) -> Operations:
        return Operations(self.scope)

    @cached_property
    def hours(self) -> Hours:
        return Hours(self.scope)

    @cached_property
    def failures(self) -> Failures:
        return Failures(self.scope)

    @cached_property
    def shelf(self) -> Shelf:
        return Shelf(self.scope)

    @cached_property
    def alerts(self) -> Alerts:
        return Alerts(self.scope)

    @cached_property
    def verdicts(self) -> Verdicts:
        return Verdicts(self.scope)

    @cached_property
    def lessons(self) -> Lessons:
        return Lessons(self.scope)

    @cached_property
    def profiles(self) -> MemoryRows[Profile]:
        return MemoryRows(self.scope, PROFILES)

    @cached_property
    def user_playbooks(self) -> MemoryRows[UserPlaybook]:
        return MemoryRows(self.scope, USER_PLAYBOOKS)

    @cached_property
    def agent_playbooks(self) -> MemoryRows[AgentPlaybook]:
        return MemoryRows(self.scope, AGENT_PLAYBOOKS)

    @cached_property
    def by_kind(self) -> dict[Kind, MemoryRows[Profile] | MemoryRows[UserPlaybook] | MemoryRows[AgentPlaybook]]:
        return {
            Kind.PROFILE: self.profiles,
            Kind.USER_PLAYBOOK: self.user_playbooks,
            Kind.AGENT_PLAYBOOK: self.agent_playbooks,
        }

    @cached_property
    def memories(self) -> Memories:
        return Memories(self.by_kind, self.search_rows, self.lineage, self.evidence, self.reviewed)

    @cached_property
    def evidence(self) -> Evidence:
        return Evidence(self.scope, self.search_rows)

    @cached_property
    def speakers(self) -> Speakers:
        return Speakers(self.scope)

    @cached_property
    def search_rows(self) -> SearchRows:
        return SearchRows(self.scope)

    @cached_property
    def search_mark(self) -> Mark:
        """Asked once: a search looks through several kinds, and to a reader its snapshot stands still."""
        return self.search_rows.mark()

    @cached_property
    def library(self) -> Library:
        return Library(self.scope)

    @cached_property
    def lineage(self) -> Lineage:
        return Lineage(self.scope)

    @cached_property
    def injections(self) -> Injections:
        return Injections(self.scope)

    @cached_property
    def usage(self) -> Usage:
        return Usage(self.scope)

    @cached_property
    def llm_calls(self) -> LlmCalls:
        return LlmCalls(self.scope)

    @cached_property
    def actions(self) -> Actions:
        return Actions(self.scope)

    @cached_property
    def marks(self) -> Marks:
        return Marks(self.scope)

    @cached_property
    def flags(self) -> Flags:
        return Flags(self.scope)

    @cached_property
    def outcomes(self) -> Outcomes:
        return Outcomes(self.scope)

    @cached_property
    def experiments(self) -> Experiments:
        return Experiments(self.scope)

    @cached_property
    def views(self) -> Views:
        return Views(self.scope)

    @cached_property
    def reviewed(self) -> Reviewed:
        return Reviewed(self.actions, self.marks, self.flags, self.injections, self.views)

    @cached_property
    def runs(self) -> Runs:
        return Runs(self.scope)

    @cached_property
    def clusters(self) -> Clusters:
        return Clusters(self.scope)

    @cached_property
    def erasure(self) -> Erasure:
        return Erasure(self.scope)

    @cached_property
    def jobs(self) -> Jobs:
        return Jobs(self.scope)

    @cached_property
    def keys(self) -> Keys:
        return Keys(self.scope)

    @cached_property
    def orgs(self) -> Orgs:
        return Orgs(self.scope)


class OrgStore:
    """The store as one org sees it: no query can forget the org."""

    def __init__(self, store: "Store", org: OrgId, clock: Callable[[], Millis]) -> None:
        self._store = store
        self._database = store.database
        self._clock = clock
        self.org = org

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """On a connection that cannot write, in one snapshot."""
        return await self._database.read(lambda conn: fn(self._tx(conn)))

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """Returns after COMMIT."""
        return await self._database.write(lambda conn: fn(self._tx(conn)))

    async def write_together(self, fn: Callable[[Tx, Sequence[I]], Sequence[T]], item: I) -> T:
        """Returns after COMMIT, in which whoever wants the same `fn` at the same time has a part."""
        gathered = self._store.gathered.get((self.org, fn))
        if gathered is None:
            gathered = Together(lambda items: self.write(lambda tx: fn(tx, items)), self._store.most_waiting)
            self._store.gathered[self.org, fn] = gathered
        answer: T = await gathered.add(item)
        return answer

    async def scrub(self) -> None:
        """Not only the rows but the bytes of what was erased are gone, as far as that is ours to do."""
        await asyncio.get_running_loop().run_in_executor(None, self._database.scrub)

    def _tx(self, conn: sa.Connection) -> Tx:
        return Tx(Scope(conn, self._database, self.org, self._clock()))


class Store:
    """The database, before it is known whose data is meant."""

    def __init__(self, database: Database, clock: Callable[[], Millis] = now, most_waiting: int = 4096) -> None:
        self.database = database
        self.most_waiting = most_waiting
        self.gathered: dict[tuple[OrgId, Any], Together[Any, Any]] = {}
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
        from acumen.storage.sqlite import Sqlite  # noqa: PLC0415 - Postgres users need no SQLite driver

        _make_folder(settings)
        return Sqlite(settings.sqlite_path, most)
    if not settings.database_url.startswith(("postgresql://", "postgres://")):
        raise BadSettings("database_url (ACUMEN_DATABASE_URL) must start with postgresql://, or be empty for SQLite.")
    from acumen.storage.postgres import Postgres  # noqa: PLC0415 - SQLite users need no Postgres driver

    return Postgres(settings.database_url.replace("postgres://", "postgresql://", 1), most)


def _make_folder(settings: Settings) -> None:
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as wrong:
        raise BadSettings(f"The data folder {settings.data_dir} cannot be made: {wrong.strerror}.") from None
