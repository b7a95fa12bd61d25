"""Instructions as lessons: the situation they are for, what the agent had done, and why they hold."""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from acumen.learn.rules import keys, verbs, voice
from acumen.learn.rules.commands import Command, Instruction, instruction
from acumen.learn.rules.cues import surface
from acumen.learn.rules.framing import bare, unasked
from acumen.learn.rules.sentences import sentences
from acumen.learn.rules.words import Word, words
from acumen.model.playbook import Lesson

# Long enough to recognise a situation or an act by, short enough to read at a glance.
MAX_PHRASE = 140
# How many sentences of the agent are searched for what went wrong.
MAX_SEARCHED = 40
# In a longer answer nobody can tell which advice it was that worked.
MAX_ADVICE = 1200
# The act that an instruction is about, cut to what names it.
MOST_OF_ACT = 8

# How a lesson of something that worked begins.
WORKED = "What worked:"
_OUTPUT = frozenset(
    "answer answers reply replies response responses explanation explanations emoji emojis message messages "
    "tone jargon "
    "summary summaries sentence sentences word words paragraph paragraphs bullet bullets".split()
)
_NOW = frozenset("now right currently just already here . ! … ... : again".split())


# "How can I help?" asks for nothing in particular.
_AT_SERVICE = re.compile(
    r"\bhelp\b|what (?:can|may|should|shall) (?:I|we)\b|what(?:'s| is) next\b|\belse\b", re.IGNORECASE
)


class Setting(Struct, frozen=True):
    """What a sentence is said into: the agent's words before it, the request they answered, the tool in use."""

    agent: str = ""
    request: str = ""  # what the user had asked for, in this turn or before
    topic: str = ""  # what the user had said before, request or not
    tool: str = ""

    @property
    def asked(self) -> str:
        """The question that the agent had ended with."""
        found = re.findall(r"[^.!?\n]{3,160}\?", self.agent[-400:]) if self.agent.rstrip().endswith("?") else []
        asked = " ".join(found[-1].split()) if found else ""
        return "" if _AT_SERVICE.search(asked) else asked


def taught(said: Sequence[Word], setting: Setting, fault: Sequence[Word] = ()) -> Lesson:
    """The lesson of an instruction, its frames gone; `fault` is the sentence that finds fault with the agent."""
    told = instruction(said)
    return Lesson(
        content=told.text,
        trigger=_trigger(told, setting, corrects=bool(fault)) or None,
        rationale=shortened(voice.sentence(voice.for_agent(told.reason))) if told.reason else None,
        pitfall=_pitfall(told, said, setting, fault),
    )


# --- when


def _trigger(told: Instruction, setting: Setting, *, corrects: bool) -> str:
    """The sentence's own 'when …' first, then a choice to be made, then the request being served, then the act."""
    if told.situation:
        return shortened(told.situation)
    choice = _choice(told)
    if choice:
        return choice
    if setting.request and (corrects or not told.commands[0].verb):
        return request_named(setting.request)
    if any(word.low in _OUTPUT for command in told.commands for word in command.words[:8]):
        return "Writing to the user"
    if setting.request:
        return request_named(setting.request)
    if setting.tool:
        return f"Using the tool {setting.tool}"
    command = told.avoided or told.commands[0]
    return shortened(capital(_act(command))) if command.verb else ""


def _choice(told: Instruction) -> str:
    """'Deploying production: choosing the region', where one value is asked for and another forbidden."""
    avoided, wanted = told.avoided, told.wanted
    if not avoided or not avoided.verb or not wanted:
        return ""
    kinds = [keys.typed(command.words) for command in (avoided, wanted)]
    act = capital(_act(avoided))
    if all(kinds) and kinds[0] and kinds[1] and kinds[0][1] == kinds[1][1]:
        return shortened(f"{act}: choosing the {kinds[1][1]}")
    return shortened(act)


def _act(command: Command) -> str:
    """The act up to the preposition that leads to its value."""
    said = list(command.words[:MOST_OF_ACT])
    found = keys.typed(said)
    if found:
        stop = said.index(found[0])
        cut = next(
            (n for n in range(stop - 1, 0, -1) if said[n].low in ("to", "in", "on", "at", "with", "by", "from")), None
        )
        said = said[:cut] if cut and cut > 1 else said
    return Command(tuple(said)).act


def request_named(request: str) -> str:
    """The request as the name of an act where it is a command, else in its own words."""
    spoken = sentences(request)[:4]
    for one in spoken:
        said, forbids = unasked(bare(words(one.text)))
        if said and not forbids and verbs.is_base(said[0].low) and _commands(said):
            return shortened(capital(Command(tuple(_unmarked(said))).act))
    named = next((one.text for one in spoken if keys.telling(words(one.text))), "")
    return shortened(f"Asked: {named}") if named else ""


def _commands(said: Sequence[Word]) -> bool:
    """'link the two' commands; 'link not coming' and 'work starts at six' do not."""
    return (
        len(said) > 1
        and said[0].low not in ("let", "be", "do")
        and said[1].low not in ("not", "is", "are", "was")
        and (not verbs.is_third(said[1].low) or len(said) == 2)
    )


def _unmarked(said: Sequence[Word]) -> list[Word]:
    """Up to the first colon: what follows is the material."""
    stop = next((n for n, word in enumerate(said) if word.low in (":", "?") and n > 1), len(said))
    return list(said[:stop])


# --- what went wrong, and what went well


def _pitfall(told: Instruction, said: Sequence[Word], setting: Setting, fault: Sequence[Word]) -> str | None:
    """What to avoid: what the agent had done where its words show it, else what the user named."""
    named = _avoided(told, said)
    if setting.agent and (fault or named):
        own = list(fault) == list(said) or not keys.telling(fault)
        done = _done(setting.agent, set(keys.roots(named or [*said, *fault])), least=bool(named) or not own)
        if done:
            return done
        if fault and not named and not {"i", "we", "my", "our"} & {word.low for word in fault}:
            return shortened(voice.sentence(voice.for_agent(bare(fault))))
    broken = BROKE.match(" ".join(word.low for word in said))
    if broken and not named:
        named = said[: broken[1].count(" ") + 1]
    if told.avoided and told.avoided.verb:
        return shortened(voice.sentence([told.avoided.act]))
    act = [verbs.gerund(told.commands[0].verb)] if told.commands[0].verb and not broken else []
    return shortened(voice.sentence([*act, *voice.for_agent(named)])) if keys.roots(named) else None


def _avoided(told: Instruction, said: Sequence[Word]) -> Sequence[Word]:
    """The words after 'never', 'no', ', not', 'instead of'."""
    if told.avoided:
        return told.avoided.words
    lows = [word.low for word in said]
    if lows[:1] == ["no"]:
        return said[1:]
    for place, low in enumerate(lows):
        if place and ((low == "not" and lows[place - 1] in (",", "and", "but")) or lows[place : place + 2] in _RATHER):
            ends = next((n for n in range(place + 1, len(lows)) if lows[n] in (",", ".", "!", ";")), len(lows))
            found = said[place + (1 if low == "not" else 2) : ends]
            return found if any(word.low not in _SINCE for word in found) else ()
    return ()


_SINCE = frozenset("before after now then yet here there".split())
_RATHER = (["instead", "of"], ["rather", "than"])
# "Npm broke the build last time, use pnpm": what broke, and how.
BROKE = re.compile(
    r"(.*\b(?:broke|breaks|failed|fails|crashed|crashes|burned|burnt|bit|lost|corrupted|ruined|deleted|wiped|messed)\b[^,;]*)"
)


def _done(agent: str, wrong: set[str], *, least: bool) -> str | None:
    """The agent's sentence that shares most with what the user said; or its first, unless it must share something."""
    shared = [
        (len(wrong & keys.content_roots(one.text)), -place, one.text)
        for place, one in enumerate(sentences(agent)[:MAX_SEARCHED])
    ]
    best = max(shared, default=None)
    return as_act(best[2]) if best and (best[0] or not least) else None


def as_act(text: str) -> str:
    """'I deployed it to us-east-1 now.' → 'Deploying it to us-east-1.'; other words stay as they are."""
    said = list(words(text))
    while said and said[-1].low in _NOW:
        said.pop()
    if len(said) > 2 and said[0].low == "i" and (base := verbs.base(said[1].low)) and base not in ("be", "have", "do"):
        return shortened(voice.sentence([verbs.gerund(base), *(word.text for word in said[2:])]))
    return shortened(voice.sentence([voice.plain(said)]))


_SUGGESTS = re.compile(r"^(?:please|then|try|you could|could you|better|instead|maybe|next|first)\b", re.IGNORECASE)


def advice(agent: str, said: Sequence[Word]) -> str:
    """What the agent had proposed or done: its sentence that shares most with the user's words, or its first "
    "proposal.
    """
    spoken = [one.text for one in sentences(agent[:MAX_ADVICE])]
    if not spoken:
        return ""
    named = set(keys.roots(said))
    merits = [
        (len(named & keys.content_roots(one)), bool(is_proposal(one)), -place) for place, one in enumerate(spoken)
    ]
    return spoken[merits.index(max(merits))]


def is_proposal(text: str) -> bool:
    """Whether a sentence of the agent tells the user what to do."""
    return bool(_SUGGESTS.match(text)) or surface(text).has("starts_verb")


def proposed(text: str) -> str:
    """'Try restarting the router.' → 'Restart the router.'; 'I' is the agent here."""
    said, _ = unasked([replace(word, **_OF_AGENT.get(word.low, {})) for word in bare(words(text))])
    if len(said) > 2 and said[0].low in ("try", "consider") and (base := verbs.base(said[1].low)):
        said = [replace(said[1], text=base, low=base), *said[2:]]
    return instruction(said).text if said else ""


_OF_AGENT = {low: {"text": said, "low": said} for low, said in (("i", "the agent"), ("my", "the agent's"))}


# --- wording


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def shortened(text: str, most: int = MAX_PHRASE) -> str:
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0] + "…"
