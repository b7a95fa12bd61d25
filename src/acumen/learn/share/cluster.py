"""Lessons that say the same, grouped: by meaning, by words, and never across an "always" and a "never". Pure.

Average-link, one lesson at a time: a lesson is compared with the centroid of every group, and its group and another
become one when they are alike *on average*, so that a chain of neighbours does not draw everything together. The same
code groups a whole agent version and adds a single lesson to groups that exist; only lessons close enough to be
compared by words are read.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acumen.learn.share.stance import Stance, agreed, opposed, shared

Floats = NDArray[np.float32]
Labels = NDArray[np.intp]

# Chosen on the open part of bench/aggregation: wordings of one rule have cosines of .35 to .9, other rules on the
# same topic .3 to .97, so meaning alone cannot decide: words and named values count as well.
LEAST_MEANING = 0.4
OF_WORDS = 0.7
OF_VALUES = 1.0
SAME = 1.1
# Where a vector is missing, this share of all the words of both must be common (Jaccard).
LEAST_WORDS = 0.6

# Groups that a lesson is compared with by words, the closest first.
NEIGHBOURS = 32
# Members of a group that are compared with a lesson by words, the closest first.
SPEAKERS = 8
# Cosines are computed for so many lessons at once.
BLOCK = 256
# A word that more lessons than this have does not tell them apart.
COMMON = 200


class Point(Struct, frozen=True):
    """A lesson as it is compared."""

    stance: Stance
    vector: Floats | None = None  # of length one


def same_rule(left: Point, right: Point, least: float = LEAST_MEANING) -> bool:
    """Whether two lessons, taken by themselves, say the same."""
    if left.vector is None or right.vector is None:
        words, other = left.stance.said, right.stance.said
        enough = bool(words and other) and len(words & other) >= LEAST_WORDS * len(words | other)
        return enough and not opposed(left.stance, right.stance)
    cosine = float(left.vector @ right.vector)
    if cosine < least:
        return False
    in_words = OF_WORDS * shared(left.stance, right.stance) + OF_VALUES * agreed(left.stance, right.stance)
    return cosine + in_words >= SAME and not opposed(left.stance, right.stance)


class Grouping:
    """Lessons by their row in `vectors` (zeros: unknown), and the label of the group that each is in.

    `stances` reads lessons; None is one that belongs into no group.
    """

    def __init__(
        self,
        vectors: Floats,
        labels: Labels,
        stances: Callable[[Sequence[int]], Sequence[Stance | None]],
        least: float = LEAST_MEANING,
    ) -> None:
        self.labels = labels
        self._vectors = vectors
        self._known: NDArray[np.bool_] = np.asarray(vectors.any(axis=1))
        self._stances = stances
        self._least = least
        self._by_word: dict[str, list[int]] | None = None
        self._members: dict[int, list[int]] = defaultdict(list)
        for row, label in enumerate(labels.tolist()):
            self._members[label].append(row)

    def place(self, rows: Iterable[int]) -> set[int]:
        """Groups these lessons, and those that they draw out of their solitude; all of them are returned."""
        queue = deque(rows)
        seen = set(queue)
        self._stances(list(queue))  # read together
        while queue:
            block = [queue.popleft() for _ in range(min(BLOCK, len(queue)))]
            cosines = self._vectors[block] @ self._vectors.T
            for row, near in zip(block, cosines, strict=True):
                joined = [single for single in self._join(row, near) if single not in seen]
                queue.extend(joined)
                seen.update(joined)
        return seen

    def members(self, label: int) -> list[int]:
        return sorted(self._members[label])

    def _join(self, row: int, cosines: Floats) -> list[int]:
        """Merges the group of a lesson with every other that says the same; the single lessons among them."""
        (stance,) = self._stances([row])
        singles: list[int] = []
        for label in self._candidates(row, stance, cosines) if stance else ():
            here, there = self._members[int(self.labels[row])], self._members[label]
            speakers = (
                sorted(there, key=cosines.__getitem__, reverse=True)[:SPEAKERS] if len(there) > SPEAKERS else there
            )
            if self._any_same(row, speakers) and self._belong_together(here, there):
                singles += there if len(there) == 1 else []
                self.labels[there] = self.labels[row]
                here += self._members.pop(label)
        return singles

    def _candidates(self, row: int, stance: Stance, cosines: Floats) -> Iterator[int]:
        """Labels of groups by the mean cosine of their members, the closest first; then those that share words."""
        label_of_row = int(self.labels[row])
        by_words = sorted({int(self.labels[other]) for other in self._sharing_words(row, stance)})
        if self._known[row]:
            counts = np.bincount(self.labels, self._known)
            means = np.bincount(self.labels, cosines) / np.maximum(counts, 1)
            means[label_of_row] = -1
            close = np.flatnonzero((means >= self._least) & (counts > 0))
            yield from (int(label) for label in close[np.argsort(-means[close], kind="stable")][:NEIGHBOURS])
        yield from (label for label in by_words if label != label_of_row)

    def _any_same(self, row: int, others: Sequence[int]) -> bool:
        point, *speakers = (
            self._point(at, read) for at, read in zip((row, *others), self._stances((row, *others)), strict=True)
        )
        return point is not None and any(other and same_rule(point, other, self._least) for other in speakers)

    def _point(self, row: int, stance: Stance | None) -> Point | None:
        return Point(stance, self._vectors[row] if self._known[row] else None) if stance else None

    def _belong_together(self, here: Sequence[int], there: Sequence[int]) -> bool:
        with_vector = [[row for row in rows if self._known[row]] for rows in (here, there)]
        if all(with_vector):
            left, right = (self._vectors[rows].mean(axis=0) for rows in with_vector)
            if float(left @ right) < self._least:
                return False
        left_stances, right_stances = ({id(one): one for one in self._stances(rows) if one} for rows in (here, there))
        return not any(opposed(a, b) for a in left_stances.values() for b in right_stances.values())

    def _sharing_words(self, row: int, stance: Stance) -> set[int]:
        """Lessons that share a rare enough word, where this one or they have no vector."""
        if self._known.all():
            return set()
        if self._by_word is None:
            self._by_word = self._read_words()
        rare = (rows for word in stance.said if len(rows := self._by_word.get(word, ())) <= COMMON)
        return {other for rows in rare for other in rows if not (self._known[row] and self._known[other])}

    def _read_words(self) -> dict[str, list[int]]:
        by_word: dict[str, list[int]] = defaultdict(list)
        for row, stance in enumerate(self._stances(range(len(self.labels)))):
            for word in stance.said if stance else ():
                by_word[word].append(row)
        return by_word
