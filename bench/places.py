"""Where a measured server keeps its data: SQLite in a fresh folder, or a PostgreSQL of our own."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from msgspec import Struct

from acumen.settings import Settings, load
from acumen.storage.engine import migrate
from acumen.storage.store import Store, connect
from bench.figures import Run


class Place(Struct, frozen=True):
    """An empty, migrated database and how a server is told of it."""

    data: Path
    database_url: str = ""

    @property
    def environ(self) -> dict[str, str]:
        return {"ACUMEN_DATA": str(self.data), "ACUMEN_DATABASE_URL": self.database_url}

    @property
    def settings(self) -> Settings:
        return load(self.environ)

    def migrate(self) -> None:
        store = Store(connect(self.settings))
        migrate.migrate(store.database)
        store.close()


MakePlace = Callable[[Run], AbstractContextManager[Place]]


@contextmanager
def sqlite(run: Run) -> Iterator[Place]:
    yield Place(Path(tempfile.mkdtemp(dir=run.folder)) / "data")


@contextmanager
def postgres(run: Run) -> Iterator[Place]:
    """Waits for the disk at every commit, as a server that is trusted with data does; a quick run does not."""
    from tests import postgres as pg  # noqa: PLC0415 - the other lines run without PostgreSQL installed

    with pg.running(durable=not run.quick) as server:
        place = Place(Path(tempfile.mkdtemp(dir=run.folder)) / "data", server.create())
        place.migrate()
        yield place
