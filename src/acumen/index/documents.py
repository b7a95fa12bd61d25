"""Texts as search rows: their terms, and their vectors if there is a model."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acumen.index.tokenizer import terms
from acumen.llm.embedding import DIMS
from acumen.llm.local_models import Vector
from acumen.model.ids import Kind
from acumen.model.memories.memory import Memory, owner, searchable
from acumen.model.memories.search import TURN, SearchRow

# Changes when the tokenizer does: rows of another version are analysed again when they are read.
ANALYSER = "w2"


class Document(Struct, frozen=True):
    """Text that is to be stored and indexed."""

    kind: str
    user_id: str
    text: str
    passages: tuple[str, ...] = ()  # each has a vector; by default the text is one passage

    @staticmethod
    def of(kind: Kind, memory: Memory) -> "Document":
        return Document(kind, owner(memory), searchable(memory))


def search_row(document: Document, vectors: Sequence[Vector | None], model: str) -> SearchRow:
    stored = b"".join(vector.astype(np.float16).tobytes() for vector in vectors if vector is not None)
    return SearchRow(
        kind=document.kind,
        entity_id="",
        user_id=document.user_id,
        # The terms of turns are read from the turns themselves, which are searched before this row exists.
        terms="" if document.kind == TURN else " ".join(terms(document.text)),
        analyser=ANALYSER,
        vector=stored or None,
        model=model if stored else "",
    )


def vector_of(row: SearchRow, model: str) -> Vector | None:
    """A line for each passage. None also for vectors of another model: the two cannot be compared."""
    if row.vector is None or row.model != model:
        return None
    return np.frombuffer(row.vector, np.float16).astype(np.float32).reshape(-1, DIMS)


def vectors_of(
    stored: Sequence[bytes | None], models: Sequence[str], model: str
) -> tuple[NDArray[np.float16], NDArray[np.int32]]:
    """Those of many rows, one line for each passage, and how many lines each row has."""
    mine = [blob if made_by == model and blob else b"" for blob, made_by in zip(stored, models, strict=True)]
    vectors = np.frombuffer(b"".join(mine), np.float16).reshape(-1, DIMS)
    return vectors, np.fromiter(map(len, mine), np.int32, len(mine)) // (2 * DIMS)


def terms_of(row: SearchRow) -> list[str]:
    return row.terms.split(" ") if row.terms else []
