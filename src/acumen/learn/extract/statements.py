"""What a user's sentence states about them and their world: who they are, what they like, have, did and plan.

One reading per sentence, in English. Questions, requests, small talk and talk about the conversation state nothing:
they stay in the turns, where search finds them.
"""

import re

from msgspec import Struct

from acumen.model.lazy_regex import lazy_regex
from acumen.model.memories.base import Category

# Longer "sentences" are lists and pasted text.
MAX_LENGTH = 400
# A statement with fewer words that carry meaning says nothing without the talk around it.
MIN_CONTENT_WORDS = 1
MIN_EVENT_WORDS = 3


class Statement(Struct, frozen=True):
    """`text` is the part of the sentence that states something, in the user's own words."""

    text: str
    category: Category
    standing: bool = False


def statement(sentence: str, *, dated: bool = False, explicit: bool = False) -> Statement | None:
    """None when the sentence states nothing worth keeping.

    `dated` tells that a period is named in it; `explicit` that the user asked to remember it.
    """
    text = declarative_part(sentence)
    low = text.lower().replace("’", "'")
    if not text or len(text) > MAX_LENGTH or _HYPOTHETICAL.search(low):
        return None
    time = _TIME_FIRST.match(low)
    start = time.end() if time else 0
    category = _category(low[start:], text[start:], dated=dated)
    if category is None and explicit:
        category = Category.FACT
    if category is None or (not explicit and _empty(low, category)):
        return None
    return Statement(text[:1].upper() + text[1:], category, standing=_standing(low, category))


# --- the part that states something  ----------------------------------------------------------------------

_LEAD_IN = lazy_regex(
    r"(?:by the way|btw|fyi|for (?:context|the record|reference|your information)|oh|ah|also|and|but|so|well|actually|"
    r"anyway|plus|hey|hi|hello|yeah|yes|yep|yup|no|nope|ok|okay|thanks|thank you|thx|wow|great|sure|"
    r"speaking of [\w' -]{1,40}|to be honest|honestly|in fact|as (?:i|you) (?:said|know|mentioned)[^,]{0,20}|"
    r"um+|uh+|hmm+|"
    r"just so you know|i should mention(?: that)?|i (?:also )?forgot to mention(?: that)?|i mean|you know|luckily|"
    r"unfortunately|sadly|(?:it )?turns out(?: that)?)\b\s*[,!.:–—-]*\s*",
    re.IGNORECASE,
)
# "Last week we moved", "On Sunday I ran": the time may come first.
_TIME_FIRST = lazy_regex(
    r"(?:yesterday|today|tonight|tomorrow|(?:last|next|this(?: past| coming)?) \w+|(?:on|in|since|until) [\w ]{3,20}?|"
    r"\w+ (?:days?|weeks?|months?|years?) ago|right now|these days|at the moment)\s*,?\s+(?=(?:i|i'm|i've|we|we're|"
    r"we've|my|our)\b)"
)
# Where a statement passes into a question or a request: "…, do you know any?", "… and I was wondering if …".
_ASKING = lazy_regex(
    r"(?:\s*[,;–—-]\s*|\s+)(?:(?:and|but|so|or)\s+)?(?:(?:i(?:'m| am| was|'ve been) (?:just |also |"
    r"really )?(?:wondering|curious|hoping|looking for|not sure))\b|(?:was|am) wondering\b|i(?:'d| would) (?:like|"
    r"love|appreciate)\b|(?:can|could|would|will|should) (?:you|i|we)\b|do you\b|(?:please|pls)\b|"
    r"any (?:\w+ )?(?:ideas|tips|advice|suggestions|recommendations)\b|let me know\b|(?:what|how|"
    r"why)(?:'s| is| are| do| does| did| can| could| would| should| about)\b|help me\b)|"
    r"(?:\s*[,;–—-]\s*|\s+)(?:and|but|so|or)\s+(?:where|which|who)(?:'s| is| are| do| does| did| can| could|"
    r" would| should)\b"
)
# A clause at the end that tells only what the user wants of the conversation: "…, so I want to make sure it fits".
_TRAILING = lazy_regex(
    r"(?:,|;| -| –| —)? (?:(?:and|but|so|which is why|because) )(?:now )?(?:i(?:'m| am| was|'ve been) (?:\w+ly |also |"
    r"just |still |now |so )*(?:looking|wondering|trying to|hoping|curious|interested|thinking|considering|not sure|"
    r"excited|planning to|eager)\b|i(?: \w+ly)? (?:want|need|think|might|guess|hope|wanted|would|could|should|figured|"
    r"thought|don't (?:know|think))\b|i'(?:ll|d)\b)"
)
_QUESTION_START = lazy_regex(
    r"(?:do|does|did|can|could|would|will|shall|should|is|are|was|were|am|have|has|had|what|how|where|when|which|who|"
    r"whom|whose|why|isn't|aren't|don't you|doesn't|didn't|won't|can't you|couldn't|wouldn't|any)\b"
)
_SPEAKER = lazy_regex(r"[A-Z][\w.-]{1,20}(?: [A-Z][\w.-]{1,20})?: (?=\S)")


def declarative_part(sentence: str) -> str:
    """The sentence without its speaker's name, lead-in, and the question or request it ends in; may be empty."""
    text = " ".join(sentence.split())
    speaker = _SPEAKER.match(text)
    text = text[speaker.end() :] if speaker else text
    for _ in range(3):
        lead_in = _LEAD_IN.match(text)
        if lead_in is None:
            break
        text = text[lead_in.end() :]
    low = text.lower().replace("’", "'")
    if _QUESTION_START.match(low):
        return ""
    ends = [match.start() for match in (_ASKING.search(low, 8), _TRAILING.search(low, 8)) if match]
    if ends:
        return text[: min(ends)].rstrip(" ,;–—-.") + "."
    return "" if text.endswith("?") else text


_BARE = lazy_regex(r"\b(?:(i)(m|ve|ll)|(don|doesn|didn|isn|aren|wasn|can|won|couldn|shouldn)(t))\b", re.IGNORECASE)


def with_apostrophes(sentence: str) -> str:
    """The sentence with "im" and "dont" spelled as the rules read them."""
    return _BARE.sub(lambda match: "'".join(part for part in match.groups() if part), sentence)


# --- what sort of statement  ----------------------------------------------------------------------

_ADVERBS = (
    r"(?:(?:really|also|just|actually|always|usually|generally|often|still|currently|already|recently|finally|even|"
    r"only|absolutely|mostly|mainly|typically|normally|sometimes|now|once|first|both|all|never|definitely|"
    r"especially) )*"
)
_I = r"(?:i|we|my \w+ and i)"
IRREGULAR_PAST = (
    "went|got|bought|had|made|took|met|saw|sold|won|lost|began|built|ran|rode|drove|flew|grew|gave|left|moved|spent|"
    "taught|wrote|read|sent|paid|broke|caught|chose|came|did|found|kept|led|put|sang|slept|spoke|stood|swam|threw|"
    "wore|hit|hurt|set|quit|became|ate|drank|fell|held|hung|beat|shot|hosted|brought|upgraded"
)
# Verbs of thinking and talking: what they report is about the conversation, not about the user's world.
_MENTAL = (
    "thought|wanted|needed|hoped|wondered|asked|told|said|mentioned|forgot|remembered|realized|realised|guessed|meant|"
    "tried|looked|liked|loved|noticed|figured|assumed|expected|called|used|happened|believed|knew|felt|supposed|"
    "agreed|appreciated|wished|understood|considered|decided|heard"
)
_IDENTITY = lazy_regex(
    r"(?:my (?:full |first |last )?name(?:'s| is)\b|i'm called\b|i go by\b|my pronouns are\b|"
    rf"{_I} (?:(?:don't|do not|no longer) )?{_ADVERBS}(?:live|work|study|teach) (?:in|at|for|as|with|near|on|from)\b|"
    r"i(?:'m|"
    rf" am) (?:originally )?(?:from|based in)\b|"
    r"i(?:'m| am) (?:not |no longer )?(?:an?|the) (?!bit|little|lot|tad|fan|big fan|"
    r"huge fan|idiot|mess|fool|beginner like)|i was born\b|"
    r"i(?:'m| am) \d{1,3}(?= years old\b| now\b|[.!]*$|,)|i speak\b|"
    r"i grew up\b|i(?:'m| am) (?:not )?(?:\w+ly )?(?:married|single|divorced|engaged|pregnant|retired|vegan|"
    r"vegetarian|pescatarian|allergic|diabetic|celiac|coeliac|lactose|left-handed|colou?r-?blind|deaf|blind|dyslexic|"
    r"unemployed|self-employed)\b|(?:my|our) (?:native|first|mother) (?:language|tongue)\b|my (?:job|role|occupation|"
    r"title|birthday|hometown|timezone|time zone) )"
)
_PREFERENCE = lazy_regex(
    rf"(?:{_I} {_ADVERBS}(?:like|love|prefer|enjoy|hate|dislike|adore|loathe|avoid)\b|{_I} can't stand\b|"
    r"i(?:'m| am) (?:not )?(?:a )?(?:really |very |pretty )?(?:(?:big|huge|great|massive) )?(?:fan of|into|fond of|"
    r"keen on)\b|(?:my|our) (?:\w+ )?(?:favou?rites?|preferred|go-to)\b|i(?:'d| would) rather\b|i've always (?:loved|"
    r"liked|hated|enjoyed)\b|"
    rf"{_I} (?:don't|do not|can't|cannot) {_ADVERBS}(?:like|enjoy|eat|drink|want|have|use|do|tolerate|stand)\b)"
)
_PERFECT = lazy_regex(
    rf"(?:i've|we've|{_I} have|{_I} haven't|i've never|i haven't) {_ADVERBS}(?:been (?!thinking|wondering|trying|"
    rf"looking|meaning|considering|curious|hearing|able|asked|told|having a hard time)\w+|(?!been\b|"
    rf"{_MENTAL})(?:\w{{3,}}ed|\w+(?:own|ung|iven|aken|otten|itten|one|een|ought)|{IRREGULAR_PAST})\b)"
)
_PAST = lazy_regex(rf"{_I} {_ADVERBS}(?!{_MENTAL})(?:\w{{3,}}ed|{IRREGULAR_PAST})\b")
_PRESENT = lazy_regex(
    rf"{_I} {_ADVERBS}(?:have|own|use|run|drive|play|keep|go|take|attend|collect|volunteer|study|coach|manage|lead|"
    rf"host|grow|"
    r"wear|eat|drink|watch|practi[cs]e|commute|travel|train|pay|earn|see (?:an?|my|our|dr)|meet|deploy|build|ship|"
    r"store|test|bake|cook|paint|write|sell|buy|rent|teach|raise|sing|dance|swim|ride|hike|work|share|follow|"
    r"subscribe|come from|belong|participate)\b"
)
# What is done again and again: "I usually grab lunch", "I catch the 9:15 train", "We stop there every Monday".
_HABIT = lazy_regex(
    rf"{_I} (?=.*\b(?:usually|typically|normally|regularly|every|on \w+days|"
    rf"\d[\d.,:-]*)\b)(?!.*\bif\b)(?>{_ADVERBS})(?!(?:{_MENTAL}|think|want|need|hope|wonder|know|guess|mean|see|feel|"
    rf"agree|appreciate|ask|wish|recall|find|try|"
    r"look|plan|remember|forget|can|could|would|will|should|might|may|must|do|did|don't|can't|didn't|had|was|were|am|"
    r"are|apologi[sz]e|have|haven't)\b)[a-z]+\b"
)
_OWN = lazy_regex(
    r"(?:my|our) (?!question|goal|aim|task|objective|point|apolog|bad\b|understanding|guess|thought|concern|"
    r"only concern|main concern|next question|pleasure|problem is that|"
    r"issue is)[\w'’-]+(?: [\w'’&.-]+){0,4}?,?(?: [A-Z]\w+,?)? (?:is|are|was|were|has|have|had|lives?|works?|loves?|"
    r"likes?|just|recently|got|gets|started|starts|turned|turns|runs|goes|comes|uses|needs|wants|plays|\w{3,}ed|who|"
    r"which|that|called|named|gave|bought|made|took|told|went|said|passed|won)\b"
)
_FUTURE = lazy_regex(
    r"(?:i'm|i am|we're|we are) (?:\w+ly |also |actually )*(?:going|flying|moving|travell?ing|starting|getting|having|"
    r"hosting|meeting|leaving|taking|visiting|planning|attending|running|expecting|celebrating|throwing|driving|"
    r"heading|joining|scheduled|getting married|in|at|on|away|off|out|working|staying|studying|living)\b|i've (?:got|"
    r"booked|scheduled)\b|we(?:'ve| have) (?:got|booked|scheduled)\b"
)
_HAVE_TALK = lazy_regex(
    r"(?:i|we) (?:\w+ )?(?:have|had|'ve got) (?:(?:a|an|another|one|some|any|no|two|the|more|few|quick|couple of|"
    r"other|\w+) ){0,3}(?:questions?|idea|ideas|problem|problems|issue|issues|doubts?|request|favou?r|time|luck|to\b|"
    r"trouble|feeling|fun|clue|great time|good time|blast|concerns?|hard time|tips?|thoughts?|plans?\b(?! to))"
)
_TASK = lazy_regex(
    r"(?:i'm|i am|we're|we are) (?:\w+ly |also |just |still |now |actually )*(?:looking|wondering|trying|hoping|"
    r"curious|interested|thinking|considering|not sure|sure|glad|happy to|excited|sorry|afraid|having trouble|"
    r"confused|asking|ready|open to|leaning|planning (?:on|to|a|my|our|for)?(?! .*\d))\b"
)


def _category(low: str, text: str, *, dated: bool) -> Category | None:
    """The first sort that its opening words show."""
    if _HAVE_TALK.match(low):
        return None
    if _IDENTITY.match(low):
        return Category.IDENTITY
    if _PREFERENCE.match(low):
        return Category.PREFERENCE
    if dated and _FUTURE.match(low):
        return Category.PLAN
    if _TASK.match(low):
        return None
    if _PAST.match(low) or _PERFECT.match(low):
        return Category.EVENT if _specific(low, text, dated=dated) else None
    if _PRESENT.match(low) or _HABIT.match(low):
        return Category.FACT
    owned = _OWN.match(low) or _OWN.match(text[:1].lower() + text[1:])
    return Category.FACT if owned and (_IS_A.search(low) or _specific(low, text, dated=dated)) else None


_IS_A = lazy_regex(
    r"\b(?:is|are|was|were) (?:an?|the|called|named|at|in|on|from|with|\d)|\b(?:has|have|had|who|which|lives?|works?|"
    r"uses?|runs?) "
)
_SPECIFIC = lazy_regex(
    r"\b(?:just|recently|already|ago|last|since|every|first|never|always|years?|months?|weeks?)\b|\b\d|[$€£]\d"
)
_PROPER = lazy_regex(r"(?<=[a-z,] )[A-Z][\w'’-]+")


def _specific(low: str, text: str, *, dated: bool) -> bool:
    """An event is worth keeping when it names a time, an amount or a person, or has enough detail."""
    return (
        dated or bool(_SPECIFIC.search(low) or _PROPER.search(text)) or len(content_words(low)) >= 2 * MIN_EVENT_WORDS
    )


# --- what says nothing  ----------------------------------------------------------------------

_HYPOTHETICAL = lazy_regex(
    r"\b(?:said|says|wrote|told \w+)\b[^\"“]{0,12}[\"“]|^(?:if|imagine|suppose|let's say|pretend|what if|assuming|"
    r"unless|whether)\b|\bif i (?:were|was|had)\b"
)
_OF_THE_TALK = lazy_regex(
    r"\b(?:you|your|you're|you've|you'll|yours)\b|\b(?:these|those|this|that|the|all (?:the|these|"
    r"those)) (?:\w+ ){0,2}(?:tips?|ideas?|options?|suggestions?|recommendations?|resources?|questions?|examples?|"
    r"steps?|points?|advice|lists?|responses?|answers?|information|info|prompts?|templates?|approach|concept|sound)\b|"
    r"\b(?:love|like|enjoy|hate) (?:the (?:idea|sound|thought|way)|that|this|it|how|to (?:know|hear|see|learn|try))\b"
)
_POINTING = lazy_regex(r"(?:\b(?:it|that|this|them|those|these|there|one|so|too|both|him|her|ones|do|did)\b[.! ]*)$")
# "I took it at the beach", "the vibes on that album", "I love the color": the thing was named in another sentence.
_POINTS_BACK = lazy_regex(
    r"(?:i|we|i've|we've|i'm|i am)(?: [\w']+){1,4}? (?:it|them|him|these|those|one|(?:this|"
    r"that)(?! (?:\w+ ){0,1}(?:week|month|year|morning|weekend|summer|winter|spring|fall|evening|afternoon|day|season|"
    r"i\b|we\b|my\b|the\b)))\b|.*\b(?:on|in|into|at|of|by|with|without|to|for|about|from|than|through) (?:it|them|"
    r"those|these|that(?! i\b| we\b))\b|.*\bthe (?:latter|former)\b|.*\b(?:some|few|one|two|\d) more(?: (?:last|this|"
    r"today|yesterday|on|in|at|for)\b|[.!,]|$)|(?:i|we) (?:\w+ ){0,2}(?:love|like|enjoy|hate) (?:the|all the) [a-z]"
)
STOP_WORDS = frozenset(
    "a about actually again all anymore also always am an and any are aren't as at be been but by can can't could did "
    "didn't do does doesn't doing don't even ever for from get getting go going got had has have haven't having he "
    "her here him his how i i'd i'll i'm i've if in into is isn't it it's its just lot like make me more most much my "
    "never no not now of on one only or our out over really recently she should so some still such than that that's "
    "the their them then there these they thing things this those to too until up us use used usually very was we "
    "we're we've well were what when where which while who will with would yes yet you your been bit "
    "love enjoy prefer hate great good nice amazing awesome fun cool super pretty quite kind sort definitely".split()
)
_WORD = re.compile(r"[^\W_][\w'’-]*")


def content_words(low: str) -> list[str]:
    """The words of a lower-case text that carry its meaning."""
    return [word for word in _WORD.findall(low.replace("’", "'")) if word not in STOP_WORDS]


def _empty(low: str, category: Category) -> bool:
    if _OF_THE_TALK.search(low):
        return True
    words = content_words(low)
    least = MIN_EVENT_WORDS if category is Category.EVENT else MIN_CONTENT_WORDS
    if category in (Category.IDENTITY, Category.PREFERENCE):
        least = 1
    if len(words) < least or _POINTS_BACK.match(low):
        return True
    return bool(_POINTING.search(low)) and len(words) < 2 * MIN_EVENT_WORDS


# --- standing  ----------------------------------------------------------------------

_HOW = lazy_regex(
    r"\b(?:answers|replies|responses|explanations|summaries)\b|\b(?:i|we) (?:\w+ )?prefer\b|\bi(?:'d| would) rather\b|"
    r"\bcall me\b"
)
_SITUATION = lazy_regex(
    r"\b(?:when|whenever|if|while|during|before|after|unless|in case|for (?:this|that|the|my|our))\b"
)


def _standing(low: str, category: Category) -> bool:
    """Who the user is and how they want things, regardless of the query."""
    if category is Category.IDENTITY:
        return True
    return category is Category.PREFERENCE and bool(_HOW.search(low)) and not _SITUATION.search(low)
