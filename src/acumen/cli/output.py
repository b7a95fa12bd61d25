"""What commands print: JSON for programs, text and tables for people."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import typer
from pydantic import BaseModel

# Wide enough for a line of a table when nobody's screen says otherwise.
WIDTH_WITHOUT_SCREEN = 160


def show(as_json: bool, value: Mapping[str, Any] | BaseModel, text: str) -> None:
    """The whole value as JSON, or what a person wants to know of it."""
    typer.echo(as_json_text(value) if as_json else text)


def as_json_text(value: Mapping[str, Any] | BaseModel) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json(indent=2, exclude_none=True)
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def table(headings: Sequence[str], rows: Sequence[Sequence[object]], width: int | None = None) -> str:
    """Columns in line. What is wider than `width` (or the screen) is folded inside its column."""
    from rich.console import Console  # noqa: PLC0415 - a command that prints one line should not load Rich
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for heading in headings:
        grid.add_column(heading.upper(), overflow="fold")
    for row in rows:
        # As Text, so that a memory with [brackets] is not taken for markup.
        grid.add_row(*(Text("-" if cell is None else plain(str(cell))) for cell in row))
    console = Console(width=width or (None if sys.stdout.isatty() else WIDTH_WITHOUT_SCREEN), color_system=None)
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


# What a terminal obeys instead of showing: control characters, and marks that turn the direction of text.
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Text that a terminal shows as it is, whatever a memory says."""
    return _UNSHOWN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def when(seconds: float | None) -> str | None:
    """A moment in this machine's own time zone."""
    return None if seconds is None else datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def size(count: int) -> str:
    """Bytes, in the largest unit that leaves a number above one."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError("the last unit takes any size")
