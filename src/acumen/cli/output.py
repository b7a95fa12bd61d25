"""What commands print: JSON for programs, text and tables for people."""

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import typer
from pydantic import BaseModel

from acumen.model.prompt_injection import visible

# Width of a table when the output is not a terminal.
WIDTH_WITHOUT_SCREEN = 160
# Characters of a memory in a cell of a table.
TITLE = 60


def show(as_json: bool, value: Mapping[str, Any] | BaseModel, text: str) -> None:
    typer.echo(as_json_text(value) if as_json else text)


def as_json_text(value: Mapping[str, Any] | BaseModel) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json(indent=2, exclude_none=True)
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def table(headings: Sequence[str], rows: Sequence[Sequence[object]], width: int | None = None) -> str:
    """Aligned columns. A cell wider than its column is folded; `width` is that of the screen unless given."""
    from rich.console import Console  # noqa: PLC0415 - a command that prints one line should not load Rich
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for heading in headings:
        grid.add_column(heading.upper(), overflow="fold")
    for row in rows:
        # As Text, so that a memory with [brackets] is not taken for markup.
        grid.add_row(*(Text("-" if cell is None else visible(str(cell))) for cell in row))
    console = Console(width=width or (None if sys.stdout.isatty() else WIDTH_WITHOUT_SCREEN), color_system=None)
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def listed(headings: Sequence[str], rows: Sequence[Sequence[object]], summary: str) -> str:
    """A table with a summary below it; without rows the summary alone."""
    return f"{table(headings, rows)}\n\n{summary}" if rows else summary


def short(text: str) -> str:
    """The text on one line, cut to the width of a cell."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE else f"{line[: TITLE - 1].rstrip()}…"


def actor_name(actor: str) -> str:
    """Without keys, callers on this machine are `local`."""
    return "local user" if actor == "local" else actor


def when(seconds: float | None) -> str | None:
    """A time in the time zone of this machine."""
    return None if seconds is None else datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def size(count: int) -> str:
    """Bytes, in the largest unit that leaves a number of at least 1."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
