"""The commands that work on this machine, as they are typed; what they do stands in the files they name.

Each imports its file when it runs: `acumen serve` starts faster for not loading the others.
"""
# ruff: noqa: PLC0415 - see above

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from acumen.cli.options import AsJson, ConfigFile, Data, examples

app = typer.Typer()
keys = typer.Typer(
    help="Make, list and revoke keys, in the database itself: the first one must be made on its machine.",
    no_args_is_help=True,
)
app.add_typer(keys, name="keys")

Host = Annotated[str | None, typer.Option(show_default="127.0.0.1", help="Address to listen on.")]
Port = Annotated[int | None, typer.Option(show_default="8061", help="Port to listen on; 0 takes a free one.")]
Workers = Annotated[int | None, typer.Option(show_default="4", help="Jobs run at once.")]
# After how many new objects Python looks for garbage, among the young, the older and all.
RARELY = (20_000, 20, 50)
Roles = Literal["reader", "agent", "reviewer", "admin"]


@app.command(
    epilog=examples(
        "acumen serve",
        "acumen serve --port 9000 --data ./memory",
        "ACUMEN_DATABASE_URL=postgresql://… acumen serve --host 0.0.0.0",
    )
)
def serve(
    host: Host = None,
    port: Port = None,
    data: Data = None,
    config: ConfigFile = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Serve the API, and do the background work, until stopped."""
    with _no_garbage():
        from acumen.cli import serve as room
        from acumen.cli.local import settings_of

    room.run(settings_of(data, config, host=host, port=port, **_jobs(workers)), as_json=as_json)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """What is loaded stays for good: looking through it for garbage takes a tenth of the start, and then goes on.

    A request leaves hardly any, so it is looked for less often than Python would: that is a twentieth of a publish.
    """
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(*RARELY)
    gc.enable()


@app.command(epilog=examples("ACUMEN_DATABASE_URL=postgresql://… acumen worker --workers 4"))
def worker(config: ConfigFile = None, workers: Workers = None, as_json: AsJson = False) -> None:
    """Do background work beside `acumen serve`, on the same Postgres."""
    from acumen.cli import worker as room
    from acumen.cli.local import settings_of

    room.run(settings_of(None, config, **_jobs(workers)), as_json=as_json)


def _jobs(workers: int | None) -> dict[str, dict[str, int]]:
    return {} if workers is None else {"jobs": {"workers": workers}}


@app.command(epilog=examples("acumen migrate --check", "ACUMEN_DATABASE_URL=postgresql://… acumen migrate"))
def migrate(
    check: Annotated[bool, typer.Option("--check", help="Only tell; change nothing.")] = False,
    data: Data = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Bring the database to the schema of this version; SQLite gets there by itself at every start."""
    from acumen.cli import migrate as room
    from acumen.cli.local import settings_of

    room.run(settings_of(data, config), only_check=check, as_json=as_json)


@app.command(epilog=examples("acumen backup ~/acumen-monday.db", "acumen backup /mnt/copies/acumen.db --data ./memory"))
def backup(
    file: Annotated[Path, typer.Argument(help="A new file; best on another disk.")],
    data: Data = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Copy the SQLite database while the server runs, and check the copy."""
    from acumen.cli import backup as room
    from acumen.cli.local import settings_of

    room.run(settings_of(data, config), file, as_json=as_json)


@app.command(epilog=examples("acumen doctor", "acumen doctor --port 9000 --data ./memory"))
def doctor(
    host: Host = None, port: Port = None, data: Data = None, config: ConfigFile = None, as_json: AsJson = False
) -> None:
    """Check everything that can be wrong with an installation, and say how to put it right."""
    from acumen.cli import doctor as room

    room.run(data, config, host, port, as_json=as_json)


@app.command(epilog=examples("acumen demo", "acumen demo --data ./demo && acumen serve --data ./demo"))
def demo(
    data: Annotated[
        Path | None, typer.Option(show_default="a new one", help="Empty folder to store the data in.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play a day of agent work through the whole loop, and show the result."""
    from acumen.cli import demo as room

    room.run(data, as_json=as_json)


# --- keys ---------------------------------------------------------------------------------------------------------


@keys.command(
    "create",
    epilog=examples(
        "acumen keys create laptop",
        "acumen keys create ci --role agent --expires 90d",
        "acumen keys create acme-admin --org acme",
    ),
)
def create_key(
    name: Annotated[str, typer.Argument(help="What to call it.")],
    role: Annotated[Roles, typer.Option(help="What its holder may do; each role may more than the last.")] = "admin",
    org: Annotated[str | None, typer.Option(show_default="self-host-org", help="Whose data it opens.")] = None,
    expires: Annotated[str | None, typer.Option(show_default="never", help="12h, 30d, 4w, or a date.")] = None,
    data: Data = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a key. Its secret is printed once and kept nowhere."""
    from acumen.cli import keys as room
    from acumen.cli.local import settings_of

    room.create(settings_of(data, config), name, role, org, expires, as_json=as_json)


@keys.command("list", epilog=examples("acumen keys list", "acumen keys list --json"))
def list_keys(data: Data = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List the keys of all orgs, the revoked ones too."""
    from acumen.cli import keys as room
    from acumen.cli.local import settings_of

    room.list_all(settings_of(data, config), as_json=as_json)


@keys.command("revoke", epilog=examples("acumen keys revoke key_0006…"))
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As `acumen keys list` shows it.")],
    data: Data = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a key, for good."""
    from acumen.cli import keys as room
    from acumen.cli.local import settings_of

    room.revoke(settings_of(data, config), key_id, as_json=as_json)
