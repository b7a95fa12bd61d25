"""Standard library names that Python 3.9 and 3.10 do not have."""

import sys
from datetime import timezone

UTC = timezone.utc

if sys.version_info >= (3, 11):
    from contextlib import aclosing
    from enum import StrEnum
else:
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager
    from enum import Enum
    from typing import Any

    class StrEnum(str, Enum):
        """A member is, prints and formats as its value."""

        __str__ = str.__str__
        __format__ = str.__format__

    @asynccontextmanager
    async def aclosing(generator: Any) -> AsyncIterator[Any]:
        """Close an async generator at the end of the block."""
        try:
            yield generator
        finally:
            await generator.aclose()


__all__ = ["UTC", "StrEnum", "aclosing"]
