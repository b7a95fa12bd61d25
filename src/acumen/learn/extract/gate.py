"""Whether a window is worth a model's reading: cheap rules first, then, if it is still open, the model's vote."""

from acumen.learn.extract.transcript import transcript
from acumen.llm import prompt
from acumen.llm.gateway import Llm
from acumen.llm.prompt import Shape
from acumen.model.config import Extractor
from acumen.model.conversation import Turn, Window
from acumen.model.lazy_regex import lazy_regex

# A command to the agent's program (`/clear`, `!ls`), or no word at all.
_COMMAND = lazy_regex(r"\s*[/!][\w:-]+(?:\s+\S+){0,5}\s*")
_WORD = lazy_regex(r"\w\w")


class Vote(Shape):
    worth_reading: bool


VOTE = prompt.load(__file__, "gate", Vote)


def says_something(window: Window) -> bool:
    """Whether any new turn holds more than commands and echoes of what we injected, which are gone from its text."""
    return any(_says_something(turn) for turn in window.turns if turn.is_new)


def _says_something(turn: Turn) -> bool:
    if turn.expert_text or (turn.tools_used and not turn.by_user):
        return True
    return turn.by_user and bool(_WORD.search(turn.text)) and not _COMMAND.fullmatch(turn.text)


async def vote(window: Window, extractor: Extractor, llm: Llm) -> bool:
    """What the model thinks. ModelUnavailable when it does not answer."""
    values = {
        "definition": extractor.definition,
        "rule": extractor.gate,
        "conversation": transcript(window, VOTE.room("conversation")).text,
    }
    request = window.turns[-1].request_id
    answer = await llm.ask(VOTE.question(values, user_id=window.user_id, request_id=request))
    return answer.value.worth_reading
