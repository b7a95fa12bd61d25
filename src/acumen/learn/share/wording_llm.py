"""One lesson out of several that say the same, by a model whose answer is checked."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from acumen.errors import ModelUnusable
from acumen.learn.share.plan import UserLesson
from acumen.learn.share.shareable import shareable
from acumen.learn.share.stance import opposed, stance
from acumen.learn.share.wording import Names, Worded, anonymizer, confident, texts_of
from acumen.llm import prompt
from acumen.llm.gateway import Llm
from acumen.model.memories.playbook import Lesson

# A model gains little from reading the hundredth paraphrase; the newest are shown.
MOST_SHOWN = 60
# Of the content words: another wording of the same shares more, another lesson hardly any.
LEAST_SHARED = 0.5


class WrittenLesson(BaseModel):
    """The lesson that all users of the agent share."""

    one_lesson: bool = Field(True, description="False when the lessons do not say the same.")
    content: str = Field("", description="The instruction, in the imperative.", max_length=1000)
    trigger: str | None = Field(None, description="The situation it is for.", max_length=300)
    rationale: str | None = Field(None, description="Why, if the lessons say so.", max_length=500)
    pitfall: str | None = Field(None, description="What agents did wrong, if several lessons say so.", max_length=500)


PROMPT = prompt.load(__file__, "aggregate", WrittenLesson)


async def write(taught: Sequence[UserLesson], names: Names, llm: Llm) -> Worded | None:
    """None when the model finds that it is not one lesson, or writes one that is opposed to its sources or not for all.

    Raises ModelUnavailable when it does not answer, or answers with something that its sources do not say.
    """
    newest = sorted(taught, key=lambda lesson: -lesson.playbook.updated_at)[:MOST_SHOWN]
    answer = await llm.ask(PROMPT.question({"lessons": "\n".join(map(_line, newest))}))
    written = answer.value
    read = stance(written.content)
    against = sum(opposed(read, stance(lesson.playbook.lesson.content)) for lesson in taught)
    if not (written.one_lesson and written.content.strip()) or against * 4 > len(taught):
        return None
    sources = {word for lesson in taught for text in texts_of(lesson.playbook.lesson) for word in stance(text).terms}
    if not read.terms or len(read.terms & sources) < LEAST_SHARED * len(read.terms):
        raise ModelUnusable("The language model's lesson does not say what its sources say.")
    clean = anonymizer(taught, names)
    content, trigger, rationale, pitfall = (
        clean(text).text for text in (written.content, written.trigger, written.rationale, written.pitfall)
    )
    lesson = Lesson(content, trigger or None, rationale or None, pitfall or None)
    return Worded(lesson, confident(answer.origin, taught)) if shareable(content) else None


def _line(taught: UserLesson) -> str:
    lesson = taught.playbook.lesson
    parts = [
        f"- [{lesson.trigger}]" if lesson.trigger else "-",
        lesson.content,
        f"(because: {lesson.rationale})" if lesson.rationale else "",
        f"(went wrong: {lesson.pitfall})" if lesson.pitfall else "",
    ]
    return " ".join(part for part in parts if part).replace("\n", " ")
