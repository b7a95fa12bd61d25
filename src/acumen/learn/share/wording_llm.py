"""One lesson out of several that say the same, by a model; what it writes is checked before it is believed."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from acumen.errors import ModelUnusable
from acumen.learn.share.anonymize import anonymize
from acumen.learn.share.groups import UserLesson
from acumen.learn.share.stance import opposed, stance
from acumen.learn.share.wording_rules import Names, shared_words
from acumen.llm import prompt
from acumen.llm.gateway import Llm
from acumen.model.memory import Origin
from acumen.model.playbook import Lesson
from acumen.model.secrets import redact

# A model gains little from reading the hundredth paraphrase; the newest are shown.
MOST_SHOWN = 60
# Of the words that carry meaning: another wording of the same shares more, another lesson hardly any.
LEAST_SHARED = 0.5


class WrittenLesson(BaseModel):
    """The lesson that all users of the agent share."""

    one_lesson: bool = Field(True, description="False when the lessons do not say the same.")
    content: str = Field("", description="The instruction, in the imperative.", max_length=1000)
    trigger: str | None = Field(None, description="The situation it is for.", max_length=300)
    rationale: str | None = Field(None, description="Why, if the lessons say so.", max_length=500)
    pitfall: str | None = Field(None, description="What agents did wrong, if several lessons tell it.", max_length=500)


PROMPT = prompt.beside(__file__, "aggregate", WrittenLesson)


async def write(taught: Sequence[UserLesson], names: Names, llm: Llm) -> tuple[Lesson, Origin] | None:
    """None when the model finds that it is not one lesson, or writes one that turns against its sources.

    Raises ModelUnavailable when it does not answer, or answers with something that its sources do not say.
    """
    newest = sorted(taught, key=lambda one: -one.playbook.updated_at)[:MOST_SHOWN]
    answer = await llm.ask(PROMPT.question({"lessons": "\n".join(map(_line, newest))}))
    written = answer.value
    if not (written.one_lesson and written.content.strip()) or _turns(written.content, taught):
        return None
    if not _in_their_words(written.content, taught):
        raise ModelUnusable("The language model's lesson does not say what its sources say.")
    return _cleaned(written, taught, names), answer.origin


def _line(one: UserLesson) -> str:
    lesson = one.playbook.lesson
    parts = [
        f"- [{lesson.trigger}]" if lesson.trigger else "-",
        lesson.content,
        f"(because: {lesson.rationale})" if lesson.rationale else "",
        f"(went wrong: {lesson.pitfall})" if lesson.pitfall else "",
    ]
    return redact(" ".join(part for part in parts if part).replace("\n", " "))


def _turns(content: str, taught: Sequence[UserLesson]) -> bool:
    """Whether it is opposed to more than a few of those it should speak for."""
    written = stance(content)
    against = sum(opposed(written, stance(one.playbook.lesson.content)) for one in taught)
    return against * 4 > len(taught)


def _in_their_words(content: str, taught: Sequence[UserLesson]) -> bool:
    """Whether at least half of the words that carry its meaning are its sources' own."""
    lessons = [one.playbook.lesson for one in taught]
    said = {root for lesson in lessons for text in _texts(lesson) for root in stance(text).said}
    written = stance(content).said
    return bool(written) and len(written & said) >= LEAST_SHARED * len(written)


def _texts(lesson: Lesson) -> list[str]:
    return [text for text in (lesson.content, lesson.trigger, lesson.rationale, lesson.pitfall) if text]


def _cleaned(written: WrittenLesson, taught: Sequence[UserLesson], names: Names) -> Lesson:
    everyone = {name for of_user in names.values() for name in of_user}
    shared = shared_words(taught)

    def cleaned(text: str | None) -> str | None:
        return anonymize(text.strip(), everyone, shared).text if text and text.strip() else None

    return Lesson(
        content=cleaned(written.content) or "",
        trigger=cleaned(written.trigger),
        rationale=cleaned(written.rationale),
        pitfall=cleaned(written.pitfall),
    )
