"""`acumen restore`: a backup in the place of the SQLite database."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import asdict

from acumen.cli.local.setup import settings_of
from acumen.cli.options import AsJson, ConfigFile, Data, examples
from acumen.cli.output import show, size
from acumen.operate import restore_backup

app = typer.Typer()


@app.command(
    epilog=examples("acumen restore ~/acumen-monday.db", "acumen restore acumen.db --overwrite --data ./memory")
)
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `acumen backup` made.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a database, and keep it renamed.")] = False,
    data: Data = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Restore a backup while the server is stopped. SQLite only; the backup is checked first."""
    restored = restore_backup(settings_of(data, config), file, overwrite=overwrite)
    counts = ", ".join(f"{number:,} {table.replace('_', ' ')}" for table, number in restored.counts.items())
    lines = [
        f"Checked {restored.source} and restored it to {restored.path} ({size(restored.bytes)}).",
        f"It holds {counts}.",
    ]
    if restored.replaced:
        lines.append(f"The previous database is now {restored.replaced}; delete it when you no longer need it.")
    if restored.schema != restored.newest:
        lines.append(f"It has schema {restored.schema}; the next start upgrades it to {restored.newest}.")
    show(as_json, asdict(restored), "\n".join(lines))
