"""Filters over the columns of a segment: the same as `Filter.admits`, over many rows at once."""

from collections.abc import Iterable, Iterator

import numpy as np

from acumen.index.arrays import Flags
from acumen.index.segments.codes import value_code
from acumen.index.segments.segment_files import Array, SegmentArrays
from acumen.model.conversation import versions_meant
from acumen.model.memories.search import Filter


def admitted(arrays: SegmentArrays, criteria: Filter, rows: slice) -> Flags | None:
    """The user is left to the caller. Values are compared by their codes: a row in 10^9 is admitted by mistake."""
    flags: Flags | None = None
    for condition in _conditions(arrays, criteria, rows):
        flags = condition if flags is None else flags & condition
    return flags


def _conditions(arrays: SegmentArrays, criteria: Filter, rows: slice) -> Iterator[Flags]:
    for name, values in _wanted(criteria):
        yield _is_one_of(arrays[name][rows], values)
    if criteria.asking_version is not None:
        scoped = arrays["scoped_version"][rows]
        yield (scoped == 0) | _is_one_of(scoped, versions_meant(criteria.asking_version))
    at = arrays["created_at" if criteria.by_creation else "updated_at"][rows]
    if criteria.since is not None:
        yield at >= criteria.since
    if criteria.until is not None:
        yield at <= criteria.until
    if criteria.unexpired_at is not None:
        yield arrays["expires_at"][rows] > criteria.unexpired_at
    if criteria.tags:
        yield _has_one_of(arrays["tags"], arrays["tag_rows"], criteria.tags, rows)
    if criteria.extractor is not None:
        yield _has_one_of(arrays["extractors"], arrays["extractor_rows"], (criteria.extractor,), rows)


def _wanted(criteria: Filter) -> Iterator[tuple[str, Iterable[str]]]:
    if criteria.statuses is not None:
        yield "status", criteria.statuses
    if criteria.approvals is not None:
        yield "approval", criteria.approvals
    if criteria.agent_version is not None:
        yield "agent_version", versions_meant(criteria.agent_version)
    for name in ("source", "name", "request_id"):
        value = getattr(criteria, name)
        if value is not None:
            yield name, (value,)


def _is_one_of(column: Array, values: Iterable[str]) -> Flags:
    flags = np.zeros(len(column), np.bool_)
    for code in {value_code(value) for value in values}:
        flags |= column == code
    return flags


def _has_one_of(codes: Array, owners: Array, values: Iterable[str], rows: slice) -> Flags:
    flags = np.zeros(rows.stop - rows.start, np.bool_)
    begin, end = owners.searchsorted(np.array([rows.start, rows.stop], owners.dtype))
    flags[owners[begin:end][_is_one_of(codes[begin:end], values)] - rows.start] = True
    return flags
