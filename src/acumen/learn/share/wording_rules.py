"""One lesson out of several that say the same, without a model: the best wording, completed by the others. Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from acumen.learn.share.anonymize import anonymize, words_in
from acumen.learn.share.groups import UserLesson
from acumen.learn.share.stance import stance
from acumen.model.ids import UserId
from acumen.model.playbook import Lesson

Names = Mapping[UserId, Collection[str]]


def write(taught: Sequence[UserLesson], names: Names) -> Lesson:
    """Nothing personal in it, as central as any, most often said, newest: in this order."""
    shared = shared_words(taught)
    ranked = _ranked(taught, names, shared)
    best = ranked[0].playbook.lesson
    everyone = {name for of_user in names.values() for name in of_user}

    def cleaned(text: str | None) -> tuple[str, int]:
        result = anonymize(text or "", everyone, shared)
        return result.text, result.removed

    def first_clean(part: Callable[[Lesson], str | None]) -> str | None:
        """The best one's own, or that of another, if nothing needs to be taken out of it."""
        said = (cleaned(part(one.playbook.lesson)) for one in ranked)
        return next((text for text, marks in said if text and not marks), None)

    return Lesson(
        content=cleaned(best.content)[0],
        trigger=first_clean(lambda lesson: lesson.trigger),
        rationale=first_clean(lambda lesson: lesson.rationale),
        pitfall=first_clean(lambda lesson: lesson.pitfall),
        blocking_issue=_issue(ranked, cleaned),
    )


def supports(lesson: Lesson, taught: Sequence[UserLesson], names: Names) -> bool:
    """Whether the lesson's instruction is still in the words of one who teaches it."""
    shared = shared_words(taught)
    everyone = {name for of_user in names.values() for name in of_user}
    return any(anonymize(one.playbook.lesson.content, everyone, shared).text == lesson.content for one in taught)


def materially_other(before: Lesson, after: Lesson) -> bool:
    """Whether an agent that is shown the one is told something else than by the other.

    Case, order and filler do not matter, nor does the rationale, which no agent is shown.
    """
    return _meaning(before) != _meaning(after)


def _meaning(lesson: Lesson) -> tuple[frozenset[str], ...]:
    parts = [stance(part or "") for part in (lesson.content, lesson.trigger, lesson.pitfall)]
    return tuple(words for part in parts for words in (part.said, part.wanted, part.unwanted))


def tells(lesson: Lesson, gone: Sequence[Lesson], remaining: Sequence[Lesson]) -> bool:
    """Whether the lesson says anything that only those of `gone` had said."""
    only = _words(gone) - _words(remaining)
    copied = _parts(gone) - _parts(remaining)
    return bool(_words([lesson]) & only or _parts([lesson]) & copied)


def in_words_of(lesson: Lesson, others: Sequence[Lesson]) -> bool:
    """Whether there is no word in the lesson that is not in one of the others."""
    return _words([lesson]) <= _words(others)


def _words(lessons: Sequence[Lesson]) -> set[str]:
    return {word for lesson in lessons for part in _texts(lesson) for word in words_in(part)}


def _parts(lessons: Sequence[Lesson]) -> set[str]:
    return {" ".join(part.casefold().split()) for lesson in lessons for part in _texts(lesson)}


def _texts(lesson: Lesson) -> Iterator[str]:
    details = str((lesson.blocking_issue or {}).get("details", ""))
    yield from (part for part in (lesson.trigger, lesson.content, lesson.rationale, lesson.pitfall, details) if part)


def shared_words(taught: Sequence[UserLesson]) -> set[str]:
    """What at least two users said."""
    said: Counter[str] = Counter()
    by_user: dict[UserId, set[str]] = {}
    for one in taught:
        by_user.setdefault(one.user, set()).update(_words([one.playbook.lesson]))
    for words in by_user.values():
        said.update(words)
    return {word for word, users in said.items() if users > 1}


def _ranked(taught: Sequence[UserLesson], names: Names, shared: Collection[str]) -> list[UserLesson]:
    said: Counter[str] = Counter()
    for one in taught:
        said[one.playbook.lesson.content.casefold()] += one.playbook.mentions
    central, everyone = _centrality(taught), {name for of_user in names.values() for name in of_user}

    def rank(place: int) -> tuple[int, float, int, int, int]:
        playbook = taught[place].playbook
        marks = anonymize(playbook.lesson.content, everyone, shared).removed
        mentions = said[playbook.lesson.content.casefold()]
        return marks, -round(central[place], 1), -mentions, -playbook.updated_at, playbook.id

    return [taught[place] for place in sorted(range(len(taught)), key=rank)]


def _centrality(taught: Sequence[UserLesson]) -> list[float]:
    """The mean cosine with all; 0 where there is no vector."""
    vectors = [one.vector for one in taught if one.vector is not None]
    if not vectors:
        return [0.0] * len(taught)
    mean = np.mean(vectors, axis=0)
    return [0.0 if one.vector is None else float(one.vector @ mean) for one in taught]


def _issue(ranked: Sequence[UserLesson], cleaned: Callable[[str | None], tuple[str, int]]) -> dict[str, object] | None:
    """What keeps agents from it, when at least half of the lessons tell of the same kind of obstacle."""
    issues = [one.playbook.lesson.blocking_issue for one in ranked if one.playbook.lesson.blocking_issue]
    kinds = Counter(str(issue.get("kind")) for issue in issues)
    if not kinds or kinds.most_common(1)[0][1] * 2 < len(ranked):
        return None
    kind = kinds.most_common(1)[0][0]
    told = next(issue for issue in issues if issue.get("kind") == kind)
    return {**told, "details": cleaned(str(told.get("details", "")))[0]}
