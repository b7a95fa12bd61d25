"""The world that tests act in: real databases, a running app, orgs with keys, and a clock that can be set.

Everything here runs once on each database. What is expensive is shared by all tests: one app, in which each test has
an org of its own. A test that moves the clock, changes settings or breaks things starts an app or a store of its own.
"""

import secrets
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import httpx
import psycopg
import pytest
import pytest_asyncio
import sqlalchemy as sa
from msgspec import Struct, field
from msgspec.structs import replace

from acumen.llm.embedding import Embedder, load_embedder
from acumen.llm.gateway import Gateway
from acumen.llm.scripted import Script
from acumen.model.account import ApiKey
from acumen.model.conversation import Interaction, Request
from acumen.model.ids import (
    InteractionId,
    Kind,
    MemoryRef,
    Millis,
    OrgId,
    PlaybookId,
    ProfileId,
    RequestId,
    SessionId,
    UserId,
    fresh_id,
    now,
)
from acumen.model.memories.playbook import AgentPlaybook, Lesson, UserPlaybook
from acumen.model.memories.profile import Profile
from acumen.model.memories.search import SearchRow
from acumen.settings import Limits, LlmSettings, Settings
from acumen.storage.engine import migrate
from acumen.storage.memories.candidates import engines
from acumen.storage.memories.lineage import Because
from acumen.storage.store import OrgStore, Store, Tx, connect
from acumen.storage.tables import jobs, metadata
from acumen_client.client import AsyncClient, Retry
from acumen_client.wire.shapes import Role

if TYPE_CHECKING:
    from acumen.app import App

DATABASES = ("sqlite", "postgres")
# Where the server believes to be listening: what it is called by decides whether keyless callers are answered.
HERE = "http://127.0.0.1:8061"
NEVER_AGAIN = Retry(attempts=1)


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Tests on a database share one event loop, because the app that they share lives in it."""
    for item in items:
        if pytest_asyncio.is_async_test(item) and "database" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


class Clock:
    """Real time, ahead by as much as a test says."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def __call__(self) -> Millis:
        return Millis(now() + int(self._ahead.total_seconds() * 1000))

    def forward(self, **by: float) -> None:
        """Lets time pass: `clock.forward(days=61)`."""
        self._ahead += timedelta(**by)


@pytest.fixture
def clock() -> Clock:
    return Clock()


# ----------------------------------------------------------------------------------------------------------- databases


@pytest.fixture(scope="session", params=DATABASES)
def database(request: pytest.FixtureRequest) -> str:
    """Which of the two; every test that stands on it runs once on each."""
    return str(request.param)


# Hundreds of folders need no reserve each.
SMALL = Limits(reserve_mb=0)

# For tests in which the database plays no part.
once = pytest.mark.parametrize("database", ["sqlite"], indirect=True, scope="session")


class Template(Struct, frozen=True):
    """A migrated database of which each test may have a copy; migrating anew would take longer."""

    settings: Settings
    postgres: Any = None
    # Databases that a test is done with: emptying one takes a tenth of the time that making one does.
    spare: list[str] = field(default_factory=list)

    @contextmanager
    def copied(self, folder: Path) -> Iterator[Settings]:
        if self.postgres is None:
            settings = Settings(data=folder, limits=SMALL)
            shutil.copy(self.settings.sqlite_path, settings.sqlite_path)
            yield settings
            return
        url = self.spare.pop() if self.spare else self.postgres.create(self.settings.database_url)
        yield Settings(data=folder, database_url=url)
        if _emptied(url):
            self.spare.append(url)
        else:
            self.postgres.drop(url)


def _emptied(url: str) -> bool:
    """False when a test has done more to the database than to fill it."""
    tables = [table.name for table in metadata.sorted_tables]
    try:
        with psycopg.connect(url, options="-c lock_timeout=2000") as connection:
            connection.execute("".join(f"DELETE FROM {name};" for name in tables).encode())
            sequences = connection.execute("SELECT sequencename FROM pg_sequences").fetchall()
            connection.execute("".join(f"ALTER SEQUENCE {name} RESTART;" for (name,) in sequences).encode())
            return connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(migrate.HEAD,)]
    except psycopg.Error:
        return False


@pytest.fixture(scope="session")
def template(database: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Template:
    server = request.getfixturevalue("postgres") if database == "postgres" else None
    settings = Settings(data=tmp_path_factory.mktemp("template"), database_url=server.create() if server else "")
    store = Store(connect(settings))
    migrate.migrate(store.database)
    engines.install(store.database, lambda _: None)
    store.close()
    return Template(settings, server)


@pytest.fixture
def settings(template: Template, tmp_path: Path) -> Iterator[Settings]:
    """Of a database that nobody else uses: migrated and empty."""
    with template.copied(tmp_path) as copied:
        yield copied


@pytest.fixture
def store(settings: Settings, clock: Clock) -> Iterator[Store]:
    """An empty store of the test's own."""
    opened = Store(connect(settings), clock)
    yield opened
    opened.close()


@pytest_asyncio.fixture(loop_scope="session")
async def org_store(app: "App", clock: Clock) -> OrgStore:
    """The store as a new org sees it, on the database that all tests share."""
    opened = Store(app.store.database, clock).of(OrgId(fresh_id("org")))
    await opened.write(lambda tx: tx.orgs.ensure())
    return opened


ORG = OrgId("acme")


async def rows_of(store: Store, org: OrgId, *without: str) -> dict[str, list[dict[str, Any]]]:
    """Everything stored for an org, table by table."""

    def read(conn: sa.Connection) -> dict[str, list[dict[str, Any]]]:
        return {
            table.name: [
                dict(row._mapping)
                for row in conn.execute(
                    sa.select(table).where(table.c.org_id == org).order_by(*table.primary_key.columns)
                )
            ]
            for table in metadata.sorted_tables
            if table.name not in without
        }

    return await store.read(read)


# ----------------------------------------------------------------------------------------------------------------- app


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The real one; loading it takes a fifth of a second, so all apps share it."""
    return load_embedder()


def make_app(
    settings: Settings, embedder: Embedder, clock: Callable[[], Millis] = now, script: Script | None = None
) -> "App":
    from acumen.app import App  # noqa: PLC0415 - who tests one room need not wait for all of them to load

    app = App(settings, clock)
    if script is not None:
        given = {"url": "http://127.0.0.1:9/v1", **settings.llm.model_dump(exclude_defaults=True)}
        app.gateway = Gateway(LlmSettings.model_validate(given), connect=script.connect)
    if settings.recall.embeddings:
        app.local_models._embedder = embedder
    return app


@asynccontextmanager
async def running(app: "App", *, work: bool) -> AsyncIterator["App"]:
    await app.start(work=work)
    try:
        yield app
    finally:
        await app.stop()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def app(template: Template, embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator["App"]:
    """One app for all tests, without a worker: a test says when jobs run. Has a key, so nobody is answered without."""
    with template.copied(tmp_path_factory.mktemp("shared")) as settings:
        async with running(make_app(settings, embedder), work=False) as started:
            await give_key(started, OrgId("nobodys"), Role.READER)
            yield started


Start = Callable[..., Awaitable["App"]]


@pytest_asyncio.fixture(loop_scope="session")
async def start(settings: Settings, embedder: Embedder, clock: Clock) -> AsyncIterator[Start]:
    """Starts an app of the test's own on the test's own database: `await start(work=True, meter={...})`.

    With `script=Script()...` it has a language model that says what the script says.
    """
    async with AsyncExitStack() as apps:

        async def begin(*, work: bool = False, script: Script | None = None, **changed: Any) -> "App":
            wanted = Settings.model_validate({**settings.model_dump(), **changed})
            return await apps.enter_async_context(running(make_app(wanted, embedder, clock, script), work=work))

        yield begin


# ---------------------------------------------------------------------------------------------------------------- orgs


async def give_key(app: "App", org: OrgId, role: Role, **about: Any) -> str:
    """A new key of the org; returns its secret."""
    secret = f"acm_{secrets.token_urlsafe(32)}"
    key = replace(ApiKey(fresh_id("key"), org, "of a test", role, secret[:8], Millis(0), None, None), **about)
    await app.open_org(org)
    await app.store.of(org).write(lambda tx: tx.api_keys.add(key, secret))
    return secret


# One per app, as in a process of its own.
_SERVERS: WeakKeyDictionary["App", Any] = WeakKeyDictionary()


def transport_to(app: "App", *, from_host: str = "127.0.0.1") -> httpx.ASGITransport:
    from acumen.api.server import web_app  # noqa: PLC0415 - as above

    if app not in _SERVERS:
        _SERVERS[app] = web_app(app)
    return httpx.ASGITransport(_SERVERS[app], client=(from_host, 50_000))


def http_to(app: "App", key: str | None = None, *, from_host: str = "127.0.0.1") -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.AsyncClient(base_url=HERE, headers=headers, transport=transport_to(app, from_host=from_host))


def sdk_to(app: "App", key: str | None = None) -> AsyncClient:
    return AsyncClient(HERE, key, transport=transport_to(app), retry=NEVER_AGAIN)


class Org(Struct, frozen=True):
    """An org on a running app, through the eyes of its admin."""

    id: OrgId
    app: "App"
    key: str
    sdk: AsyncClient
    http: httpx.AsyncClient

    async def learn(self) -> None:
        """Runs every job that is due; what earlier tests left undone is nobody's any more."""
        await self.app.store.database.write(lambda conn: conn.execute(sa.delete(jobs).where(jobs.c.org_id != self.id)))
        await self.app.worker.run_due()

    async def send(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        return await self.http.request(method, path, json=body, **more)

    async def rows(self, *without: str) -> dict[str, list[dict[str, Any]]]:
        return await rows_of(self.app.store, self.id, *without)


async def join(app: "App", role: Role = Role.ADMIN, name: str | None = None) -> Org:
    """A new org on the app, or a further key of the one that is named."""
    org = OrgId(name or fresh_id("org"))
    key = await give_key(app, org, role)
    return Org(org, app, key, sdk_to(app, key), http_to(app, key))


def local(app: "App") -> Org:
    """The org of an app without keys."""
    return Org(OrgId("self-host-org"), app, "", sdk_to(app), http_to(app))


@pytest_asyncio.fixture(loop_scope="session")
async def org(app: "App") -> Org:
    """An org of the test's own on the shared app."""
    return await join(app)


# -------------------------------------------------------------------------------------------------------------- values

ADA = UserId("ada")
JUST_BECAUSE = Because("a test wanted it")


def a_request(name: str = "r1", user: str = "ada", session: str = "s1", **more: Any) -> Request:
    return Request(RequestId(name), UserId(user), SessionId(session), **{"created_at": now(), "body_hash": "h", **more})


def a_turn(content: str, request: Request, **more: Any) -> Interaction:
    given = {"created_at": request.created_at, "role": "user", "content": content, **more}
    return Interaction(InteractionId(0), request.user_id, request.session_id, request.id, **given)


def a_profile(content: str = "Lives in Paris", user: str = "ada", **more: Any) -> Profile:
    at = now()
    return Profile(
        **{"id": ProfileId(fresh_id("prof")), "created_at": at, "updated_at": at, **more},
        user_id=UserId(user),
        content=content,
    )


def a_user_playbook(content: str = "Use us-west-2", user: str | None = "ada", **more: Any) -> UserPlaybook:
    at = now()
    owner = None if user is None else UserId(user)
    return UserPlaybook(PlaybookId(0), owner, Lesson(content), **{"created_at": at, "updated_at": at, **more})


def an_agent_playbook(content: str = "Run the tests first", **more: Any) -> AgentPlaybook:
    at = now()
    return AgentPlaybook(PlaybookId(0), Lesson(content), **{"created_at": at, "updated_at": at, **more})


def kind_of(memory: Profile | UserPlaybook | AgentPlaybook) -> Kind:
    if isinstance(memory, Profile):
        return Kind.PROFILE
    return Kind.USER_PLAYBOOK if isinstance(memory, UserPlaybook) else Kind.AGENT_PLAYBOOK


def keep(tx: Tx, memory: Profile | UserPlaybook | AgentPlaybook, words: str = "some words") -> MemoryRef:
    """Stores a memory that is found by some words."""
    kind = kind_of(memory)
    row = SearchRow(kind, "", getattr(memory, "user_id", None) or "", words, "w1")
    return tx.memories.add(kind, memory, row, JUST_BECAUSE)


# --------------------------------------------------------------------------------------------------------------- words


def said(*turns: str, user: str = "ada", session: str = "s1", **more: Any) -> dict[str, Any]:
    """What a publish sends: turns by the user, or by the agent where they begin with `agent:`."""
    return {
        "user_id": user,
        "session_id": session,
        "interaction_data_list": [
            {"role": "assistant", "content": turn.removeprefix("agent:").strip()}
            if turn.startswith("agent:")
            else {"role": "user", "content": turn}
            for turn in turns
        ],
        **more,
    }


def profile(content: str, user: str = "ada", **more: Any) -> dict[str, Any]:
    return {"user_id": user, "content": content, **more}


def playbook(content: str, user: str | None = "ada", **more: Any) -> dict[str, Any]:
    return {"user_id": user, "content": content, **more}
