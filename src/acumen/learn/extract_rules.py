"""Learning without a model: facts and lessons read from the words of the user, sentence by sentence.

A small classifier tells what each sentence is; what is worth keeping is then written down in the third person, as close
to the user's own words as can be.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from acumen.learn.rules import classifier, keys, lifetimes, parts, verbs, voice
from acumen.learn.rules.agent_lessons import agent_notes
from acumen.learn.rules.classifier import LEARNABLE, likeliest
from acumen.learn.rules.cues import Surface, surface
from acumen.learn.rules.forgetting import wished
from acumen.learn.rules.framing import bare, unasked
from acumen.learn.rules.lessons import WORKED, Setting, advice, is_proposal, proposed, request_named, shortened, taught
from acumen.learn.rules.rivals import tells_of_change
from acumen.learn.rules.sentences import Sentence, sentences
from acumen.learn.rules.words import Word, words
from acumen.model.conversation import Turn, Window
from acumen.model.ids import InteractionId
from acumen.model.memory import Evidence
from acumen.model.playbook import Lesson, PlaybookNote
from acumen.model.profile import ProfileNote, TimeToLive
from acumen.model.secrets import redact

Vector = NDArray[np.float32]
# Texts in, a vector for each out, or None for each where there is no model.
Embed = Callable[[Sequence[str]], Sequence[Vector | None]]

# How many turns back the agent's words count as its last answer.
MAX_AGENT_TURNS = 4
# A turn of more sentences is mostly a text handed over; its writer speaks before and after it.
MAX_SAID = 16
# A repeated sentence of at least this many words is an echo of the agent, not a statement of the user.
ECHO_WORDS = 6
# Windows read a moment ago, of many users at once.
REMEMBERED_WINDOWS = 64
# How much of the agent's talk is kept to recognise echoes by.
ECHO_CHARACTERS = 20_000
# From this chance on a sentence is worth keeping.
WORTH = 0.5
# The words alone decide where they are this sure; else the sentence's meaning is asked for.
SURE = 0.9
# A second reading of the same sentence is kept too from this share of the first on.
SECOND = 0.45
# What worked is told in so many characters at most.
MOST = 300
# So few words without a verb must be this clear.
FEW = 5
CLEAR = 0.75
# A statement that asks for something may tell something too.
FAINTLY = 0.12
# What points back at something must say so many things of it to stand alone.
TELLING_BACK = 2
# A short sentence that is not worth keeping by itself goes with the one before it from this chance on.
SHORT = 10
FAINT = 0.25
# How many times likelier a command is to be an instruction for good in certain surroundings.
STRONG, LIKELY, HINTED = 12.0, 6.0, 1.6


# --- what is read


@dataclass(slots=True)
class Said:
    """A sentence of a new user turn, what it is, and all that is needed to write it down."""

    turn: Turn
    sentence: Sentence
    seen: Surface
    setting: Setting
    chances: dict[str, float] = field(default_factory=dict)
    ttl: TimeToLive = TimeToLive.INFINITY
    label: str = ""  # "" for what is not worth keeping
    more: list["Said"] = field(default_factory=list)  # fragments that belong to it
    previous: InteractionId | None = None  # the user's turn before
    because: "Said | None" = None  # what it follows from

    @property
    def evidence(self) -> Evidence:
        """The sentence and its place in the turn; only a secret in it is not shown as it was written."""
        start, end = self.sentence.start, self.sentence.end
        return Evidence(self.turn.id, start, end, redact(self.turn.text[start:end]))

    @property
    def confidence(self) -> float:
        return round(_worth(self), 2)


def said_in(window: Window, embed: Embed | None = None) -> list[Said]:
    """What is worth keeping of the new user turns. Facts and lessons are read from one window soon after each other."""
    key = (embed is None, *((turn.id, turn.is_new, turn.at, turn.text) for turn in window.turns))
    with _LOCK:
        known = _READ.get(key)
    if known is None:
        turns = list(_turns(window))
        _judge([one for turn in turns for one in turn], embed)
        known = [one for turn in turns for one in _settled(turn)]
        with _LOCK:
            _READ[key] = known
            while len(_READ) > REMEMBERED_WINDOWS:
                _READ.popitem(last=False)
    return known


_READ: OrderedDict[object, list[Said]] = OrderedDict()
_LOCK = Lock()


def _turns(window: Window) -> Iterator[list[Said]]:
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
    """The agent's words just before a turn, and the request they answered."""
    before = place - 1
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
    r"(?:.*[,.!] )?(?:here is|here's|here are|this is)\b[^:]*:(?![/)(])|"
    r".*\b(?:below is|below are|got this|says|said|say|wrote|reads|sent|paste)\b[^:]*:(?![/)(])"
)
# A turn that gives the agent a part to play speaks within the play.
_ROLE = re.compile(
    r"(?:please |i want you to |you will |let's )?"
    r"(?:act as|pretend|role-?play|you are (?:now )?an? |you will be an? |imagine you)\b"
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


# --- what it is


def _judge(listed: Sequence[Said], embed: Embed | None) -> None:
    """By their words; those that the words leave open also by their meaning, in one batch."""
    for one in listed:
        one.chances = classifier.probabilities(one.seen)
    unsure = [one for one in listed if max(one.chances.values()) < SURE] if embed else []
    if not unsure or embed is None:
        return
    for one, meaning in zip(unsure, embed([said.sentence.text for said in unsure]), strict=True):
        if meaning is not None:
            one.chances = classifier.probabilities(one.seen, meaning)


def _settled(turn: list[Said]) -> list[Said]:
    """What each sentence of a turn is, in the light of the others."""
    kept: list[Said] = []
    for place, one in enumerate(turn):
        one.ttl = lifetimes.lifetime(one.seen.low, one.turn.at)
        _weigh(one, turn[place - 1] if place else None)
        if place + 1 < len(turn) and one.seen.has("starts_i", "starts_my") and _follows(turn[place + 1], one):
            _favour(one, LIKELY)
        one.label = _label(one)
    task = next((one for one in turn if not one.label and likeliest(one.chances) == "task"), None)
    before: Said | None = None
    for one in turn:
        if task is not None and task is not one:
            one.setting = replace(one.setting, request=task.sentence.text)
        if before is not None and _generalises(one.seen):
            _make_standing(before, kept)
        elif before is not None and before.label == "forget" and _explains(one, before):
            continue
        elif kept and kept[-1] is before and _continues(one, before):
            before.more.append(one)
            continue
        elif one.label:
            kept.append(one)
        before = one
    _carry_times(turn)
    return [one for one in kept if not _blames(one.seen) or len(kept) == 1]


def _weigh(one: Said, before: Said | None) -> None:
    """What stands around a sentence makes it more likely to be meant for longer than now."""
    if before is not None and before.label in ("fact", "preference", "correction") and _follows(one, before):
        one.because = before
    if one.seen.has("noted"):
        _favour(one, LIKELY)
    factor = STRONG if _is_lasting(one.seen) else _likelier(one, before)
    if factor > 1:
        told = "fact" if one.seen.has("name") and one.seen.has("starts_i", "starts_my") else "instruction"
        chances = {**one.chances, told: one.chances[told] * factor}
        one.chances = {label: chance / sum(chances.values()) for label, chance in chances.items()}


def _likelier(one: Said, before: "Said | None") -> float:
    """How many times likelier a command is to last, by what was said before it."""
    if before is None or not before.label or not _commands(one.seen):
        return 1.0
    limited = before.ttl is not TimeToLive.INFINITY
    return LIKELY if _follows(one, before) or limited or before.label == "forget" else HINTED


def _bids(seen: Surface) -> bool:
    """Whether its first word commands."""
    first = [word.low for word in bare(seen.heard)[:2]]
    return len(first) > 1 and (verbs.is_base(first[0]) or first[0] in ("never", "always", "only", "do"))


def _commands(seen: Surface) -> bool:
    return _bids(seen) or seen.has("do_not", "asks_you", "please")


def _is_lasting(seen: Surface) -> bool:
    """A command that says by its form that it is meant for longer than now."""
    if _commands(seen) and (seen.has("lasting") or _WHILE.search(seen.low)):
        return True
    if (_bids(seen) and seen.has("contrast")) or seen.core[:2] == ("instead", "of") or _TWO_SIDED.search(seen.low):
        return True
    if (seen.has("asks_you", "please") and _STOP.search(seen.low)) or (seen.has("name") and len(seen.core) <= FEW):
        return True
    return (seen.has("no_noun") and seen.has("please", "ever")) or bool(_NO_MORE.match(seen.low))


def _favour(one: Said, factor: float) -> None:
    """Makes it so many times likelier that the sentence is worth keeping."""
    chances = {label: chance * (factor if label in LEARNABLE else 1) for label, chance in one.chances.items()}
    one.chances = {label: chance / sum(chances.values()) for label, chance in chances.items()}


def _follows(one: Said, before: Said) -> bool:
    """'…, so …'."""
    return one.turn.text[before.sentence.end : one.sentence.start].strip(" ,").lower() == "so"


_TWO_SIDED = re.compile(r"\b(?:do not|never) \w+ .*, (?:always )?(?:use|do|write|say|call|put)\b")
_NO_MORE = re.compile(r"(?:\w+ )?no more \w+\W*$")
_STOP = re.compile(r"\b(?:stop|quit) \w+ing\b")
_WHILE = re.compile(r"\b(?:until|till|as long as|for the (?:next|coming|rest))\b")


def _explains(one: Said, before: Said) -> bool:
    """'Forget my address, company policy': why, unless it says what holds instead."""
    same_sentence = not re.search(r"[.!?\n]", one.turn.text[before.sentence.end : one.sentence.start])
    if _points_back(one.seen):
        return True
    return same_sentence and not one.seen.has("starts_verb", "now", "changed", "contrast", "always")


def _continues(one: Said, before: Said) -> bool:
    """'Three lines, not a novel.' after 'I'd like the handover short.'; 'Allowed it, works.' after 'It was denied.'."""
    if "forget" in (one.label, before.label) or one.seen.has("question", "thanks") or likeliest(one.chances) == "task":
        return False
    if one.ttl is not TimeToLive.INFINITY and one.ttl is not before.ttl:
        return False
    if one.label == before.label == "confirmation" or _is_fragment(one.seen) or _points_back(one.seen):
        return True
    return not one.label and len(one.seen.core) <= SHORT and _worth(one) >= FAINT


def _points_back(seen: Surface) -> bool:
    """'She is the one who signs': about what was named before."""
    return seen.core[:1] != () and seen.core[0] in _POINTERS and not seen.has("first_person", "you")


_POINTERS = frozenset("he she they it that this these those there nobody".split())


_BLAME = re.compile(
    r"^(?:no |and |but )*you (?:used|did|forgot|missed|sent|wrote|put|gave|made|added|have|called|ran|assumed|picked)\b"
)


def _blames(seen: Surface) -> bool:
    """'You used the old number': what the agent did, beside what it should have done."""
    return bool(_BLAME.match(seen.low))


_GENERAL = re.compile(
    r"^(?:and |so |also |please |btw )*(?:that|this|it|these|same|do (?:that|this|it|so))\b.{0,24}"
    r"\b(?:goes for|applies to|holds for|true for|rule|policy|always|every ?time|every|all of them|from now on|"
    r"all|any)\b"
    r"|^(?:and )?(?:always|ever|every time|every single time|from now on|no exceptions?|as always|each time)\W*$"
)


def _generalises(seen: Surface) -> bool:
    """'That goes for all of them': what was said before it is meant for good."""
    return len(seen.core) <= 10 and bool(_GENERAL.search(seen.low))


def _make_standing(before: Said, kept: list[Said]) -> None:
    before.ttl = TimeToLive.INFINITY
    if before.label in ("", "fact"):
        if not before.label:
            kept.append(before)
        before.label = "instruction"
        before.chances = {**before.chances, "instruction": max(before.chances["instruction"], 0.6)}


def _is_fragment(seen: Surface) -> bool:
    return len(seen.core) <= 6 and seen.has("no_verb")


def _carry_times(turn: list[Said]) -> None:
    """'Until Friday' in one sentence bounds the requests after it, unless they say how long they hold."""
    bound = TimeToLive.INFINITY
    for one in turn:
        if one.ttl is not TimeToLive.INFINITY:
            bound = one.ttl
        elif one.label in ("instruction", "correction") and not one.seen.has("lasting"):
            one.ttl = bound


def _worth(one: Said) -> float:
    return sum(one.chances[label] for label in LEARNABLE)


def _label(one: Said) -> str:
    """The kind of saying; cues that leave no doubt overrule the classifier."""
    chances, seen = one.chances, one.seen
    if wished(seen, chances["forget"]):
        return "forget"
    if _merely_asks(seen) or _is_hearsay(seen) or _worth(one) < _needed(one) or _says_nothing(one):
        return ""
    return likeliest(chances, LEARNABLE[:5])


def _merely_asks(seen: Surface) -> bool:
    """A question; but 'could you always …' and 'would you stop …' ask for something to last."""
    lasting = seen.has("asks_you", "wants_you") and seen.has("always", "never", "every", "standing", "do_not", "now")
    lasting = lasting or bool(re.search(r"\bwhy (?:do|must) you (?:always|keep)\b|\bmind not \w+ing\b", seen.low))
    return seen.has("question", "asks_you") and not lasting and not seen.has("remember", "told_before", "starts_denial")


def _needed(one: Said) -> float:
    """A few words without a verb must be an answer, or be very clear."""
    if one.seen.has("remember") or _DECIDES.match(one.seen.low):
        return FAINT
    if one.seen.has("no_verb") and len(one.seen.core) <= FEW and not one.setting.asked:
        return CLEAR if len(one.seen.core) > 2 else SURE
    return WORTH


def _says_nothing(one: Said) -> bool:
    """Too little to be remembered for; a confirmation may point at the agent's words."""
    if one.chances["confirmation"] > WORTH:
        return not one.setting.agent or one.seen.has("not_worked")
    if _REJECTS.match(one.seen.low) or (one.seen.core[:1] and one.seen.core[0] in ("he", "she")):
        return True
    told = keys.telling(bare(one.seen.heard))
    return len(told) < (TELLING_BACK if _points_back(one.seen) else 1)


# "Bun it is", "99.9 it is after all".
_DECIDES = re.compile(r"^(?:ok |so |then |well |, )*\S+(?: \S+){0,2} it is\b(?! \?)")
# "That is not what we signed": what holds instead is told elsewhere.
_REJECTS = re.compile(
    r"^(?:no |and |but |so |, )*(?:that|this|it) (?:is|was) (?:not|just|simply|so)? ?(?:what|how|wrong|not|it|"
    r"right)\b[\w ]{0,24}\W*$"
)
_HEARSAY = re.compile(r"\b(?:i|me|we|us|our)\b")


def _is_hearsay(seen: Surface) -> bool:
    """'My sister thinks …': of others, and nothing in it of the user."""
    return seen.has("reports") and seen.has("starts_my") and not _HEARSAY.search(seen.low)


# --- profiles


def profile_notes(window: Window, embed: Embed | None = None) -> list[ProfileNote]:
    """What the new user turns tell about the user, in the order it was said."""
    return [note for said in said_in(window, embed) for note in _profile_notes(said)]


def playbook_notes(window: Window, embed: Embed | None = None) -> list[PlaybookNote]:
    """What the new turns teach the agent: the user's words in order, then the agent's tools and experts."""
    return [*(note for said in said_in(window, embed) for note in _playbook_notes(said)), *agent_notes(window)]


def _profile_notes(said: Said) -> Iterator[ProfileNote]:
    if said.label == "forget":
        wish = wished(said.seen, said.chances["forget"]) or ""
        subject, last = " ".join(sorted(keys.content_roots(wish))), str(said.previous or "")
        yield ProfileNote(
            wish, subject, last, said.evidence, said.turn.request_id, forget=True, confidence=said.confidence
        )
    elif _tells(said):
        for content in _facts(said):
            yield from _profile_note(said, content)
    elif _asks(said) and said.ttl is not TimeToLive.INFINITY:
        yield from _profile_note(said, f"For a limited time, the user asks: {_lesson(said).content}")
    elif _asks(said) and tells_of_change(said.seen.text):
        yield from (replace(note, denies=True) for note in _profile_note(said, _lesson(said).content))


def _profile_note(said: Said, content: str) -> Iterator[ProfileNote]:
    """A fact that is told by a secret is not kept at all."""
    if content and redact(content) == content:
        subject, value = keys.of_text(content)
        yield ProfileNote(
            content, subject, value, said.evidence, said.turn.request_id, said.ttl, confidence=said.confidence
        )


def _leans(said: Said, one: Sequence[str], other: Sequence[str]) -> float:
    first, second = (sum(said.chances[label] for label in labels) for labels in (one, other))
    return first / (first + second) if first + second else 0.5


def _tells(said: Said) -> bool:
    """Whether the sentence says how things are."""
    if said.label in ("confirmation", "fact"):
        return said.label == "fact"
    if said.label == "preference":
        return said.seen.has("prefers", "first_person")
    if not _declares(said):
        return False
    if said.label == "correction":
        return _leans(said, ("fact",), ("instruction",)) > SECOND or said.seen.has("first_person")
    return said.chances["fact"] >= FAINTLY or said.seen.has("starts_i", "starts_my", "starts_past")


def _asks(said: Said) -> bool:
    """Whether the sentence tells the agent what to do; a policy of 'we' tells and asks."""
    seen = said.seen
    if said.label == "fact":
        return _is_policy(seen)
    if said.label == "confirmation":
        return False
    own = (seen.has("starts_i", "starts_my", "starts_past") and _declares(said)) or (
        said.label == "preference" and seen.has("first_person")
    )
    if own and not _is_policy(seen):
        return seen.has("wants_you", "wants", "you", "your", "please")
    if said.label == "correction":
        return not _declares(said) or _leans(said, ("instruction",), ("fact",)) > SECOND
    return True


def _declares(said: Said) -> bool:
    """A statement rather than a command."""
    forbids = said.seen.core[:1] and said.seen.core[0] in ("do", "never", "always", "stop", "quit", "only")
    asked = unasked(bare(said.seen.heard))[0] != bare(said.seen.heard)
    fragment = (said.seen.has("no_verb") and said.seen.has("contrast")) or said.seen.core[:2] in (
        ("instead", "of"),
        ("rather", "than"),
    )
    return (
        not forbids
        and not asked
        and not fragment
        and not said.seen.has("starts_verb", "asks_you", "wants_you", "please", "no_noun")
    )


def _is_policy(seen: Surface) -> bool:
    """'We never …', 'we always …': how things are done, and how they are to be done."""
    return bool(re.search(r"\bwe (?:always|never|only|do not|no longer|require|must)\b", seen.low))


def _facts(said: Said) -> list[str]:
    """The sentence in the third person, cut where it says another thing; an answer names what was asked."""
    heard = bare(said.seen.heard)
    said_parts = parts.statements(heard) if heard else []
    if len(said_parts) > 1:
        said_parts = [part for part in said_parts if not verbs.is_base(part[0].low)] or said_parts
    told = [voice.fact(part) for part in said_parts]
    if said.more and told:
        told[-1] = " ".join([told[-1], *(voice.fact(bare(one.seen.heard)) for one in said.more)])
    if len(told) == 1 and said.seen.has("no_verb") and said.setting.asked:
        return [f'Asked "{said.setting.asked}", the user said: {told[0]}']
    return [one for one in told if keys.telling(words(one))]


# --- playbooks


def _playbook_notes(said: Said) -> Iterator[PlaybookNote]:
    if said.label == "forget":
        wish = wished(said.seen, said.chances["forget"]) or ""
        subject, last = " ".join(sorted(keys.content_roots(wish))), str(said.previous or "")
        yield PlaybookNote(
            Lesson(wish), subject, last, said.evidence, said.turn.request_id, forget=True, confidence=said.confidence
        )
    elif said.label == "confirmation":
        yield from _playbook_note(said, _confirmed(said))
    elif _asks(said) and said.ttl is TimeToLive.INFINITY:
        yield from _playbook_note(said, _lesson(said))
    elif _tells(said) and tells_of_change(said.seen.text):
        for content in _facts(said):
            yield from (replace(note, denies=True) for note in _playbook_note(said, Lesson(content)))


def _lesson(said: Said) -> Lesson:
    lesson = taught(
        bare(said.seen.heard), said.setting, corrects=said.label == "correction" or said.seen.has("starts_denial")
    )
    if said.seen.has("told_before") and said.seen.has("first_person"):
        lesson = replace(lesson, content=f"Keep in mind: {voice.fact(bare(said.seen.heard))}")
    more = [voice.sentence(voice.for_agent(bare(one.seen.heard))) for one in said.more]
    reason = lesson.rationale or (voice.fact(bare(said.because.seen.heard)) if said.because else None)
    return replace(lesson, content=" ".join([lesson.content, *more]), rationale=reason)


def _confirmed(said: Said) -> Lesson | None:
    """What worked: what the agent had proposed, where the user's words point at it, and what the user said of it."""
    heard = [word for one in (said, *said.more) for word in one.seen.heard]
    own = _named_in(heard)
    told = advice(said.setting.agent, heard)
    if not own:
        content = (
            proposed(told) if said.seen.has("worked") and not said.seen.has("not_worked") and is_proposal(told) else ""
        )
    else:
        spoken = " ".join(voice.sentence(voice.for_agent(bare(one.seen.heard))) for one in (said, *said.more))
        points = not said.setting.agent or not (set(own) & keys.content_roots(told) or said.seen.has("it", "here"))
        content = f"{WORKED} {spoken}" if points else f"{WORKED} {proposed(told)} {spoken}"
    reason = "The user confirmed that this worked."
    return Lesson(shortened(content, MOST), request_named(said.setting.topic) or None, reason) if content else None


_CONFIRMING = frozenset(
    "work trick help fix solve do perfect great exactly good thank better now right charm way problem issue bingo fine "
    "time first try be it this that finally much all well nice love beautiful brilliant beautifully perfectly again "
    "resolve sort everything job need want look up just what".split()
)


def _named_in(said: Sequence[Word]) -> list[str]:
    """What the user names beside the fact that it worked."""
    return [root for root in keys.roots(said) if root not in _CONFIRMING]


def _playbook_note(said: Said, told: Lesson | None) -> Iterator[PlaybookNote]:
    if told is None or not told.content:
        return
    lesson = replace(
        told,
        content=redact(told.content),
        trigger=redact(told.trigger or "") or None,
        rationale=redact(told.rationale or "") or None,
        pitfall=redact(told.pitfall or "") or None,
    )
    subject, value = keys.of_text(lesson.content)
    yield PlaybookNote(lesson, subject, value, said.evidence, said.turn.request_id, confidence=said.confidence)
