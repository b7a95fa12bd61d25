"""`acumen migrate`: the database schema of this version, and a whole store from one database to another."""

import time
from functools import partial
from typing import Annotated

import typer
from msgspec.structs import asdict

from acumen.cli.local.setup import settings_of
from acumen.cli.options import AsJson, ConfigFile, Data, examples
from acumen.cli.output import listed, show
from acumen.errors import BadInput, Conflict
from acumen.operate import CopyStep, Report, SchemaChange, copy_store, database_name, migrate_database, plan_copy

app = typer.Typer()

# Seconds between two lines about the same table.
REPORT_EVERY = 2.0


@app.command(
    epilog=examples(
        "acumen migrate --check",
        "ACUMEN_DATABASE_URL=postgresql://… acumen migrate",
        "acumen migrate --from sqlite:///~/.acumen --to postgresql://… --dry-run",
        "ACUMEN_DATABASE_URL=postgresql://… acumen migrate --from sqlite:////var/lib/acumen/acumen.db",
    )
)
def migrate(
    check: Annotated[bool, typer.Option("--check", help="Report only; change nothing.")] = False,
    source: Annotated[str | None, typer.Option("--from", help="Copy everything from this database.")] = None,
    target: Annotated[str | None, typer.Option("--to", help="Copy everything to this empty database.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be copied; change nothing.")] = False,
    data: Data = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Upgrade the database schema, or move a store to another database.

    SQLite is upgraded automatically at every start. To copy, stop all servers and name source and target:
    sqlite:///PATH (a file or a data folder) or postgresql://…; without one, the configured database is meant.
    """
    settings = settings_of(data, config)
    if source is None and target is None:
        if dry_run:
            raise BadInput("--dry-run goes with --from or --to; for the schema there is --check.")
        change = migrate_database(settings, only_check=check, progress=partial(typer.echo, err=True))
        show(as_json, {**asdict(change), "needed": change.after != change.newest}, _sentence(change))
        if change.advice:
            typer.echo(f"Large scopes are searched in memory: {change.advice}.", err=True)
        return
    if check:
        raise BadInput("--check is about the schema; to copy a store there is --dry-run.")
    configured = database_name(settings)
    (_show_plan if dry_run else _copy)(source or configured, target or configured, as_json=as_json)


def _show_plan(source: str, target: str, *, as_json: bool) -> None:
    plan = plan_copy(source, target)
    if plan.in_the_way:
        raise Conflict(f"The target has data already: {_counts(plan.in_the_way)}. Name an empty database.")
    rows = [(name, f"{count:,}", f"{plan.copied.get(name, 0):,}") for name, count in plan.rows.items() if count]
    total, copied = sum(plan.rows.values()), sum(plan.copied.values())
    summary = f"{total:,} rows to copy, {copied:,} already copied. Nothing changed."
    show(as_json, asdict(plan), listed(("table", "rows", "copied"), rows, summary))


def _copy(source: str, target: str, *, as_json: bool) -> None:
    began = time.monotonic()
    result = copy_store(source, target, _reporter())
    total = sum(result.rows.values())
    seconds = time.monotonic() - began
    text = (
        f"Copied {total:,} rows of {len(result.rows)} tables in {seconds:.0f} s; counts and checksums are equal. "
        "Start your servers on the target now, and keep the source until you have looked at it."
    )
    show(as_json, {**asdict(result), "total": total, "seconds": round(seconds, 1)}, text)


def _reporter() -> Report:
    """Prints to stderr: the first and the last of a table, and every few seconds in between."""
    printed: dict[tuple[str, str], float] = {}

    def report(step: CopyStep) -> None:
        key, at = (step.action, step.table), time.monotonic()
        if step.total and (step.rows >= step.total or at - printed.get(key, 0) >= REPORT_EVERY):
            printed[key] = at
            typer.echo(f"{step.action:6} {step.table:24} {step.rows:>12,} of {step.total:,}", err=True)

    return report


def _counts(rows: dict[str, int]) -> str:
    return ", ".join(f"{name} ({count:,})" for name, count in rows.items())


def _sentence(change: SchemaChange) -> str:
    if change.before == change.after == change.newest:
        return f"The database is at schema {change.newest}, the newest. Nothing to do."
    if change.before == change.after:
        return f"The database is at schema {_name(change.before)}; `acumen migrate` upgrades it to {change.newest}."
    return f"Upgraded the database from schema {_name(change.before)} to {_name(change.after)}."


def _name(revision: str | None) -> str:
    return revision or "none"
