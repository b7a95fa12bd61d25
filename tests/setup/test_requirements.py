"""What the lock files promise."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = [*sorted((ROOT / "requirements").glob("*.txt")), ROOT / "scripts" / "minilm" / "requirements.txt"]

# Of which the default install may have at most this many.
MOST_PACKAGES = 60


def pinned(lock: Path) -> list[str]:
    return [line for line in lock.read_text().splitlines() if "==" in line and not line.startswith((" ", "#"))]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_names_no_place_to_download_from(lock: Path):
    assert "://" not in lock.read_text()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_pin_of_a_lock_carries_a_hash(lock: Path):
    without = [line for line in pinned(lock) if not line.endswith("\\")]

    assert without == []


def test_the_default_install_stays_small():
    packages = {line.partition("==")[0] for line in pinned(ROOT / "requirements" / "runtime.txt")}

    assert len(packages) <= MOST_PACKAGES
    assert packages.isdisjoint({"torch", "huggingface-hub", "transformers"})
