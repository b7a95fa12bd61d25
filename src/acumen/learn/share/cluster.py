"""Lessons that say the same, gathered: by meaning, by words, and never across an "always" and a "never". Pure.

Average-link: two groups become one when their members are alike *on average*, so that a chain of neighbours does not
draw everything together. The average of all cosines between two groups is the product of their summed vectors, so it
costs the same however large they are. Which pairs are looked at at all is found in blocks: the nearest few of each.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acumen.learn.share.stance import Stance, agreed, opposed, shared

Floats = NDArray[np.float32]
Places = NDArray[np.intp]

# Chosen on the open part of bench/aggregation: wordings of one rule lie at cosines of .35 to .9, other rules on the
# same topic at .3 to .97, so meaning alone cannot decide: words and named values count beside it.
LEAST_MEANING = 0.4
OF_WORDS = 0.7
OF_VALUES = 1.0
SAME = 1.1
# Where a vector is missing, this much of all the words of both must be shared (Jaccard).
LEAST_WORDS = 0.6

NEIGHBOURS = 32
BLOCK = 512
# In later rounds the groups found so far are compared as wholes: what copies of one text had crowded out comes up.
ROUNDS = 3
# Members that speak for a group when whole groups are compared.
SPEAKERS = 8
# A word that more lessons than this have does not tell them apart.
COMMON = 200


class Point(Struct, frozen=True):
    """A lesson as it is compared. Lessons of equal text should come as one, with their number as `weight`."""

    key: str
    stance: Stance
    vector: Floats | None = None  # of length one
    weight: int = 1


class _Group(Struct):
    members: list[Point]
    total: Floats | None  # the sum of the members' vectors, each times its weight
    weight: int


def clusters(points: Sequence[Point], least: float = LEAST_MEANING) -> list[list[Point]]:
    """A partition of the points; in which order they come does not matter. No part holds two that are opposed."""
    groups = [_group(point) for point in sorted(points, key=lambda point: point.key)]
    for _ in range(ROUNDS):
        merged = _merged(groups, least)
        done = len(merged) == len(groups)
        groups = merged
        if done:
            break
    return [sorted(group.members, key=lambda point: point.key) for group in groups]


def same_rule(one: Point, other: Point, least: float = LEAST_MEANING) -> bool:
    """Whether two lessons, taken by themselves, say the same."""
    if opposed(one.stance, other.stance):
        return False
    if one.vector is None or other.vector is None:
        return _jaccard(one.stance.said, other.stance.said) >= LEAST_WORDS
    cosine = float(one.vector @ other.vector)
    words = OF_WORDS * shared(one.stance, other.stance) + OF_VALUES * agreed(one.stance, other.stance)
    return cosine >= least and cosine + words >= SAME


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def _group(point: Point) -> _Group:
    if point.vector is None:
        return _Group([point], None, 0)
    return _Group([point], point.vector * np.float32(point.weight), point.weight)


def _merged(groups: list[_Group], least: float) -> list[_Group]:
    """One round: the closest pairs first, each merged if the groups they stand in by then belong together."""
    parents = list(range(len(groups)))
    for _, one, other in sorted(_proposed(groups, least)):
        first, second = sorted((_root(parents, one), _root(parents, other)))
        if first != second and _belong_together(groups[first], groups[second], least):
            groups[first] = _joined(groups[first], groups[second])
            parents[second] = first
    return [group for place, group in enumerate(groups) if parents[place] == place]


def _root(parents: list[int], place: int) -> int:
    while parents[place] != place:
        parents[place] = parents[parents[place]]
        place = parents[place]
    return place


def _belong_together(one: _Group, other: _Group, least: float) -> bool:
    if any(opposed(a.stance, b.stance) for a in one.members for b in other.members):
        return False
    if one.total is None or other.total is None:
        return True
    return float(one.total @ other.total) >= least * one.weight * other.weight


def _joined(one: _Group, other: _Group) -> _Group:
    totals = [group.total for group in (one, other) if group.total is not None]
    total = None if not totals else totals[0] if len(totals) == 1 else totals[0] + totals[1]
    return _Group(one.members + other.members, total, one.weight + other.weight)


# --- which pairs are looked at -----------------------------------------------------------------------------------


def _proposed(groups: list[_Group], least: float) -> Iterator[tuple[float, int, int]]:
    """Pairs of groups of which some members say the same: how far apart they are, and their places."""
    for one, other, cosine in _near(groups, least):
        if _some_same(groups[one], groups[other], least):
            yield 1 - cosine, one, other
    for one, other in _sharing_words(groups):
        if _some_same(groups[one], groups[other], least):
            yield 1.0, one, other


def _some_same(one: _Group, other: _Group, least: float) -> bool:
    return any(same_rule(a, b, least) for a in one.members[:SPEAKERS] for b in other.members[:SPEAKERS])


def _near(groups: list[_Group], least: float) -> Iterator[tuple[int, int, float]]:
    """Each pair once, of which one is among the nearest of the other."""
    places = [place for place, group in enumerate(groups) if group.total is not None]
    if len(places) < 2:
        return
    matrix = _directions(groups)
    pairs: dict[tuple[int, int], float] = {}
    for start in range(0, len(places), BLOCK):
        cosines = matrix[start : start + BLOCK] @ matrix.T
        np.fill_diagonal(cosines[:, start:], -1)
        for row, column in zip(*_nearest(cosines, least), strict=True):
            one, other = places[start + int(row)], places[int(column)]
            pairs[min(one, other), max(one, other)] = float(cosines[row, column])
    for (one, other), cosine in pairs.items():
        yield one, other, cosine


def _directions(groups: list[_Group]) -> Floats:
    totals = np.stack([group.total for group in groups if group.total is not None])
    lengths = np.maximum(np.linalg.norm(totals, axis=1, keepdims=True), np.float32(1e-12))
    return np.asarray(totals / lengths, np.float32)


def _nearest(cosines: Floats, least: float) -> tuple[Places, Places]:
    """Rows and columns of the best few of each row that reach `least`."""
    few = min(NEIGHBOURS, cosines.shape[1] - 1)
    columns = np.argpartition(cosines, -few, axis=1)[:, -few:]
    rows = np.repeat(np.arange(len(cosines)), few)
    flat = columns.ravel()
    enough = cosines[rows, flat] >= least
    return rows[enough], flat[enough]


def _sharing_words(groups: list[_Group]) -> Iterator[tuple[int, int]]:
    """Pairs of which at least one has no vector and that share some rare enough word."""
    about: dict[str, list[int]] = defaultdict(list)
    for place, group in enumerate(groups):
        for word in _words(group):
            about[word].append(place)
    seen: set[tuple[int, int]] = set()
    for place in (place for place, group in enumerate(groups) if group.total is None):
        rare = (word for word in _words(groups[place]) if len(about[word]) <= COMMON)
        for other in (other for word in rare for other in about[word]):
            pair = (min(place, other), max(place, other))
            if place != other and pair not in seen:
                seen.add(pair)
                yield pair


def _words(group: _Group) -> set[str]:
    return {word for point in group.members[:SPEAKERS] for word in point.stance.said}
