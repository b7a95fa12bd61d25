"""The last released version, out of the history of this repository, to run next to this one."""

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The last commit of the first release, whose schema is 0011.
RELEASE = "c7f55648cfe330d0cff705cca251f16b5efd024a"
# Built by `make install`, not part of the history, and the same in both versions.
BUILT = ("acumen/llm/minilm", "acumen/web/static/vendor", "acumen/api/static/swagger")


def unpack(folder: Path) -> Path:
    """Its source; skips the test where the history does not reach so far back."""
    known = _git("cat-file", "-e", f"{RELEASE}^{{commit}}")
    if known.returncode:
        pytest.skip(f"The last release ({RELEASE[:7]}) is not in this clone: it is shallow, or not a git repository.")
    archive = _git("archive", RELEASE, "src").stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    for name in BUILT:
        (folder / "src" / name).symlink_to(ROOT / "src" / name)
    return folder / "src"


def migrate(url: str, source: Path | None = None) -> str:
    """`acumen migrate` of either version; what it prints."""
    environ = {**os.environ, "ACUMEN_DATABASE_URL": url, **({"PYTHONPATH": str(source)} if source else {})}
    command = [sys.executable, "-m", "acumen.cli.main", "migrate"]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout


def _git(*words: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)
