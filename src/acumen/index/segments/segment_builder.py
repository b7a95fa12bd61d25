"""Build a segment from the rows, a page at a time: memory does not grow with the scope."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from acumen.index.arrays import Column, RowIds, starts_of_runs
from acumen.index.documents import ANALYSER, vectors_of
from acumen.index.postings import pairs_in
from acumen.index.segments.codes import signs_of, text_codes, value_code
from acumen.index.segments.segment_files import Header, Landmark, SegmentWriter
from acumen.index.segments.term_codes import ROW_MASK, Codes, term_codes
from acumen.index.tokenizer import terms
from acumen.index.vectors import packed
from acumen.llm.embedding import DIMS
from acumen.model.ids import Kind
from acumen.model.memories.memory import searchable
from acumen.model.memories.search import Facet
from acumen.storage.memories.search_rows import StoredRow
from acumen.storage.store import OrgStore, Tx

PAGE = 2000
LANDMARKS = 8
# Postings are sorted in so many parts, by the first bits of their codes.
PART_BITS = 4
PARTS = 1 << PART_BITS
# Others go first: after each page as long as this times what it took.
PAUSE = 0.25

TEXT_FACETS = ("status", "approval", "source", "agent_version", "name", "request_id", "scoped_version")
TIME_FACETS = ("created_at", "updated_at", "expires_at")
# Times are compared as 64-bit integers; "never" may be larger.
LATEST = np.iinfo(np.int64).max


class SegmentOutdated(Exception):
    """Everything has to be read again, or nobody waits for it any longer."""


async def build(store: OrgStore, kind: Kind, folder: Path, model: str, stopped: Callable[[], bool]) -> Path:
    """Changes that are committed meanwhile may be in it or not: they are read again, as all after its `seq`."""
    pages = await store.read(lambda tx: _Pages(tx, kind, folder, model))
    with pages.abandoned_on_error():
        while True:
            more = await store.read(pages.add_next)
            if stopped():
                raise SegmentOutdated
            if not more:
                return await asyncio.to_thread(pages.finish)
            await asyncio.sleep(pages.seconds * PAUSE)


def build_at_once(tx: Tx, kind: Kind, folder: Path, model: str) -> Path:
    """From what one transaction sees."""
    pages = _Pages(tx, kind, folder, model)
    with pages.abandoned_on_error():
        while pages.add_next(tx):
            pass
        return pages.finish()


class _Pages:
    """What has been written so far."""

    def __init__(self, tx: Tx, kind: Kind, folder: Path, model: str) -> None:
        self.seconds = 0.0
        self._org = tx.scope.org
        self._kind = kind
        self._model = model
        self._version = tx.index_version
        newest = tx.search_rows.find_newest(kind, self._version.seq, LANDMARKS)
        self._landmarks = tuple(Landmark(*row) for row in newest)
        self._writer = SegmentWriter(folder)
        self._after: tuple[str, int] = ("", -1)
        self._rows = self._words = 0
        self._id_codes = Column(np.uint64)
        self._id_bytes = 0
        self._users: list[str] = []
        self._pairs: set[str] = set()

    @contextmanager
    def abandoned_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._writer.abandon()
            raise

    def add_next(self, tx: Tx) -> bool:
        """Whether more may follow."""
        if tx.index_version.generation != self._version.generation:
            raise SegmentOutdated
        began = time.perf_counter()
        page = tx.search_rows.find_by_user(self._kind, self._after, PAGE)
        if page:
            self._after = (page[-1].user_id, page[-1].seq)
            facets = tx.by_kind[self._kind].get_facets([row.entity_id for row in page])
            rows = [row for row in page if row.entity_id in facets]
            if rows:
                self._add(rows, [facets[row.entity_id] for row in rows], [self._terms(tx, row) for row in rows])
        self.seconds = time.perf_counter() - began
        return len(page) == PAGE

    def _terms(self, tx: Tx, row: StoredRow) -> str:
        """As they were stored, unless the tokenizer has changed since."""
        if row.analyser == ANALYSER:
            return row.terms
        memory = tx.by_kind[self._kind].get(row.entity_id)
        return " ".join(terms(searchable(memory))) if memory else ""

    def _add(self, rows: Sequence[StoredRow], facets: Sequence[Facet], texts: Sequence[str]) -> None:
        codes, places = term_codes(texts)
        self._add_postings(codes, places + self._rows)
        self._pairs |= pairs_in(texts)
        self._writer.append("lengths", np.bincount(places, minlength=len(rows)))
        self._writer.append("seqs", [row.seq for row in rows])
        self._add_ids([row.entity_id for row in rows], [row.user_id for row in rows])
        self._add_vectors(rows)
        self._add_facets(facets)
        self._rows += len(rows)
        self._words += len(codes)

    def _add_postings(self, codes: Codes, rows: RowIds) -> None:
        keys = codes | rows.astype(np.uint64)
        keys.sort()
        firsts = np.arange(1, PARTS, dtype=np.uint64) << np.uint64(64 - PART_BITS)
        for part, part_keys in enumerate(np.split(keys, keys.searchsorted(firsts))):
            self._writer.append(f"postings-{part}", part_keys)

    def _add_ids(self, ids: Sequence[str], users: Sequence[str]) -> None:
        encoded = [id_.encode() for id_ in ids]
        ends = self._id_bytes + np.cumsum([len(id_) for id_ in encoded])
        self._writer.append("ids", np.frombuffer(b"".join(encoded), np.uint8))
        self._writer.append("id_starts", np.concatenate([[self._id_bytes], ends[:-1]]))
        self._id_bytes = int(ends[-1])
        self._id_codes.extend(text_codes(ids))
        for row, user in enumerate(users, self._rows):
            if not self._users or self._users[-1] != user:
                self._users.append(user)
                self._writer.append("user_starts", [row])

    def _add_vectors(self, rows: Sequence[StoredRow]) -> None:
        """A memory has one vector."""
        vectors, counts = vectors_of([row.vector for row in rows], [row.model for row in rows], self._model)
        numbers, scales = packed(vectors[(np.cumsum(counts) - counts)[counts > 0]])
        all_numbers, all_scales = np.zeros((len(rows), DIMS), np.int8), np.zeros(len(rows), np.float32)
        all_numbers[counts > 0], all_scales[counts > 0] = numbers, scales
        self._writer.append("vectors", all_numbers)
        self._writer.append("scales", all_scales)
        for plane, signs in enumerate(signs_of(all_numbers).T):
            self._writer.append(f"signs_{plane}", signs)

    def _add_facets(self, facets: Sequence[Facet]) -> None:
        for name in TEXT_FACETS:
            self._writer.append(name, [value_code(getattr(facet, name)) for facet in facets])
        for name in TIME_FACETS:
            self._writer.append(name, [min(getattr(facet, name), LATEST) for facet in facets])
        for name, rows_name in (("tags", "tag_rows"), ("extractors", "extractor_rows")):
            pairs = [
                (value_code(value), row)
                for row, facet in enumerate(facets, self._rows)
                for value in getattr(facet, name)
            ]
            self._writer.append(name, [code for code, _ in pairs])
            self._writer.append(rows_name, [row for _, row in pairs])

    def finish(self) -> Path:
        writer, order = self._writer, np.argsort(self._id_codes.values)
        writer.append("id_starts", [self._id_bytes])
        writer.append("id_codes", self._id_codes.values[order])
        writer.append("id_rows", order)
        writer.append("user_codes", text_codes(self._users))
        writer.append("user_starts", [self._rows])
        self._sort_postings()
        header = Header(
            org=self._org,
            kind=self._kind,
            generation=self._version.generation,
            seq=self._version.seq,
            model=self._model,
            analyser=ANALYSER,
            rows=self._rows,
            dims=DIMS,
            landmarks=self._landmarks,
            pairs=tuple(sorted(self._pairs)),
            mean_length=self._words / max(self._rows, 1),
        )
        return writer.finish(header)

    def _sort_postings(self) -> None:
        written = 0
        for part in range(PARTS):
            keys = self._writer.take(f"postings-{part}")
            keys.sort()
            codes = keys & ~ROW_MASK
            firsts, documents = starts_of_runs(codes), starts_of_runs(keys)
            self._writer.append("term_codes", codes[firsts])
            self._writer.append("term_starts", written + firsts)
            self._writer.append("term_rows", keys & ROW_MASK)
            self._writer.append("term_matching", np.diff(documents.searchsorted(firsts), append=len(documents)))
            written += len(keys)
        self._writer.append("term_starts", [written])
