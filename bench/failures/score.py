"""How well groups fit the templates that messages were made from."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct


class Score(Struct, frozen=True):
    """Shares of messages. `accuracy`: their whole group is exactly right. `merged`: they are a group's minority."""

    accuracy: float
    merged: float
    groups: int
    templates: int


def score(labels: Sequence[str], groups: Sequence[str]) -> Score:
    by_group: dict[str, Counter[str]] = {}
    by_label: dict[str, set[str]] = {}
    for label, group in zip(labels, groups, strict=True):
        by_group.setdefault(group, Counter())[label] += 1
        by_label.setdefault(label, set()).add(group)
    right = sum(
        counted.total()
        for group, counted in by_group.items()
        if len(counted) == 1 and by_label[next(iter(counted))] == {group}
    )
    wrong = sum(counted.total() - counted.most_common(1)[0][1] for counted in by_group.values())
    return Score(right / len(labels), wrong / len(labels), len(by_group), len(by_label))
