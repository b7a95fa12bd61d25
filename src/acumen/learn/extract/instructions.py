"""Explicit rules for the agent, corrections of what it did, and requests to forget, in English.

A one-off request ("make it shorter", "book my dentist") is none of these.
"""

import re

from msgspec import Struct

from acumen.learn.extract.attributes import named_attribute
from acumen.learn.extract.notes import Reach
from acumen.learn.extract.statements import content_words, declarative_part
from acumen.model.lazy_regex import lazy_regex
from acumen.model.memories.base import Cause

# Longer rules are pasted documents.
MAX_LENGTH = 400
MAX_SITUATION = 120
MIN_REMEMBERED = 3


class Rule(Struct, frozen=True):
    """`content` is the instruction in the user's words; `trigger` the situation that its own words name."""

    content: str
    trigger: str = ""
    correction: bool = False  # it answers what the agent did last


class Forget(Struct, frozen=True):
    target: str
    reach: Reach = Reach.NAMED
    cause: Cause = Cause.FORGET
    only_rules: bool = False  # "forget the rule about tabs" leaves facts about tabs alone


# --- rules  ----------------------------------------------------------------------

_POLITE = lazy_regex(
    r"(?:please|pls|kindly|no(?=,)|ok|okay|so|and|also|but|hey|oh|well|yes|thanks|thank you|remember(?: to)?|"
    r"make sure(?: (?:to|you|that you))?|note(?: that)?|just|i(?:'d| would) (?:like|prefer|want) (?:you to|that you)|"
    r"i want you to|i need you to|you (?:must|should(?= always| never)|need to|have to)|(?:can|could|"
    r"would|will) you(?= (?:please )?(?:stop|"
    r"always|never|not)\b))(?:\s*[,:!-]\s*|\s+)"
)
_LASTING = (
    r"(?:from now on|from here on(?: out)?|going forward|in (?:the )?future|henceforth|as a (?:general )?rule|"
    r"by default|next time|at all times|for all future \w+)"
)
# "Always here to help", "never saw this coming": no verb in its base form follows, so nothing is asked for.
_NO_VERB = (
    r"(?:been|heard|done|made|went|came|took|met|lost|found|gave|told|up|here|there|an?|the|so|in|on|at|my|his|her|"
    r"our|had|was|were|saw|seen|got|knew|felt|thought|ready|open(?= to)|down|nice|great|good|happy|fun|again|too|more|"
    r"that|this|it|enough|better|best|i|you|we|\w+ed|\w+ing)"
)
_ALWAYS = lazy_regex(
    rf"(?:(?:always|never(?! mind| ever mind)) (?!{_NO_VERB}\b)\w|(?:do not|don't) ever \w|"
    r"(?:do not|don't) (?!hesitate|worry).{2,80} (?:again|anymore)\b|(?:stop|quit) \w+ing\b|(?:do not|"
    r"don't) call me \w+[.!]*$|(?:answer|reply|respond|speak|talk) .{0,60}\b(?:until|this (?:week|month)|"
    r"for the next)\b)"
)
_FOR_A_TIME = lazy_regex(
    r"(?:this (?:week|month|year)|today|until [^,.]{3,30}|for the next [^,.]{3,20}|for now)(?:\s*,\s*|\s+)(?:only\s+)?"
)
_OPENS_LASTING = lazy_regex(rf"{_LASTING}\b[,:]?\s*")
_HAS_LASTING = lazy_regex(r"\b(?:from now on|going forward|henceforth|at all times)\b|\balways[.!]*$")
_POLICY = lazy_regex(
    r"we (?:always|never|only(?: ever)?|must(?: not| never| always)?|require|use [^,.]{2,40} (?:here|"
    r"only)\b)(?! (?:have|had|got|know|knew|think|feel|see|saw|live|like|love|want|need|get|been|understand|remember|"
    r"met|meet|spoke|talk)\b)\s*\w+"
)
_SITUATION = lazy_regex(
    r"(?:when(?:ever)?|if|before|after|while|during|for|in|on|as soon as|once|every time|each time) (?!now\b|"
    r"the future|future|general|here)[^,.]{3,80}"
)
_TRAILING_SITUATION = lazy_regex(
    r"\s(?:when(?:ever)?|before|after|while|as soon as|once|if) (?!now\b)[^,.;]{4,80}(?=[.!]?$)"
)
# "When you write to me" is every answer, not a situation.
_EVERY_ANSWER = lazy_regex(
    r"(?:when(?:ever)?|if|while) you(?:'re| are)? (?:writ|talk|speak|repl|answer|respond)\w*(?: (?:to|with) me)?[^,]*"
)
# Every time, not once: "Answer in German when I write German".
_WHENEVER = lazy_regex(
    r"\b(?:whenever|every time|each time|any ?time|when i (?:ask|write|say|send|paste|share|speak|talk)) "
)
_DO = lazy_regex(
    r"(?:use|write|put|keep|run|send|set|add|ask|check|answer|reply|respond|give|show|tell|remind|include|format)\b"
)
# Wishes about the agent's answers in general, without "always": "Keep your answers short", "Answer me in German".
_MANNER = lazy_regex(
    r"(?:(?:keep|make) (?:answers|replies|responses|messages|explanations)\b|(?:keep|make|write|format|give|send|"
    r"phrase|structure) (?:me )?(?:all )?(?:(?:of )?your|my) (?:\w+ ){0,2}?(?:answers|replies|responses|messages|"
    r"explanations|summaries|emails|reports|code|comments|sentences)\b|(?:answer|reply to|respond to|speak to|talk to|"
    r"write to|address) me (?:in|as|with|only|by)\b|treat me (?:as|like)\b|call me [A-Z]|i (?:want|need|like|prefer|"
    r"expect) (?:your|all|my) (?:\w+ ){0,2}?(?:answers|replies|responses|messages|explanations|summaries|emails|"
    r"reports)\b|i (?:really )?(?:hate|dislike|don't like|prefer)(?: it)? (?:when|if) you (?!say|do|said)\w+|"
    r"(?:(?:don't|do not|no need to) )?(?:use|add|include|write|send|give|ask) .{2,60}\bin (?:all )?(?:your|any|"
    r"all) (?:answers|replies|responses|messages|emails)\b)"
)
_NO_OBJECT = lazy_regex(
    r"(?:always|never) (?:be|give up|stop|forget|mind|lose|let|stay|keep \w+ing|believe|remember|say never|"
    r"underestimate|doubt|change)\b"
)
# "Never use semicolons in this file": for the task at hand.
_ONE_OFF = lazy_regex(r"\b(?:in|for|on|to|of) this (?!week|month|year|quarter)\w+\b")
_ABOUT_SELF = lazy_regex(r"(?:i|i'm|i've|it|he|she|they|there|this|that|these|my|our|his|her|their|what|who|the)\b")

_WANTS = lazy_regex(r"(?:i|we)(?:'d| would)? (?:want|need|expect|prefer|like|rather)\b")

# --- corrections  ----------------------------------------------------------------------

_DENIES = lazy_regex(
    r"(?:(?:no|nope|wrong|not quite|incorrect|stop|wait|hold on)(?=[,.!:;–—-])|no (?=never|always|don't|do not|use|"
    r"we )|that(?:'s| is) (?:wrong|not right|incorrect|not what i \w+)|you (?:got|did) (?:it|that) wrong|i (?:said|"
    r"told you|asked(?: you)?|already (?:said|told you))\b)[,.!:;–—-]*\s*"
)
_DIRECTS = lazy_regex(
    r"(?:always|never|only|use|do not|don't|it's|it is|it should|it must|that should|the \w+|we (?:use|always|never|"
    r"only|do not|don't)|our|my|call|write|put|keep|run|send|set|name|deploy|add|ask|check|you should|you must|must|"
    r"should)\b"
)
_INSTEAD = lazy_regex(r"\b(?:instead(?: of)?|rather than|, not |not .{1,60} but )\b")


def directs(text: str) -> bool:
    """Whether it tells the agent what to do."""
    return bool(_DIRECTS.match(text.lower().replace("’", "'")))


def rule(sentence: str, *, after_agent: bool) -> Rule | None:
    """None unless the sentence sets a lasting rule or corrects the agent's last turn."""
    text = " ".join(sentence.split())
    low = text.lower().replace("’", "'")
    denied = _DENIES.match(low) if after_agent else None
    start = _skip(low, denied.end() if denied else 0, _POLITE)
    if text.endswith("?") and re.search(r"\byou\s+(?:please\s+)?$", low[:start]):  # "Can you stop …?" asks for it
        text, low = text.rstrip("? "), low.rstrip("? ")
    if len(text) > MAX_LENGTH or text.endswith("?"):
        return None
    body, words = text[start:], low[_skip(low, start, _POLITE, _FOR_A_TIME) :]
    if not body or _NO_OBJECT.match(words) or _ONE_OFF.search(words):
        return None
    if denied and (_DIRECTS.match(words) or _INSTEAD.search(words)) and content_words(words):
        return Rule(_sentence(body), _situation(body), correction=True)
    if _is_rule(words, text[len(text) - len(words) :]):
        lasting = _OPENS_LASTING.match(low, start)
        return Rule(_sentence(text[lasting.end() :] if lasting else body), _situation(body), correction=False)
    return None


def _skip(low: str, start: int, *openings: re.Pattern[str]) -> int:
    while match := next((match for opening in openings if (match := opening.match(low, start))), None):
        start = match.end()
    return start


def _is_rule(low: str, text: str) -> bool:
    lasting = _OPENS_LASTING.match(low)
    after = low[lasting.end() :] if lasting else low
    opening = _SITUATION.match(after)
    inner = (
        after[opening.end() :].lstrip(" ,") if opening and "," in after[opening.end() : opening.end() + 2] else after
    )
    if not content_words(inner):
        return False
    if (
        _ALWAYS.match(inner)
        or _POLICY.match(inner)
        or _MANNER.match(inner)
        or _MANNER.match(text[len(text) - len(inner) :])
    ):
        return True
    if _WHENEVER.search(low) and _DO.match(inner) and len(inner) <= MAX_SITUATION:
        return True
    return bool(lasting or _HAS_LASTING.search(low)) and (bool(_WANTS.match(inner)) or not _ABOUT_SELF.match(inner))


def _situation(text: str) -> str:
    """'When you deploy' of "When you deploy, always …" or of "Always … when you deploy"."""
    low = text.lower()
    lasting = _OPENS_LASTING.match(low)
    start = lasting.end() if lasting else 0
    opening = _SITUATION.match(low, start)
    if opening and low[opening.end() : opening.end() + 1] == ",":
        return _sentence(text[start : opening.end()]).rstrip(".")
    trailing = _TRAILING_SITUATION.search(low)
    if trailing and (low.startswith("i ") or _EVERY_ANSWER.fullmatch(trailing[0].strip())):
        return ""
    return _sentence(text[trailing.start() + 1 : trailing.end()]).rstrip(".") if trailing else ""


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:]


# --- remember and forget  ----------------------------------------------------------------------

_REMEMBER = lazy_regex(
    r"(?:(?:please|pls|also|and|can you|could you|i want you to|i need you to|you should)[, ]+)*(?:(?:do not|"
    r"don't) forget|remember|keep in mind|note(?: down)?|make a note|take note|save|memori[sz]e)(?:(?: this)?:| that|"
    r" (?=(?:i|i'm|i've|my|our|we)\b)|(?<=remember) (?=the\b))\s*(?=\S)"
)
_WISH = (
    r"(?:(?:please|pls|also|and|ok|okay|actually|just|now|hey|can you|could you|would you|will you|i want you to|"
    r"i'd like you to|you can|you may|you should)[, ]+)*"
)
_KNOWN = (
    r"(?:what(?:ever)?|everything|all(?: that)?|anything)(?: that)? (?:you(?:'ve| have)? (?:know|learned|learnt|"
    r"remember|stored|saved|have|got)|i(?:'ve| have)?(?: just)? (?:said|told you|mentioned))(?: (?:about|of|on)\b)?"
)
_ABOUT = r"(?: (?:about|of|on|regarding)\b)?"
_THING = (
    r"(?:(?:the |that |this )?(?:rule|instruction|preference|fact|note|memory|thing|part|bit)s? (?:about|on|that|with|"
    r"of) )"
)
_MINE = r"(?=i\b|we\b|my\b|our\b)"
_FORGET = lazy_regex(
    rf"{_WISH}(?:(?:forget|unlearn|disregard){_ABOUT} (?:{_KNOWN}|(?:all|everything)(?: of| about| on)? {_MINE}|"
    rf"{_MINE}|that (?=\w)|{_THING}|(?=(?:where|when|who|what|how \w+|which \w+) (?:i|i'm|we|my|our)\b(?! (?:said|"
    rf"told|just)))|everything{_ABOUT})|(?:delete|remove|erase|wipe|clear|purge|drop) (?:the (?:fact|note|"
    rf"memory) (?:that|about) |{_KNOWN}|everything about |(?P<named>.{{3,80}}?) from (?:your |the )?(?:memory|"
    rf"memories|notes|records)\b|"
    r"(?:all )?(?:of )?(?=my (?:data|memories|memory|profile)\b))|(?:stop remembering|(?:do not|don't) (?:remember|"
    r"store)) (?:that )?(?=my\b|our\b|i\b|what\b|anything\b))\s*"
)
_ALL = lazy_regex(r"(?:everything|all|anything|whatever|what)\b")
_OWN_DATA = lazy_regex(r"my (?:data|memories|memory|profile)\b[.! ]*$")
_COURTESY = lazy_regex(r"(?:,? (?:please|pls)| thanks| thank you| for now| now)?[ .!?,]*$")
_JUST_SAID = lazy_regex(r"(?:just )?(?:now|before|last|earlier)?[.! ]*$")


_AMENDS = lazy_regex(
    r"(?:(?:oh |oops |no |wait |sorry )*(?:sorry|oops|correction|my (?:mistake|bad)|i misspoke|wait,? no|(?:strike|"
    r"scratch) that)\s*[,.:;!–—-]+\s*(?:i meant? (?:to say )?(?:that )?)?|i meant [^,.;]{1,40}[,;] )(?=\S)"
)
_DECLARES = lazy_regex(
    r"(?!(?:do|does|did|can|could|would|will|should|is|are|was|were|what|how|where|when|who|"
    r"why)\b)(?:[\w'-]+ ){1,5}?(?:is|are|was|were|can|may|will|should|must|has|have|live|work|use)\b"
)


def amended(sentence: str) -> str:
    """The statement that follows "sorry, I meant" or "strike that"; empty when nothing, or a request, follows."""
    text = " ".join(sentence.split())
    match = _AMENDS.match(text.lower().replace("’", "'"))
    amendment = text[match.end() :] if match else ""
    return amendment if _DECLARES.match(amendment.lower()) and not amendment.endswith("?") else ""


def remembered(sentence: str) -> str | None:
    """What the user asks to remember, in their words."""
    text = " ".join(sentence.split())
    match = _REMEMBER.match(text.lower().replace("’", "'"))
    statement = text[match.end() :] if match else ""
    if statement[:4].lower() == "the " and len(content_words(statement.lower())) < MIN_REMEMBERED:
        return None  # "Remember the milk"
    return statement if statement and not statement.endswith("?") and declarative_part(statement) else None


# "You don't have to cc Bob anymore": a rule that no longer holds, and no new one.
_LIFTED = lazy_regex(
    r"(?:you (?:(?:don't|do not) (?:have|need) to|can stop)(?=.* any ?more\b)|no need to(?=.* any ?more\b)|"
    r"you no longer (?:have|need) to) (?P<old>[^,.;!?]{3,80}?)(?: any ?more)?[.!]*$"
)


def forget(sentence: str) -> Forget | None:
    """A request to forget, with the words that name what; None also for "forget it" and "don't forget"."""
    text = " ".join(sentence.split()).replace("’", "'")
    lifted = _LIFTED.match(text.lower())
    if lifted and content_words(lifted["old"]):
        return Forget(lifted["old"], cause=Cause.RETRACTION, only_rules=True)
    match = _FORGET.match(text.lower())
    if match is None:
        return None
    target = _COURTESY.sub("", match["named"] or text[match.end() :])
    low, cue = target.lower(), match[0].lower()
    if re.search(r"\b(?:said|told you|mentioned)\s*$", cue) and _JUST_SAID.match(low):
        return Forget(target, Reach.LAST)
    if _OWN_DATA.match(low) or (_ALL.search(cue) and low in ("", "me", "us", "myself")):
        return Forget(target, Reach.EVERYTHING)
    named = content_words(low) or named_attribute(low)
    return Forget(target, only_rules=bool(re.search(r"\b(?:rule|instruction)s?\b", cue))) if named else None
