"""`acumen backup`: a checked copy of the database, while the server runs."""

from pathlib import Path

from msgspec.structs import asdict

from acumen.cli.output import show, size
from acumen.settings import Settings
from acumen.storage.engine import backup


def run(settings: Settings, target: Path, *, as_json: bool) -> None:
    made = backup.make(settings, target)
    told = (
        f"Wrote {made.path} ({size(made.bytes)}, {made.seconds} s), and checked that it is whole.\n"
        f"To go back to it: stop the server, remove {settings.sqlite_path}-wal and -shm, and copy it over "
        f"{settings.sqlite_path}."
    )
    show(as_json, asdict(made), told)
