"""Text as numbers, a row for each of its tokens: where every network that runs on this machine begins."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acumen.errors import ModelMissing

if TYPE_CHECKING:
    from splintr import AnyTokenizer

Floats = NDArray[np.float32]
Ids = list[int]

MODEL_DIRECTORY = Path(__file__).parent / "minilm"
# The model was trained on texts up to this long; the rest of a longer text is not read.
MAX_TOKENS = 256
# Far more than 256 tokens of any real text, so that a book is not split into words for its first page.
MAX_CHARACTERS = 16_000


class Vocabulary:
    """What tokens a text has, and the row of each. Safe in many threads."""

    def __init__(self, tokenizer: "AnyTokenizer", table: NDArray[np.void]) -> None:
        self._tokenizer = tokenizer
        self._table = table

    def ids(self, text: str) -> Ids:
        """Between one that begins and one that ends every text; of a longer text the first 256."""
        ids: Ids = self._tokenizer.encode(_well_formed(text[:MAX_CHARACTERS]))
        return ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]]

    @cached_property
    def ends(self) -> tuple[int, int]:
        """What begins and what ends every text."""
        first, last = self.ids("")
        return first, last

    def rows(self, texts: Sequence[Ids]) -> tuple[Floats, Floats]:
        """The rows of each text's tokens, as long as the longest, and a one where there is a token."""
        present = np.zeros((len(texts), max(map(len, texts))), np.float32)
        for place, ids in enumerate(texts):
            present[place, : len(ids)] = 1
        found = self._table[[one for ids in texts for one in ids]]
        rows = np.zeros((*present.shape, found["row"].shape[1]), np.float32)
        rows[present > 0] = found["row"] * found["scale"][:, None]
        return rows, present


def load_vocabulary(directory: Path = MODEL_DIRECTORY) -> Vocabulary:
    """Of the table only those pages come into memory that are looked at. Raises ModelMissing."""
    tokenizer, table = directory / "tokenizer.json", directory / "tokens.npy"
    for path in (tokenizer, table):
        if not path.is_file():
            raise ModelMissing(f"The embedding model is not installed: {path.name} missing.")
    try:
        import splintr  # noqa: PLC0415 - megabytes that a server without embeddings never pays
    except ImportError as error:
        raise ModelMissing(f"The embedding model cannot run: {error}.") from error
    try:
        return Vocabulary(splintr.from_json(str(tokenizer)), np.load(table, mmap_mode="r"))
    except Exception as error:  # splintr raises its own kinds, without a common base
        raise ModelMissing("The embedding model is damaged: its files cannot be read.") from error


def _well_formed(text: str) -> str:
    """Half a surrogate pair, as a truncated JSON string may hold, becomes a question mark."""
    return text.encode(errors="replace").decode()
