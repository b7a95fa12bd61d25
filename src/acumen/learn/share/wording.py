"""One lesson out of several that say the same, without a model: the best wording, completed by the others. Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from acumen.learn.share.anonymize import Anonymized, anonymize, words_in
from acumen.learn.share.plan import UserLesson, users_of
from acumen.learn.share.stance import stance
from acumen.model.ids import UserId
from acumen.model.memories.base import Origin
from acumen.model.memories.playbook import Lesson

Names = Collection[str]  # of the users who taught a lesson
Clean = Callable[[str | None], Anonymized]


class Worded(Struct, frozen=True):
    lesson: Lesson
    origin: Origin
    notes: str | None = None  # why rules worded what a model should have


def by_rules(taught: Sequence[UserLesson], names: Names, notes: str | None = None) -> Worded:
    return Worded(write(taught, names), confident(Origin("rules"), taught), notes)


def confident(origin: Origin, taught: Sequence[UserLesson]) -> Origin:
    """The more users teach a lesson independently, the higher its confidence."""
    return replace(origin, confidence=round(1 - 0.5 / len(users_of(taught)), 2))


def anonymizer(taught: Sequence[UserLesson], names: Names) -> Clean:
    """Removes the names of the users who taught it, and names that only one of them used."""
    by_user: dict[UserId, set[str]] = {}
    for lesson in taught:
        by_user.setdefault(lesson.user, set()).update(_words([lesson.playbook.lesson]))
    counts = Counter(word for words in by_user.values() for word in words)
    shared = {word for word, users in counts.items() if users > 1}
    return lambda text: anonymize((text or "").strip(), names, shared)


def write(taught: Sequence[UserLesson], names: Names) -> Lesson:
    """In the words of one user: without personal details, most central, most often mentioned, newest, in this order."""
    clean = anonymizer(taught, names)
    ranked = _ranked(taught, clean)

    def first_clean(part: str) -> str | None:
        """Of the best lesson that has one without personal details."""
        texts = (clean(getattr(lesson.playbook.lesson, part)) for lesson in ranked)
        return next((result.text for result in texts if result.text and not result.removed), None)

    content = clean(ranked[0].playbook.lesson.content).text
    parts = {part: first_clean(part) for part in ("trigger", "rationale", "pitfall")}
    return Lesson(content, **parts, blocking_issue=_issue(ranked, clean))


def supports(lesson: Lesson, taught: Sequence[UserLesson], names: Names) -> bool:
    """Whether the lesson's instruction is still in the words of a user who teaches it."""
    clean = anonymizer(taught, names)
    return any(clean(source.playbook.lesson.content).text == lesson.content for source in taught)


def materially_different(before: Lesson, after: Lesson) -> bool:
    """Case, order and filler do not matter, nor does the rationale, which no agent is shown."""
    then, now = (
        [stance(part or "") for part in (lesson.content, lesson.trigger, lesson.pitfall)] for lesson in (before, after)
    )
    return then != now


def contains_erased_text(lesson: Lesson, gone: Sequence[Lesson], remaining: Sequence[Lesson]) -> bool:
    """Whether it contains a word or a whole part that only `gone` contain."""
    only = _words(gone) - _words(remaining)
    copied = _parts(gone) - _parts(remaining)
    return bool(_words([lesson]) & only or _parts([lesson]) & copied)


def in_words_of(lesson: Lesson, others: Sequence[Lesson]) -> bool:
    return _words([lesson]) <= _words(others)


def _words(lessons: Sequence[Lesson]) -> set[str]:
    return {word for part in _parts(lessons) for word in words_in(part)}


def _parts(lessons: Sequence[Lesson]) -> set[str]:
    return {" ".join(part.casefold().split()) for lesson in lessons for part in texts_of(lesson)}


def texts_of(lesson: Lesson) -> list[str]:
    details = str((lesson.blocking_issue or {}).get("details", ""))
    return [part for part in (lesson.trigger, lesson.content, lesson.rationale, lesson.pitfall, details) if part]


def _ranked(taught: Sequence[UserLesson], clean: Clean) -> list[UserLesson]:
    mentions: Counter[str] = Counter()
    for lesson in taught:
        mentions[lesson.playbook.lesson.content.casefold()] += lesson.playbook.mentions
    vectors = [lesson.vector for lesson in taught if lesson.vector is not None]
    mean = np.mean(vectors, axis=0) if vectors else np.zeros(1, np.float32)

    def rank(lesson: UserLesson) -> tuple[int, float, int, int, int]:
        playbook, content = lesson.playbook, lesson.playbook.lesson.content
        central = 0.0 if lesson.vector is None else float(lesson.vector @ mean)
        often = mentions[content.casefold()]
        return clean(content).removed, -round(central, 1), -often, -playbook.updated_at, playbook.id

    return sorted(taught, key=rank)


def _issue(ranked: Sequence[UserLesson], clean: Clean) -> dict[str, Any] | None:
    """Where at least half of the lessons report the same kind."""
    issues = [issue for lesson in ranked if (issue := lesson.playbook.lesson.blocking_issue)]
    kind, count = next(iter(Counter(issue.get("kind") for issue in issues).most_common(1)), (None, 0))
    if not count or count * 2 < len(ranked):
        return None
    issue = next(issue for issue in issues if issue.get("kind") == kind)
    return {**issue, "details": clean(str(issue.get("details", ""))).text}
