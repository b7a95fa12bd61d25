"""Count tokens the way most language models do (cl100k), without network."""

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from splintr import AnyTokenizer

ENCODING = "cl100k_base"
# The lines of a context come again with every search that finds them; what is longer is not worth its memory.
SHORT = 1_000
REMEMBERED = 4_096


def count_tokens(text: str) -> int:
    """How many tokens a model would read. What looks like a control token (`<|endoftext|>`) counts as plain text."""
    return _counted(text) if len(text) <= SHORT else len(_ids(text))


@lru_cache(REMEMBERED)
def _counted(text: str) -> int:
    return len(_ids(text))


def fits(text: str, budget: int) -> bool:
    """Whether the text is worth at most `budget` tokens."""
    # A token is at least one byte, and a character at most four.
    return len(text) * 4 <= budget or count_tokens(text) <= budget


def truncate(text: str, budget: int) -> str:
    """The beginning of the text that fits into `budget` tokens, cut between characters."""
    ids = _ids(text)
    if len(ids) <= budget:
        return text
    for kept in range(budget, 0, -1):
        # Ids may end inside a character, and a shortened text may split into other tokens than it did as a part.
        beginning = _tokenizer().decode_bytes(ids[:kept]).decode(errors="ignore")
        if count_tokens(beginning) <= budget:
            return beginning
    return ""


def _ids(text: str) -> list[int]:
    # Half a surrogate pair, as a truncated JSON string may hold, becomes a question mark.
    return _tokenizer().encode_ordinary(text.encode(errors="replace").decode())


@cache
def _tokenizer() -> "AnyTokenizer":
    from splintr import Tokenizer  # noqa: PLC0415 - 20 MB and 40 ms that a server without searches never pays

    return Tokenizer.from_pretrained(ENCODING)
