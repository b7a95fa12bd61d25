"""Groups lessons that say the same: average-link clustering, one lesson at a time. Pure.

A lesson is compared with the centroid of every group, and its group and another are merged when they are alike *on
average*, so that a chain of neighbours does not join everything. The same code groups a whole agent version and adds a
single lesson to groups that exist; only lessons close enough to be compared by words are read.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from acumen.learn.share.plan import SharedLesson, lesson_stance
from acumen.learn.share.shareable import shareable
from acumen.learn.share.stance import MIN_COSINE, Stance, Vector, opposed, same_rule
from acumen.model.ids import PlaybookId
from acumen.model.memories.playbook import Lesson

Matrix = NDArray[np.float32]
Labels = NDArray[np.intp]

# Groups that a lesson is compared with by words, the closest first.
NEIGHBOURS = 32
# Members of a group that are compared with a lesson by words, the closest first.
REPRESENTATIVES = 8
# Cosines are computed for this many lessons at once.
BLOCK = 256


class LessonIndex(Struct, frozen=True):
    """All current lessons of one agent version and name, without their words; equal positions belong together."""

    ids: Sequence[PlaybookId] = ()
    vectors: Matrix = np.zeros((0, 1), np.float32)  # zeros where there is none of this model
    changed: Sequence[bool] = ()  # since the bookmark


Read = Callable[[Sequence[PlaybookId]], Sequence[Lesson]]


def regroup(
    index: LessonIndex, shared: Sequence[SharedLesson], read: Read, min_cosine: float | None = None
) -> list[tuple[PlaybookId, ...]]:
    """The members of each group that gained or lost any; other groups are left alone, unread."""
    rows = {lesson: row for row, lesson in enumerate(index.ids)}
    labels = np.arange(len(index.ids))
    lost: set[int] = set()
    for lesson in sorted(shared, key=lambda lesson: -lesson.rank):
        left = [rows[member] for member in lesson.members if member in rows]
        unchanged = [row for row in left if not index.changed[row]]
        labels[unchanged] = min(unchanged, default=0)
        if not lesson.withdrawn and len(left) < len(lesson.members):
            lost.update(left)
    grouping = _Grouping(index, labels, read, MIN_COSINE if min_cosine is None else min_cosine)
    touched = lost | grouping.place(row for row, changed in enumerate(index.changed) if changed)
    labels_touched = sorted({int(labels[row]) for row in touched})
    return [tuple(index.ids[row] for row in grouping.members(label)) for label in labels_touched]


class _Grouping:
    """Lessons by their row in the index, and the label of their group. Zero vectors are compared with nothing."""

    def __init__(self, index: LessonIndex, labels: Labels, read: Read, min_cosine: float) -> None:
        self._index, self._vectors, self._labels, self._read = index, index.vectors, labels, read
        self._min_cosine = min_cosine
        self._cache: dict[int, Stance | None] = {}
        self._members: dict[int, list[int]] = defaultdict(list)
        for row, label in enumerate(labels.tolist()):
            self._members[label].append(row)

    def _stances(self, rows: Sequence[int]) -> list[Stance | None]:
        """None for a lesson that belongs to no group."""
        missing = [row for row in rows if row not in self._cache]
        if missing:
            lessons = self._read([self._index.ids[row] for row in missing])
            stances = [lesson_stance(lesson) if shareable(lesson.content) else None for lesson in lessons]
            self._cache.update(zip(missing, stances, strict=True))
        return [self._cache[row] for row in rows]

    def members(self, label: int) -> list[int]:
        return sorted(self._members[label])

    def place(self, rows: Iterable[int]) -> set[int]:
        """Groups these lessons, and the single ones that they are grouped with; all of them are returned."""
        queue = deque(rows)
        placed = set(queue)
        self._stances(list(queue))  # read together
        while queue:
            block = [queue.popleft() for _ in range(min(BLOCK, len(queue)))]
            for row, cosines in zip(block, self._vectors[block] @ self._vectors.T, strict=True):
                joined = [single for single in self._join(row, cosines) if single not in placed]
                queue.extend(joined)
                placed.update(joined)
        return placed

    def _join(self, row: int, cosines: Vector) -> list[int]:
        """Merges the group of a lesson with every other that says the same; the single lessons among them."""
        singles: list[int] = []
        for label in self._nearest(row, cosines) if self._stances([row])[0] else ():
            here, there = self._members[int(self._labels[row])], self._members[label]
            closest = sorted(there, key=cosines.__getitem__, reverse=True)[:REPRESENTATIVES]
            if self._any_same(row, closest) and self._belong_together(here, there):
                singles += there if len(there) == 1 else []
                self._labels[there] = self._labels[row]
                here += self._members.pop(label)
        return singles

    def _nearest(self, row: int, cosines: Vector) -> list[int]:
        """Labels of other groups by the mean cosine of their members, the closest first."""
        means = np.bincount(self._labels, cosines) / np.maximum(np.bincount(self._labels), 1)
        means[self._labels[row]] = -1
        near = np.flatnonzero(means >= self._min_cosine)
        return [int(label) for label in near[np.argsort(-means[near], kind="stable")][:NEIGHBOURS]]

    def _any_same(self, row: int, rows: Sequence[int]) -> bool:
        stance, *members = self._stances((row, *rows))
        return stance is not None and any(
            member and same_rule(stance, self._vectors[row], member, self._vectors[place], self._min_cosine)
            for member, place in zip(members, rows, strict=True)
        )

    def _belong_together(self, here: Sequence[int], there: Sequence[int]) -> bool:
        left, right = (self._vectors[rows].mean(axis=0) for rows in (here, there))
        if float(left @ right) < self._min_cosine:
            return False
        # Copies of one text have one stance.
        ours, theirs = ({id(stance): stance for stance in self._stances(rows) if stance} for rows in (here, there))
        return not any(opposed(a, b) for a in ours.values() for b in theirs.values())
