"""`acumen backup`: a checked copy of the database, while the server runs."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import asdict

from acumen.cli.local.setup import settings_of
from acumen.cli.options import AsJson, ConfigFile, Data, examples
from acumen.cli.output import show, size
from acumen.errors import BadInput
from acumen.operate import back_up

app = typer.Typer()


@app.command(epilog=examples("acumen backup ~/acumen-monday.db", "acumen backup /mnt/copies/acumen.db --data ./memory"))
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New file, preferably on another disk.")],
    data: Data = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Back up the SQLite database while the server runs, and check the copy."""
    settings = settings_of(data, config)
    if not file.absolute().parent.is_dir():
        raise BadInput(f"Folder {file.absolute().parent} does not exist.")
    copy = back_up(settings, file)
    text = (
        f"Wrote {copy.path} ({size(copy.bytes)}, {copy.seconds} s). Integrity check passed.\n"
        f"To restore it: stop the server and run `acumen restore {copy.path} --overwrite`."
    )
    show(as_json, asdict(copy), text)
