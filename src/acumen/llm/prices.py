"""What tokens cost, from a table that anyone may edit."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from acumen.errors import BadSettings

TABLE = Path(__file__).with_name("prices.toml")
MILLION = 1_000_000


class Prices(Struct, frozen=True):
    """Dollars per million tokens, read and written, by the beginning of a model's name."""

    table: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, name: str) -> "Prices":
        path = Path(name).expanduser() if name else TABLE
        try:
            return cls(dict(map(_line, tomllib.loads(path.read_text("utf-8")).items())))
        except (OSError, ValueError, KeyError, TypeError) as wrong:
            raise BadSettings(f"The prices in {path} cannot be read: {wrong}.") from None

    def cost(self, model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
        """The longest name in the table that the model's begins with decides; None when there is none."""
        own = model.rpartition("/")[2]
        found = max((name for name in self.table if own.startswith(name)), key=len, default=None)
        if found is None:
            return None
        reads, writes = self.table[found]
        return (prompt_tokens * reads + completion_tokens * writes) / MILLION


def _line(line: tuple[str, Any]) -> tuple[str, tuple[float, float]]:
    name, price = line
    return name, (float(price["reads"]), float(price["writes"]))
