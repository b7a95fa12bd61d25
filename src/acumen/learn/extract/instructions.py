"""Explicit rules for the agent and corrections of what it did, in English.

A one-off request ("make it shorter", "book my dentist") is none of these.
"""

import re

from msgspec import Struct

from acumen.learn.extract.statements import content_words
from acumen.model.lazy_regex import lazy_regex

# Longer rules are pasted documents.
MAX_LENGTH = 400
MAX_SITUATION = 120


class Rule(Struct, frozen=True):
    """`content` is the instruction in the user's words; `trigger` the situation that its own words name."""

    content: str
    trigger: str = ""
    correction: bool = False  # it answers what the agent did last


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
# "Never use semicolons in this file": for the current task.
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
    denial = _skip(low, 0, _DENIES) if after_agent else 0  # "No, I told you, …" denies twice
    start = _skip(low, denial, _POLITE)
    if text.endswith("?") and re.search(r"\byou\s+(?:please\s+)?$", low[:start]):  # "Can you stop …?" asks for it
        text, low = text.rstrip("? "), low.rstrip("? ")
    if len(text) > MAX_LENGTH or text.endswith("?"):
        return None
    body, words = text[start:], low[_skip(low, start, _POLITE, _FOR_A_TIME) :]
    if not body or _NO_OBJECT.match(words) or _ONE_OFF.search(words):
        return None
    if denial and (_DIRECTS.match(words) or _INSTEAD.search(words)) and content_words(words):
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
