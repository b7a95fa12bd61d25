"""`acumen migrate`: bring the database to the schema of this version, or tell how far it is from there."""

import asyncio

from msgspec import Struct
from msgspec.structs import asdict

from acumen.cli.local import database_exists
from acumen.cli.output import show
from acumen.settings import Settings
from acumen.storage.engine import migrate
from acumen.storage.engine.database import Database
from acumen.storage.store import connect


class Step(Struct, frozen=True):
    """Where the schema was and where it is now; None is an empty database."""

    before: str | None
    after: str | None
    newest: str = migrate.HEAD

    @property
    def sentence(self) -> str:
        if self.before == self.after == self.newest:
            return f"The database is at schema {self.newest}, the newest: nothing to do."
        if self.before == self.after:
            return f"The database is at schema {_name(self.before)}; `acumen migrate` brings it to {self.newest}."
        return f"The database went from schema {_name(self.before)} to {_name(self.after)}."


def run(settings: Settings, *, only_check: bool, as_json: bool) -> None:
    if only_check and not database_exists(settings):
        step = Step(None, None)
    else:
        step = _on(connect(settings), only_check=only_check)
    show(as_json, {**asdict(step), "needed": step.after != step.newest}, step.sentence)


def _on(database: Database, *, only_check: bool) -> Step:
    try:
        before = asyncio.run(database.read(migrate.current))
        if migrate.needed(database) and not only_check:
            migrate.migrate(database)
        return Step(before, asyncio.run(database.read(migrate.current)))
    finally:
        database.close()


def _name(revision: str | None) -> str:
    return revision or "nothing"
