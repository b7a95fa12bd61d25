"""Learning without a model: facts and lessons read from the words of the user, by rules of grammar."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from acumen.learn import facts, keys, lifetimes, voice
from acumen.learn.agent_lessons import agent_notes
from acumen.learn.directives import Setting, corrects, directives, orders_work
from acumen.learn.forgetting import wish
from acumen.learn.lessons import Taught, confirmed, lessons, reminded
from acumen.learn.reading import Cue, Reading, read
from acumen.learn.secrets import redact
from acumen.learn.sentences import sentences
from acumen.learn.statements import Fact
from acumen.model.conversation import Turn, Window
from acumen.model.ids import InteractionId
from acumen.model.memory import Evidence
from acumen.model.playbook import Lesson, PlaybookNote
from acumen.model.profile import ProfileNote, TimeToLive

# How far back the agent's words count as its last turn.
MAX_AGENT_TURNS = 4
# A repeated sentence of at least this many words is an echo of the agent, not a statement of the user.
ECHO_WORDS = 6


def profile_notes(window: Window) -> list[ProfileNote]:
    """What the new user turns tell about the user, in the order it was said."""
    return [note for said in _said(window) for note in _profile_notes(said)]


def playbook_notes(window: Window) -> list[PlaybookNote]:
    """What the new turns teach the agent: the user's words in order, then the agent's tools and experts."""
    return [*(note for said in _said(window) for note in _playbook_notes(said)), *agent_notes(window)]


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence of a new user turn, with all that is needed to understand it."""

    turn: Turn
    reading: Reading
    setting: Setting

    @property
    def evidence(self) -> Evidence:
        start, end = self.reading.sentence.start, self.reading.sentence.end
        return Evidence(InteractionId(self.turn.id), start, end, redact(self.turn.text[start:end]))


def _said(window: Window) -> Iterator[Said]:
    agent_words = ""
    for place, turn in enumerate(window.turns):
        if not turn.by_user:
            agent_words = (agent_words + "\n" + turn.text.lower())[-20_000:]
        elif turn.is_new and turn.text.strip():
            setting = _setting(window.turns, place)
            readings = list(_own_readings(turn.text, agent_words))
            work = [reading for reading in readings if orders_work(reading)]
            for reading in readings:
                others = any(other is not reading for other in work)
                request = setting.request or (work[0].sentence.text if others else "")
                yield Said(turn, reading, replace(setting, request=request, with_work=others))
                setting = replace(setting, denied=setting.denied or reading.has(Cue.DENIAL))


def _setting(turns: tuple[Turn, ...], place: int) -> Setting:
    """The agent's words just before a turn, and the request they answered."""
    before = place - 1
    spoken: list[Turn] = []
    while before >= 0 and not turns[before].by_user and len(spoken) < MAX_AGENT_TURNS:
        spoken.insert(0, turns[before])
        before -= 1
    request = turns[before].text if spoken and before >= 0 and turns[before].by_user else ""
    tools = [str(tool.get("tool_name", "")) for turn in spoken for tool in turn.tools_used]
    return Setting("\n".join(turn.text for turn in spoken).strip(), request, tools[-1] if tools else "")


# Work on a text that is handed over: what follows the colon is that text.
_HANDED_OVER = re.compile(
    r"\b(?:translate|summari[sz]e|rewrite|rephrase|proofread|edit|paraphrase|correct|improve|polish|fix|review|explain|analy[sz]e|classify|"
    r"check|shorten|read|extract|convert|grade|reply to|respond to|here is|here are|below is|following|this is the|got this|says?|said|wrote|reads?|"
    r"transcript|email|letter|essay|story|article|paragraph|text|document|message|draft|poem|prompt|log|output)\b[^:]*:"
)
# A turn that gives the agent a part to play speaks within the play.
_ROLE = re.compile(
    r"(?:please |i want you to |you will |let's )?(?:act as|pretend|role-?play|you are (?:now )?an? |you will be an? |imagine you)\b"
)
_IMAGINED = re.compile(
    r"\b(?:suppose|imagine|pretend|hypothetically|let us say|for example|for instance|e\.g|say i|what if|as if|act as|you are an?|role-?play)\b"
)


def _own_readings(text: str, agent_words: str) -> Iterator[Reading]:
    """Each sentence that the user says in their own name."""
    for sentence in sentences(text):
        low = sentence.text.lower()
        if _ROLE.match(low):
            return
        handed = _HANDED_OVER.search(low)
        if handed and handed.end() >= len(low.rstrip()):
            return
        if handed or (low.count(" ") >= ECHO_WORDS - 1 and low in agent_words):
            continue
        yield read(sentence)


# --- profiles


def _profile_notes(said: Said) -> Iterator[ProfileNote]:
    reading = said.reading
    forgotten = wish(reading)
    if forgotten:
        yield ProfileNote(
            forgotten, *_words_of(forgotten), said.evidence, said.turn.request_id, forget=True, confidence=0.8
        )
        return
    if _IMAGINED.search(reading.low):
        return
    found = directives(reading, said.setting)
    taught = lessons(reading, found, said.setting)
    for fact in facts.facts(reading, said.turn.at, [(one.subject, one.value) for one in taught]):
        yield from _profile_note(said, fact)
    if taught and _ends(said) is not TimeToLive.INFINITY:
        content = f"For a limited time, the user asks: {_whole(reading)}"
        yield from _profile_note(said, Fact(content, taught[0].subject, taught[0].value, _ends(said), 0.65))


def _profile_note(said: Said, fact: Fact) -> Iterator[ProfileNote]:
    content = redact(fact.content)
    if "[redacted" in content and "[redacted" in redact(fact.value + " ") + content[-20:]:
        return
    yield ProfileNote(
        content, redact(fact.subject), redact(fact.value), said.evidence, said.turn.request_id, fact.ttl,
        confidence=fact.confidence, ends=fact.ends, exclusive=fact.exclusive,
    )  # fmt: skip


def _ends(said: Said) -> TimeToLive:
    return lifetimes.lifetime(said.reading.low, said.turn.at)


def _whole(reading: Reading) -> str:
    return voice.sentence(voice.for_agent(reading.words))


# --- playbooks


def _playbook_notes(said: Said) -> Iterator[PlaybookNote]:
    reading = said.reading
    forgotten = wish(reading)
    if forgotten:
        subject, value = _words_of(forgotten)
        yield PlaybookNote(
            Lesson(forgotten), subject, value, said.evidence, said.turn.request_id, forget=True, confidence=0.8
        )
        return
    if _IMAGINED.search(reading.low):
        return
    found = directives(reading, said.setting)
    taught = lessons(reading, found, said.setting) if _ends(said) is TimeToLive.INFINITY else []
    if not found and corrects(reading, said.setting):
        taught = [
            reminded(fact, said.setting)
            for fact in facts.facts(reading, said.turn.at)[:1]
            if fact.ttl is TimeToLive.INFINITY
        ]
    elif not found and reading.has(Cue.CONFIRMED) and not reading.has(Cue.DENIAL, Cue.TROUBLE, Cue.QUESTION):
        taught = confirmed(said.setting)
    for one in taught:
        yield _playbook_note(said, one)


def _playbook_note(said: Said, one: Taught) -> PlaybookNote:
    lesson = one.lesson
    cleaned = Lesson(
        redact(lesson.content),
        *(redact(text) if text else text for text in (lesson.trigger, lesson.rationale, lesson.pitfall)),
    )
    return PlaybookNote(
        cleaned, redact(one.subject), redact(one.value), said.evidence, said.turn.request_id, confidence=one.confidence
    )


def _words_of(content: str) -> tuple[str, str]:
    return " ".join(sorted(keys.content_roots(content))), ""
