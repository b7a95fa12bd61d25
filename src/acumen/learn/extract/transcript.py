"""A window as a model reads it: numbered and dated turns, within a budget of tokens, secrets redacted."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec import Struct

from acumen.llm.tokens import count_tokens, truncate
from acumen.model.conversation import Turn, Window
from acumen.model.ids import Millis
from acumen.model.lazy_regex import lazy_regex
from acumen.model.secrets import redact

# One turn may take at most this much of the room: a pasted document must not push the talk out.
MOST_OF_ROOM = 0.4
# Tokens; with fewer a turn says nothing any more.
LEAST_SHARE = 20
TOOL_CHARACTERS = 600
# Characters from which an agent's answer is marked as new: it may contain results that the user comes back to.
LONG_ANSWER = 120

# Text between quotation marks, long enough to be more than a name.
QUOTED = re.compile(
    r"[\"“„][^\"”“\n]{15,2000}[\"”“]|«[^»\n]{15,2000}»|[「『][^」』\n]{10,2000}[」』]|(?<!\w)'[^'\n]{15,2000}'(?!\w)"
)
# Not after "Dr.", and not in "am 3. Mai".
_BETWEEN_SENTENCES = lazy_regex(
    r"(?:(?<=\w\w\w[.!?])|(?<=\d[.!?])(?![ \t]+(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)))"
    r"[ \t]+(?=[^\W\d_a-z]|[¿¡\"'«„“])|(?<=[。！？])(?![。！？」』”\s]|\Z)"
)


class Transcript(Struct, frozen=True):
    """`turns` are the turns that are shown, by the number they are shown under."""

    text: str
    turns: Mapping[int, Turn]


def transcript(window: Window, room: int) -> Transcript:
    """Long turns are shortened until all new ones fit into `room` tokens; context goes first, then the oldest turns."""
    kept: list[tuple[int, Turn, str]] = []
    for number, (turn, line) in reversed(list(enumerate(_shown(window, room), 1))):
        room -= _tokens(line)
        if room < 0:
            break
        kept.insert(0, (number, turn, line))
    return Transcript("\n".join(line for _, _, line in kept), {number: turn for number, turn, _ in kept})


def _shown(window: Window, room: int) -> list[tuple[Turn, str]]:
    """A new turn is read only once: each has a share of the room, even next to long ones."""
    most = int(room * MOST_OF_ROOM)
    while True:
        shown = [(turn, _line(number, turn, most)) for number, turn in enumerate(window.turns, 1)]
        if most <= LEAST_SHARE or sum(_tokens(line) for turn, line in shown if turn.is_new) <= room:
            return shown
        most //= 2


def _tokens(line: str) -> int:
    return count_tokens(line) + 2  # with the line break


def _line(number: int, turn: Turn, most: int) -> str:
    """Only the first line of a turn is not indented, so that no text can pass for another turn."""
    number_shown, mark = (f"[{number}]", " (new)") if is_marked(turn) else ("-", "")
    head = f"{number_shown} {_date(turn.at)} {'user' if turn.by_user else 'agent'}{mark}"
    text = _shortened(redact(turn.text), most)
    lines = [f"{head}: {_by_sentence(text) if turn.by_user else text}"]
    lines += [f"tool {_tool(tool)}" for tool in turn.tools_used]
    if turn.expert_text:
        lines.append(f"an expert's answer instead: {_shortened(redact(turn.expert_text), most)}")
    return truncate("\n".join(lines).replace("\n", "\n    "), most * 2)


def is_marked(turn: Turn) -> bool:
    """Whether it is shown as new, with a number to quote it by. An agent's short answer is not: small models note
    something of every turn that they can quote.
    """
    offered = turn.by_user or turn.tools_used or turn.expert_text or len(turn.text) >= LONG_ANSWER
    return turn.is_new and bool(offered)


def _by_sentence(text: str) -> str:
    """A line for each sentence, but none inside of quoted text: small models note a thing for each line."""
    pieces = QUOTED.split(text)
    quotes = [*QUOTED.findall(text), ""]
    return "".join(_BETWEEN_SENTENCES.sub("\n", piece) + quote for piece, quote in zip(pieces, quotes, strict=True))


def _date(at: Millis) -> str:
    return f"{datetime.fromtimestamp(at / 1000, UTC):%a %Y-%m-%d}"


def _tool(tool: Mapping[str, object]) -> str:
    data = json.dumps(tool.get("tool_data") or {}, ensure_ascii=False, default=str)
    status = tool.get("status") or "unknown"
    return redact(f"{tool.get('tool_name', '')} ({status}): {data[:TOOL_CHARACTERS]}")


def _shortened(text: str, most: int) -> str:
    """The beginning and the end of a long text: those are the writer's own words."""
    if count_tokens(text) <= most:
        return text
    half = len(truncate(text, most // 2))
    return f"{text[:half]} […] {text[-half:]}"
