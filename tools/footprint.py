"""How many packages the default install has, and where its megabytes go: `python tools/footprint.py [--json]`.

Counts what requirements/runtime.txt pins for this machine, as installed here, and the files `make install` makes.
"""

import json
import re
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "runtime.txt"
MADE = {
    "embedding model": ROOT / "src" / "acumen" / "llm" / "minilm",
    "Swagger UI": ROOT / "src" / "acumen" / "api" / "static" / "swagger",
    "htmx and uPlot": ROOT / "src" / "acumen" / "web" / "static" / "vendor",
}
MEGABYTE = 1_000_000
ROWS_SHOWN = 12


def packages() -> dict[str, int]:
    """Bytes on disk of each package of the default install, ours included."""
    named = [Requirement(line) for line in re.findall(r"^(\S+==[^\\\n]+)", LOCK.read_text(), re.MULTILINE)]
    here = [need.name for need in named if need.marker is None or need.marker.evaluate()]
    return {name: _size(distribution(name)) for name in here} | {
        "acumen": _tree("acumen"),
        "acumen-client": _tree("acumen_client"),
    }


def made() -> dict[str, int]:
    """Bytes on disk of what set-up brings beside packages."""
    return {name: _files(folder) for name, folder in MADE.items()}


def _size(installed: Distribution) -> int:
    paths = [Path(str(file.locate())) for file in installed.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file())


def _tree(package: str) -> int:
    everything = _files(ROOT / "src" / package)
    return everything - sum(_files(folder) for folder in MADE.values() if folder.is_relative_to(ROOT / "src" / package))


def _files(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Print the table, or everything as JSON."""
    parts = packages() | made()
    total = sum(parts.values()) / MEGABYTE
    if "--json" in sys.argv:
        print(json.dumps({"packages": len(packages()), "megabytes": round(total, 1), "bytes": parts}))
        return
    print(f"{len(packages())} packages, {total:.0f} MB")
    ranked = sorted(parts.items(), key=lambda part: -part[1])
    for name, size in ranked[:ROWS_SHOWN]:
        print(f"{size / MEGABYTE:7.1f} MB  {name}")
    print(f"{sum(size for _, size in ranked[ROWS_SHOWN:]) / MEGABYTE:7.1f} MB  the other {len(ranked) - ROWS_SHOWN}")


if __name__ == "__main__":
    main()
