"""Extraction by a language model: one call per window reads facts and lessons, and ends what no longer holds."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from acumen.errors import ModelUnusable
from acumen.learn.extract.language import language_of
from acumen.learn.extract.model_answer import Edits, Shown, check, memory_ref, text_of
from acumen.learn.extract.notes import Extraction
from acumen.learn.extract.transcript import transcript
from acumen.llm import prompt
from acumen.llm.gateway import Llm
from acumen.llm.tokens import count_tokens
from acumen.model.config import Extractor
from acumen.model.conversation import Window
from acumen.model.ids import Kind, Millis
from acumen.model.memories.memory import Memory
from acumen.model.memories.playbook import AgentPlaybook
from acumen.model.secrets import redact

MOST_KNOWN = 30
MOST_KNOWN_CHARACTERS = 300

EXTRACT = prompt.load(__file__, "extract", Edits)

_NAMES = {Kind.PROFILE: "fact", Kind.USER_PLAYBOOK: "lesson"}
_ASKED_FOR = {
    Kind.PROFILE: "Facts (`identity`, `preference`, `fact`, `plan`, `event`)",
    Kind.USER_PLAYBOOK: "Lessons (`rule`, `recipe`)",
}


async def extract(
    window: Window, extractors: Mapping[Kind, Extractor], known: Sequence[Memory], llm: Llm, about: str
) -> Extraction:
    """Notes and endings as the model alone decides. ModelUnavailable when there is no answer that can be used.

    `known` is ordered by how likely the window touches them: what does not fit is left out from the end. Only notes of
    the kinds that have an extractor are asked for and returned.
    """
    shown_known = _numbered(known, extractors, EXTRACT.room("known"))
    shown = Shown(transcript(window, EXTRACT.room("conversation")), shown_known, extractors)
    values = {
        "definitions": "\n".join(f"- {_ASKED_FOR[kind]}: {each.definition}" for kind, each in extractors.items()),
        "context": "\n\n".join(dict.fromkeys(_context(extractors, about))),
        "tagging": "\n".join(dict.fromkeys(each.tagging for each in extractors.values() if each.tagging)) or "none.",
        "language": _language(window),
        "today": f"{_date(window.turns[-1].at):%Y-%m-%d, a %A}",
        "known": "\n".join(_line(short, memory) for short, memory in shown_known.items()) or "(none)",
        "conversation": shown.transcript.text,
    }
    request = window.turns[-1].request_id
    answer = await llm.ask(EXTRACT.question(values, user_id=window.user_id, request_id=request))
    checked = check(answer.value.edits, shown)
    if checked.refused and not (checked.notes or checked.endings):
        raise ModelUnusable("The language model's answer cannot be used: nothing in it rests on the conversation.")
    return Extraction(list(checked.notes), list(checked.endings), answer.origin)


def _language(window: Window) -> str:
    """Of the new user turns; small models otherwise write in the language of an example."""
    language = language_of("\n".join(turn.text for turn in window.turns if turn.by_user and turn.is_new))
    return language or "the language of its quote"


def _context(extractors: Mapping[Kind, Extractor], about: str) -> list[str]:
    return [part for part in (about, *(each.context for each in extractors.values())) if part]


def _numbered(known: Sequence[Memory], extractors: Mapping[Kind, Extractor], room: int) -> dict[str, Memory]:
    """Memories of the kinds that are read, under short ids, as many as fit. Shared lessons must not be changed."""
    numbered: dict[str, Memory] = {}
    for memory in known:
        if isinstance(memory, AgentPlaybook) or memory_ref(memory).kind not in extractors:
            continue
        short = f"k{len(numbered) + 1}"
        room -= count_tokens(_line(short, memory)) + 1
        if room < 0 or len(numbered) == MOST_KNOWN:
            break
        numbered[short] = memory
    return numbered


def _line(short: str, memory: Memory) -> str:
    """One line, for any content: nothing in it can pass for another memory."""
    said_at = None if isinstance(memory, AgentPlaybook) else memory.said_at
    text = " ".join(redact(text_of(memory)).split())[:MOST_KNOWN_CHARACTERS]
    return f"{short} ({_NAMES[memory_ref(memory).kind]}, {_date(said_at or memory.created_at):%Y-%m-%d}): {text}"


def _date(at: Millis) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC)
