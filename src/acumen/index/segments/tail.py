"""The rows of a scope that changed after a segment was built, held in memory."""

from collections.abc import Sequence

import numpy as np

from acumen.index.arrays import Column, Flags
from acumen.index.live_indexes import MemoryIndex
from acumen.index.segments.segment import Segment, Span
from acumen.model.ids import Kind, UserId
from acumen.storage.memories.change_numbers import IndexVersion
from acumen.storage.memories.search_rows import Change
from acumen.storage.store import Tx


class Tail(MemoryIndex):
    """What the segment says about these rows does not hold any longer."""

    def __init__(self, kind: Kind, user: UserId | None, segment: Segment) -> None:
        header = segment.header
        super().__init__(kind, user, IndexVersion(header.generation, header.seq, (header.seq, 0)))
        self._segment = segment
        self._replaced = Column(np.int32)
        self.searches = 0

    @property
    def bytes(self) -> int:
        return super().bytes + self._replaced.nbytes

    @property
    def changes(self) -> int:
        return len(self.rows) + len(self._replaced)

    def refresh(self, tx: Tx, model: str) -> None:
        """Also when another generation has begun: what was erased is gone from the rows, which are asked last."""
        for changed in self._changes.pages(tx, tx.index_version):
            self._read(tx, changed, model)

    def unchanged(self, span: Span, allowed: Flags | None) -> Flags | None:
        """Which rows of the span the segment is still right about, of those that are allowed; None if of all."""
        rows = self._replaced.values
        rows = rows[(rows >= span.begin) & (rows < span.end)] - span.begin
        if not len(rows):
            return allowed
        flags = np.ones(len(span), np.bool_) if allowed is None else allowed
        flags[rows] = False
        return flags

    def _read(self, tx: Tx, changed: Sequence[Change], model: str) -> None:
        self._replaced.extend(self._segment.rows_of([change[0] for change in changed]))
        super()._read(tx, changed, model)
