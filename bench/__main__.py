"""`python -m bench [LINE …]`: measure, print the table, write it as JSON."""

import argparse
import json
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import asdict
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.figures import CannotMeasure, Figure, Line, Measured, Run
from bench.lines import LINES

RESULTS = Path("bench") / "results"
# Wide enough for a table that goes into a file; a terminal's own width counts where there is one.
WIDTH_IN_FILES = 160

console = Console(width=None if sys.stdout.isatty() else WIDTH_IN_FILES)


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when a line could not be measured; a missed target is told, not punished."""
    asked = _parser().parse_args(arguments)
    chosen = [line for line in LINES if line.name in asked.lines or not (asked.lines or line.only_named)]
    described = machine.described()
    measured: dict[str, Measured] = {}
    with tempfile.TemporaryDirectory(prefix="acumen-bench-") as folder:
        for line in chosen:
            console.print(f"[dim]{line.name}: {line.says} …")
            measured[line.name] = _measured(line, Run(Path(folder), quick=asked.quick))
    console.print(_table(measured))
    console.print(f"Load average {described['load_average']:.2f} before, {machine.load_average():.2f} after.")
    console.print(f"Written to {_write(asked.out, described, measured, quick=asked.quick)}.")
    return int(not all(line.whole for line in measured.values()))


def _parser() -> argparse.ArgumentParser:
    names = "\n".join(f"  {line.name:18} {line.says}" for line in LINES)
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure every number we claim.",
        epilog=f"lines (all but chaos and soak, unless some are named):\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("lines", nargs="*", metavar="LINE", choices=[*(line.name for line in LINES), []])
    parser.add_argument("--quick", action="store_true", help="only show that it works; the numbers mean nothing")
    parser.add_argument("--out", type=Path, help="where to write the JSON (default: a new file in bench/results)")
    return parser


def _measured(line: Line, run: Run) -> Measured:
    figures: list[Figure] = []
    whole, before = True, machine.pace()
    try:
        for figure in line.measure(run):
            figures.append(figure)
            console.print(f"[dim]  {figure.name}: {_value(figure)}")
    except CannotMeasure as reason:
        console.print(f"[yellow]  skipped: {reason}")
    except Exception:  # noqa: BLE001 - one line that breaks does not keep the others from being measured
        whole = False
        console.print(f"[red]  {line.name} broke")
        traceback.print_exc()
    return Measured(figures, whole, machine.load_average(), (before, machine.pace()))


def _table(measured: dict[str, Measured]) -> Table:
    table = Table("line", "figure", title="Acumen, measured")
    for heading in ("value", "target", "", "server CPU"):
        table.add_column(heading, justify="right")
    table.add_column("note", style="dim")
    for name, line in measured.items():
        for figure in line.figures:
            table.add_row(
                name,
                figure.name,
                _value(figure),
                str(figure.target or ""),
                {None: "", True: "[green]met", False: "[red]missed"}[figure.met],
                "" if figure.cpu_ms is None else f"{figure.cpu_ms:.2f} ms",
                figure.note,
            )
        before, after = line.python_ms
        pace = f"load {line.load_average:.1f}; fixed Python {before:.0f} ms before, {after:.0f} ms after"
        table.add_row(name, "[dim]the machine", "", "", "", "", pace)
        table.add_section()
    return table


def _value(figure: Figure) -> str:
    digits = next((digits for limit, digits in ((1, 3), (100, 2), (1000, 1)) if figure.value < limit), 0)
    number = f"{figure.value:,.{0 if float(figure.value).is_integer() else digits}f}"
    return f"{number} {figure.unit}".rstrip()


def _write(out: Path | None, described: dict[str, Any], measured: dict[str, Measured], *, quick: bool) -> Path:
    at = datetime.now(UTC)
    path = out or RESULTS / f"{at:%Y%m%d-%H%M%S}{'-quick' if quick else ''}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = {
        name: {**asdict(line), "figures": [_as_json(figure) for figure in line.figures]}
        for name, line in measured.items()
    }
    told = {"at": at.isoformat(timespec="seconds"), "quick": quick, "machine": described, "lines": lines}
    path.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    return path


def _as_json(figure: Figure) -> dict[str, Any]:
    return {**asdict(figure), "target": figure.target and str(figure.target), "met": figure.met}


def _stop(_number: int, _frame: object) -> None:
    """Told to end, we end our servers first."""
    sys.exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    sys.exit(main())
