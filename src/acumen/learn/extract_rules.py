"""Learning without a model: facts and lessons read from the words of the user, by rules of grammar."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from acumen.learn.rules import facts, keys, lifetimes, voice
from acumen.learn.rules.agent_lessons import agent_notes
from acumen.learn.rules.cues import Cue
from acumen.learn.rules.directives import corrects, directives, orders_work
from acumen.learn.rules.forgetting import wish
from acumen.learn.rules.heard import Setting
from acumen.learn.rules.lessons import Taught, confirmed, keys_of, lessons, reminded
from acumen.learn.rules.reading import Reading, read
from acumen.learn.rules.sentences import sentences
from acumen.learn.rules.statements import Fact
from acumen.learn.secrets import redact
from acumen.model.conversation import Turn, Window
from acumen.model.memory import Evidence
from acumen.model.playbook import Lesson, PlaybookNote
from acumen.model.profile import ProfileNote, TimeToLive

# How many turns back the agent's words count as its last answer.
MAX_AGENT_TURNS = 4
# A turn of more sentences is mostly a text handed over; its writer speaks before and after it.
MAX_SAID = 16
# A turn of so few sentences, after the agent acted, is a remark on what it did.
MAX_RETORT = 2
# A repeated sentence of at least this many words is an echo of the agent, not a statement of the user.
ECHO_WORDS = 6
# How much of the agent's talk is kept to recognise echoes by.
ECHO_CHARACTERS = 20_000


def profile_notes(window: Window) -> list[ProfileNote]:
    """What the new user turns tell about the user, in the order it was said."""
    return [note for said in _said(window) for note in _profile_notes(said)]


def playbook_notes(window: Window) -> list[PlaybookNote]:
    """What the new turns teach the agent: the user's words in order, then the agent's tools and experts."""
    return [*(note for said in _said(window) for note in _playbook_notes(said)), *agent_notes(window)]


@dataclass(frozen=True, slots=True)
class _Said:
    """One sentence of a new user turn, with all that is needed to understand it."""

    turn: Turn
    reading: Reading
    setting: Setting

    @property
    def evidence(self) -> Evidence:
        """The sentence and its place in the turn; only a secret in it is not shown as it was written."""
        start, end = self.reading.sentence.start, self.reading.sentence.end
        return Evidence(self.turn.id, start, end, redact(self.turn.text[start:end]))

    @property
    def ttl(self) -> TimeToLive:
        if self.reading.has(Cue.STANDING):
            return TimeToLive.INFINITY
        return lifetimes.bounded(self.reading.low, self.turn.at)

    def taught(self) -> list[Taught]:
        return lessons(self.reading, directives(self.reading, self.setting), self.setting)


# --- what is read


def _said(window: Window) -> Iterator[_Said]:
    agent_words = ""
    for place, turn in enumerate(window.turns):
        if not turn.by_user:
            agent_words = f"{agent_words}\n{turn.text.lower()}"[-ECHO_CHARACTERS:]
        elif turn.is_new and turn.text.strip():
            yield from _sentences_of(turn, _setting(window.turns, place), agent_words)


def _sentences_of(turn: Turn, setting: Setting, agent_words: str) -> Iterator[_Said]:
    """The turn's sentences; each knows of the work that the others order, and of the denials before it."""
    readings = list(_own_readings(turn.text, agent_words))
    if len(readings) > MAX_SAID:
        readings = readings[: MAX_SAID // 2] + readings[-MAX_SAID // 2 :]
    work = [reading for reading in readings if orders_work(reading)]
    for reading in readings:
        others = [other for other in work if other is not reading]
        request = setting.request or (others[0].sentence.text if others else "")
        retort = setting.answered and len(readings) <= MAX_RETORT and not setting.agent.rstrip().endswith("?")
        yield _Said(turn, reading, replace(setting, request=request, with_work=bool(others), retort=retort))
        if reading.has(Cue.DENIAL):
            setting = replace(setting, denied=True)


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
    r"(?:(?:please|can you|could you|now|then|hey|hi|also|help me)\W+)*"
    r"(?:translate|summari[sz]e|rewrite|rephrase|proofread|edit|paraphrase|correct|improve|polish|fix|review|explain|"
    r"analy[sz]e|classify|check|shorten|read|extract|convert|grade|reply to|respond to)\b[^:]*:(?!/)|"
    r".*\b(?:here is|here's|here are|this is|below is|below are|got this|says|said|wrote|reads)\b[^:]*:(?!/)"
)
# A turn that gives the agent a part to play speaks within the play.
_ROLE = re.compile(
    r"(?:please |i want you to |you will |let's )?"
    r"(?:act as|pretend|role-?play|you are (?:now )?an? |you will be an? |imagine you)\b"
)
_IMAGINED = re.compile(
    r"\b(?:suppose|imagine|pretend|hypothetically|let us say|for example|for instance|e\.g|say i|what if|as if)\b"
)


def _own_readings(text: str, agent_words: str) -> Iterator[Reading]:
    """Each sentence that the user says in their own name."""
    for sentence in sentences(text):
        low = sentence.text.lower()
        handed = _HANDED_OVER.match(low)
        if _ROLE.match(low) or (handed and handed.end() >= len(low)):
            return
        echo = low.count(" ") >= ECHO_WORDS - 1 and low in agent_words
        if not handed and not echo:
            yield read(sentence)


# --- profiles


def _profile_notes(said: _Said) -> Iterator[ProfileNote]:
    reading = said.reading
    forgotten = wish(reading)
    if forgotten:
        words = " ".join(sorted(keys.content_roots(forgotten)))
        yield ProfileNote(forgotten, words, "", said.evidence, said.turn.request_id, forget=True, confidence=0.8)
        return
    if _IMAGINED.search(reading.low):
        return
    taught = said.taught()
    for fact in facts.facts(reading, said.turn.at, [(one.subject, one.value) for one in taught]):
        yield from _profile_note(said, fact)
    if taught and said.ttl is not TimeToLive.INFINITY:
        yield from _profile_note(said, _for_a_time(said, taught[0]))


def _for_a_time(said: _Said, taught: Taught) -> Fact:
    """An instruction that ends by itself is a passing fact about the user, not a lesson for good."""
    content = f"For a limited time, the user asks: {voice.sentence(voice.for_agent(said.reading.words))}"
    return Fact(content, taught.subject, taught.value, said.ttl, 0.65)


def _profile_note(said: _Said, fact: Fact) -> Iterator[ProfileNote]:
    """A fact that is told by a secret is not kept at all."""
    if redact(fact.content) == fact.content:
        yield ProfileNote(
            fact.content,
            fact.subject,
            fact.value,
            said.evidence,
            said.turn.request_id,
            fact.ttl,
            confidence=fact.confidence,
            ends=fact.ends,
            exclusive=fact.exclusive,
        )


# --- playbooks


def _playbook_notes(said: _Said) -> Iterator[PlaybookNote]:
    reading = said.reading
    forgotten = wish(reading)
    if forgotten:
        words = " ".join(sorted(keys.content_roots(forgotten)))
        yield PlaybookNote(
            Lesson(forgotten), words, "", said.evidence, said.turn.request_id, forget=True, confidence=0.8
        )
    elif not _IMAGINED.search(reading.low):
        for taught in said.taught() or _told_otherwise(said):
            if said.ttl is TimeToLive.INFINITY:
                yield _playbook_note(said, taught)


def _told_otherwise(said: _Said) -> list[Taught]:
    """What a sentence without an instruction teaches: a fact that was overlooked, or that an advice worked."""
    reading = said.reading
    if corrects(reading, said.setting) or (said.setting.answered and reading.has(Cue.KEPT)):
        return [reminded(fact, said.setting) for fact in facts.facts(reading, said.turn.at)[:1]]
    if reading.has(Cue.CONFIRMED) and not reading.has(Cue.DENIAL, Cue.TROUBLE, Cue.QUESTION):
        return confirmed(said.setting)
    return []


def _playbook_note(said: _Said, taught: Taught) -> PlaybookNote:
    told = taught.lesson
    lesson = replace(
        told,
        content=redact(told.content),
        trigger=redact(told.trigger or "") or None,
        rationale=redact(told.rationale or "") or None,
        pitfall=redact(told.pitfall or "") or None,
    )
    subject, value = taught.subject, taught.value
    if lesson.content != told.content:
        subject, value = keys_of(lesson.content)
    return PlaybookNote(lesson, subject, value, said.evidence, said.turn.request_id, confidence=taught.confidence)
