"""Lessons that say the same, grouped: by meaning, by words, and never across an "always" and a "never". Pure.

Average-link, one lesson at a time: a lesson is compared with the centroid of every group, and its group and another
become one when they are alike *on average*, so that a chain of neighbours does not draw everything together. The same
code groups a whole agent version and adds a single lesson to groups that exist; only lessons close enough to be
compared by words are read.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np
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
# Without vectors, this share of all the words of both must be common (Jaccard).
LEAST_WORDS = 0.6

# Groups that a lesson is compared with by words, the closest first.
NEIGHBOURS = 32
# Members of a group that are compared with a lesson by words, the closest first.
SPEAKERS = 8
# Cosines are computed for so many lessons at once.
BLOCK = 256


def same_rule(
    left: Stance, vector: Floats | None, right: Stance, other: Floats | None, least: float = LEAST_MEANING
) -> bool:
    """Whether two lessons, taken by themselves, say the same. Vectors have length one."""
    if vector is None or other is None:
        both = left.said | right.said
        alike = bool(left.said and right.said) and len(left.said & right.said) >= LEAST_WORDS * len(both)
    else:
        cosine = float(vector @ other)
        in_words = OF_WORDS * shared(left, right) + OF_VALUES * agreed(left, right) if cosine >= least else 0.0
        alike = cosine >= least and cosine + in_words >= SAME
    return alike and not opposed(left, right)


class Grouping:
    """Lessons by their row in `vectors` (zeros: not known yet, compared with nothing), and the label of their group.

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
        self._stances = stances
        self._least = least
        self._members: dict[int, list[int]] = defaultdict(list)
        for row, label in enumerate(labels.tolist()):
            self._members[label].append(row)

    def members(self, label: int) -> list[int]:
        return sorted(self._members[label])

    def place(self, rows: Iterable[int]) -> set[int]:
        """Groups these lessons, and the single ones that they are grouped with; all of them are returned."""
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

    def _join(self, row: int, cosines: Floats) -> list[int]:
        """Merges the group of a lesson with every other that says the same; the single lessons among them."""
        singles: list[int] = []
        for label in self._nearest(row, cosines) if self._stances([row])[0] else ():
            here, there = self._members[int(self.labels[row])], self._members[label]
            speakers = sorted(there, key=cosines.__getitem__, reverse=True)[:SPEAKERS]
            if self._any_same(row, speakers) and self._belong_together(here, there):
                singles += there if len(there) == 1 else []
                self.labels[there] = self.labels[row]
                here += self._members.pop(label)
        return singles

    def _nearest(self, row: int, cosines: Floats) -> list[int]:
        """Labels of other groups by the mean cosine of their members, the closest first."""
        means = np.bincount(self.labels, cosines) / np.maximum(np.bincount(self.labels), 1)
        means[self.labels[row]] = -1
        near = np.flatnonzero(means >= self._least)
        return [int(label) for label in near[np.argsort(-means[near], kind="stable")][:NEIGHBOURS]]

    def _any_same(self, row: int, others: Sequence[int]) -> bool:
        stance, *speakers = self._stances((row, *others))
        return stance is not None and any(
            read and same_rule(stance, self._vectors[row], read, self._vectors[other], self._least)
            for read, other in zip(speakers, others, strict=True)
        )

    def _belong_together(self, here: Sequence[int], there: Sequence[int]) -> bool:
        left, right = (self._vectors[rows].mean(axis=0) for rows in (here, there))
        if float(left @ right) < self._least:
            return False
        # Copies of one text have one stance.
        ours, theirs = ({id(read): read for read in self._stances(rows) if read} for rows in (here, there))
        return not any(opposed(a, b) for a in ours.values() for b in theirs.values())
