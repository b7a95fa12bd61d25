"""What the user says in their own name: the sentences of new turns, each with what it is said into."""

import re
from collections.abc import Iterator

from msgspec import Struct, field

from acumen.learn.rules import parts
from acumen.learn.rules.classifier import LEARNABLE
from acumen.learn.rules.cues import Surface, surface
from acumen.learn.rules.lessons import Setting
from acumen.learn.rules.sentences import Sentence, sentences
from acumen.model.conversation import Turn, Window
from acumen.model.ids import InteractionId
from acumen.model.memory import Evidence
from acumen.model.profile import TimeToLive
from acumen.model.secrets import redact

# How many turns back the agent's words count as its last answer.
MAX_AGENT_TURNS = 4
# A turn of more sentences is mostly a text handed over; its writer speaks before and after it.
MAX_SAID = 16
# A repeated sentence of at least this many words is an echo of the agent, not a statement of the user.
ECHO_WORDS = 6
# How much of the agent's talk is kept to recognise echoes by.
ECHO_CHARACTERS = 20_000


class Said(Struct):
    """A sentence of a new user turn, what it is, and all that is needed to write it down."""

    turn: Turn
    sentence: Sentence
    seen: Surface
    setting: Setting
    chances: dict[str, float] = field(default_factory=dict)
    ttl: TimeToLive = TimeToLive.INFINITY
    label: str = ""  # "" for what is not worth keeping
    fault: "Said | None" = None  # the sentence of its turn that finds fault with what the agent did
    more: list["Said"] = field(default_factory=list)  # fragments that belong to it
    previous: InteractionId | None = None  # the user's turn before
    because: "Said | None" = None  # what it follows from
    context: "Said | None" = None  # what was said just before it, and is not kept by itself

    @property
    def evidence(self) -> Evidence:
        """The sentence and its place in the turn; only a secret in it is not shown as it was written."""
        start, end = self.sentence.start, self.sentence.end
        return Evidence(self.turn.id, start, end, redact(self.turn.text[start:end]))

    @property
    def confidence(self) -> float:
        return round(self.worth, 2)

    @property
    def worth(self) -> float:
        """How likely it is to be worth keeping."""
        return sum(self.chances[label] for label in LEARNABLE)


def turns(window: Window) -> Iterator[list[Said]]:
    """The sentences of each new turn of the user."""
    agent_words, previous = "", None
    for place, turn in enumerate(window.turns):
        if not turn.by_user:
            agent_words = f"{agent_words}\n{turn.text.lower()}"[-ECHO_CHARACTERS:]
        elif turn.is_new and turn.text.strip():
            yield _sentences_of(turn, _setting(window.turns, place), agent_words, previous)
        previous = turn.id if turn.by_user else previous


def _sentences_of(turn: Turn, setting: Setting, agent_words: str, previous: InteractionId | None) -> list[Said]:
    found = list(_own_sentences(turn.text, agent_words))
    if len(found) > MAX_SAID:
        found = found[: MAX_SAID // 2] + found[-MAX_SAID // 2 :]
    return [Said(turn, one, surface(one.text, setting.agent), setting, previous=previous) for one in found]


def _setting(turns: tuple[Turn, ...], place: int) -> Setting:
    """The agent's words just before a turn, and the request they answered; those of another session are no answer."""
    turns = tuple(turn for turn in turns[: place + 1] if turn.session_id == turns[place].session_id)
    before = len(turns) - 2
    spoken: list[Turn] = []
    while before >= 0 and not turns[before].by_user and len(spoken) < MAX_AGENT_TURNS:
        spoken.insert(0, turns[before])
        before -= 1
    request = turns[before].text if spoken and before >= 0 and turns[before].by_user else ""
    topic = request
    request = request if any(_is_request(one.text) for one in sentences(request)[:MAX_SAID]) else ""
    tools = [str(tool.get("tool_name", "")) for turn in spoken for tool in turn.tools_used]
    return Setting("\n".join(turn.text for turn in spoken).strip(), request, topic, tools[-1] if tools else "")


def _is_request(text: str) -> bool:
    return surface(text).has("question", "asks_you", "starts_verb", "please", "wants")


# Work on a text that is handed over, or words that are reported: what follows the colon is not the user's.
_HANDED_OVER = re.compile(
    r"(?:(?:please|can you|could you|now|then|hey|hi|also|help me)\W+)*"
    r"(?:translate|summari[sz]e|rewrite|rephrase|proofread|edit|paraphrase|correct|improve|polish|fix|review|explain|"
    r"analy[sz]e|classify|check|shorten|read|extract|convert|grade|reply to|respond to)\b[^:]*:(?!/)|"
    r"(?:.*[,.!:] )?(?:here is|here's|here are|this is)\b[^:]*:(?![/)(])|"
    r".*\b(?<!\bi )(?<!\bwe )(?<!\byou )(?:below is|below are|got this|says|said|say|writes|wrote|reads|sent|paste)\b"
    r"[^:]*:(?![/)(])"
)
# A turn that gives the agent a part to play speaks within the play.
_ROLE = re.compile(
    r"(?:please |i want you to |you will |let's )?"
    r"(?:act as|pretend|role-?play|you are (?:now )?an? |you will be an? |imagine|suppose|picture (?:this|a|the|that)|"
    r"hypothetically|let(?: us|'s) say (?:that|i|we|you|he|she|they|there|someone|somebody|my|our|a|an)|just assume)\b"
)


def _own_sentences(text: str, agent_words: str) -> Iterator[Sentence]:
    """Each sentence that the user says in their own name."""
    for sentence in sentences(text):
        low = sentence.text.lower()
        handed = _HANDED_OVER.match(low)
        if _ROLE.match(low) or (handed and handed.end() >= len(low)):
            return
        echo = low.count(" ") >= ECHO_WORDS - 1 and low in agent_words
        if not handed and not echo:
            yield from parts.segments(sentence)
