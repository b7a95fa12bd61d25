"""Give freed memory back to the operating system."""

import ctypes
from collections.abc import Callable
from functools import cache


def return_free_memory() -> None:
    """The C library keeps freed blocks for later; glibc gives them back on demand, others do so themselves."""
    _trim()(0)


@cache
def _trim() -> Callable[[int], int]:
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # no glibc
        return lambda _padding: 0
    return trim
