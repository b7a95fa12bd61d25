"""Pieces of Markdown that the pages share."""

from collections.abc import Iterable

GENERATED = "<!-- Written by `make docs` from the code; edit the descriptions there. -->"
Row = Iterable[object]


def table(head: Row, rows: Iterable[Row]) -> str:
    cells = [list(map(str, head)), *(list(map(str, row)) for row in rows)]
    lines = ["| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in row) + " |" for row in cells]
    return "\n".join([lines[0], "|---" * len(cells[0]) + "|", *lines[1:]])
