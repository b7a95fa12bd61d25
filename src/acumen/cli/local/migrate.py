"""`acumen migrate`: the database schema of this version."""

from typing import Annotated

import typer
from msgspec.structs import asdict

from acumen.cli.local.setup import settings_of
from acumen.cli.options import AsJson, ConfigFile, Data, examples
from acumen.cli.output import show
from acumen.operate import SchemaChange, migrate_database

app = typer.Typer()


@app.command(epilog=examples("acumen migrate --check", "ACUMEN_DATABASE_URL=postgresql://… acumen migrate"))
def migrate(
    check: Annotated[bool, typer.Option("--check", help="Report only; change nothing.")] = False,
    data: Data = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Upgrade the database schema to this version. SQLite is upgraded automatically at every start."""
    change = migrate_database(settings_of(data, config), only_check=check)
    show(as_json, {**asdict(change), "needed": change.after != change.newest}, _sentence(change))


def _sentence(change: SchemaChange) -> str:
    if change.before == change.after == change.newest:
        return f"The database is at schema {change.newest}, the newest. Nothing to do."
    if change.before == change.after:
        return f"The database is at schema {_name(change.before)}; `acumen migrate` upgrades it to {change.newest}."
    return f"Upgraded the database from schema {_name(change.before)} to {_name(change.after)}."


def _name(revision: str | None) -> str:
    return revision or "none"
