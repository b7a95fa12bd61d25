"""The wording that tells what kind of saying a sentence is, apart from its grammar."""

import re
from enum import StrEnum


class Cue(StrEnum):
    """What the wording tells beyond the clauses."""

    STANDING = "standing"  # from now on, every time …
    ONCE = "once"  # now, this time …
    DENIAL = "denial"  # no, that is wrong …
    REPEATED = "repeated"  # I said, I told you …
    NOTED = "noted"  # by the way, keep in mind …
    ASKED = "asked"  # can you …, I want you to …
    WISHED = "wished"  # I'd appreciate it if you …: milder than asking, and meant for longer
    HATED = "hated"  # I hate it when you …
    REMINDED = "reminded"  # make sure, remember to …
    CONFIRMED = "confirmed"  # that worked, exactly …
    ANYMORE = "anymore"
    KEPT = "kept"  # … remember that: the sentence is told to be remembered
    QUESTION = "question"
    OPINION = "opinion"  # I think, I guess …: said, not vouched for
    TROUBLE = "trouble"  # errors and failures: a report, not a fact
    FILLER = "filler"  # please, thanks, to be honest …


_SAID = r"(?:said|told you|asked you|mentioned)"
_BEFORE = r"(?: before| earlier| already| (?:a )?\w+ times| again and again)*"
_THEN = r"(?: that| to)?(?= (?!to\b))"
# Phrases that frame a sentence without being part of what it says. They are lifted out; what remains is easier to read.
# Sentences arrive in lower case with contractions opened and words parted by single blanks.
_FRAMING: dict[Cue, tuple[str, ...]] = {
    Cue.STANDING: (
        r"(?:starting |beginning )?from (?:now|here|today|this (?:point|moment|day))(?: on| onwards?| forward| out)*",
        r"(?:starting|beginning|effective) (?:now|today|immediately)",
        r"(?:going|moving) forwards?",
        r"(?:in|for) (?:the )?future(?: reference)?",
        r"as an? (?:general |iron |hard )?(?:rule|policy|habit)(?: of thumb)?",
        r"as (?:our|a) (?:standard|default)(?: practice)?",
        r"henceforth|for good|permanently|until further notice|across the board|once and for all|at all times",
        r"no exceptions?|without exception|no matter what|whatever (?:happens|you do)",
        r"in any case|in all cases|under any circumstances",
        r"(?:the |for )?next time",
    ),
    Cue.NOTED: (
        r"by the way|btw|fyi|for your information|(?:just )?so you know|for the record|for reference|heads up",
        r"for (?:some )?context|for background|to give you (?:some )?context|a bit about me|about me",
        r"(?:please )?(?:take )?note that|please note|(?:please )?(?:keep|bear) in mind(?: that)?",
        r"(?:please )?remember that|as a reminder|just a reminder(?: that)?",
        r"(?:i|we) (?:should|forgot to|want(?:ed)? to|need to) (?:also )?(?:mention|add|say|tell you)(?: that)?",
        r"(?:you should|you need to|it is good to|good to) know(?: that)?",
        r"(?:it is )?worth (?:noting|mentioning|knowing)(?: that)?",
        r"(?:just )?to (?:be clear|clarify|recap)|in case it (?:helps|matters)|one more thing|another thing",
    ),
    Cue.REPEATED: (
        r"(?:like|as) i(?: have)?(?: already)? (?:said|told you|mentioned|asked)(?: before| earlier| already| you)*",
        rf"(?:i|we)(?: have)?(?: already| just| clearly)* {_SAID}(?: this| that| you)?{_BEFORE}{_THEN}",
        r"how many times (?:do i have to|must i|have i) (?:say|tell|ask|told|said|asked)(?: it| this| you| that)*",
        r"once again|yet again|for the (?:last|second|third|\w+th) time",
    ),
    Cue.ONCE: (
        r"just this once|(?:just )?this (?:one )?time(?: only)?|right now|real quick|one more time|asap",
        r"when you (?:get|have) (?:a )?(?:chance|moment|minute|time)|when you are (?:done|ready|finished)",
        r"as soon as (?:possible|you can)",
        r"if you (?:can|could|have time|do not mind|want|like)(?= [,.!?;]| ?$)|if (?:possible|that is ok|it is ok)",
    ),
    Cue.OPINION: (
        r"i (?:really |still |do |just )?(?:think|guess|believe|suppose|feel like|assume|figure|imagine)(?: that)?",
    ),
    Cue.FILLER: (
        r"(?:hi|hey|hello) (?:there|all|everyone|team|folks)|good (?:morning|afternoon|evening)(?: everyone| all)?",
        r"please|kindly|thank you(?: so much| very much)?|thanks(?: a lot| so much| in advance)?|cheers|got it",
        r"for (?:god|heaven|pete|christ)'s sake|for crying out loud|(?:would|will) you(?= \?| $)|if you would",
        r"i mean|you know|to be honest|tbh|imo|as you know|as usual|let me be clear|at the end of the day",
        r"in my (?:opinion|experience|case)",
    ),
}
FRAMING = re.compile(
    "|".join(f"(?P<{cue}>(?<![^ ])(?:{'|'.join(patterns)})(?![^ ]))" for cue, patterns in _FRAMING.items())
)


# Openings that only ask; the words after them are what is asked. The first that matches is taken off.
_LIKED = r"(?:great|nice|helpful|good|better|best|awesome|appreciated|lovely|ideal|easier)"
_VITAL = r"(?:important|essential|critical|crucial|vital|imperative|necessary|key|mandatory)"
_WANT = r"(?:want|need|would like|expect|require|would love|asked?|told|would prefer|prefer|would rather)"
_WITH = r"(?:really|just|also|actually|only|do|did|would|not)"
_IF_YOU = r"if (?:you|we)(?: (?:could|would|can|just|always|never))*"
ASKING: tuple[tuple[Cue, re.Pattern[str]], ...] = tuple(
    (cue, re.compile(pattern))
    for cue, pattern in [
        (Cue.ASKED, r"(?:would|do) you mind (?=\w+ing|not)"),
        (
            Cue.REPEATED,
            r"(?:i|we)(?: already| clearly| explicitly)* (?:asked for|said|requested) (?!(?:that|i|it|we|this|no) )",
        ),
        (Cue.ASKED, r"(?:can|could|will|would|may) (?:you|we)(?: (?:maybe|perhaps|just|also|at least|possibly))* "),
        (
            Cue.STANDING,
            r"(?:under no circumstances|at no point|never) (?:should|must|may|can) (?:you|we|anyone)(?: ever)? ",
        ),
        (Cue.STANDING, rf"it is (?:\w+ )?{_VITAL}(?: (?:for|to) (?:me|us))? (?:(?:that )?(?:you|we) |for you to )"),
        (
            Cue.STANDING,
            r"(?:make it a|get into the|get in the|be in the) (?:habit|point|rule|practice|policy)(?: (?:to|of))? ",
        ),
        (Cue.ASKED, r"(?:there is |you have )?no need (?:for you )?to "),
        (Cue.ASKED, rf"(?:i|we)(?: {_WITH})* {_WANT}(?: for)? you(?: (?:always|never|not|only|just|to))* (?=\w)"),
        (Cue.WISHED, rf"(?:i|we) (?:would|will) (?:really |much )*(?:appreciate|prefer|like|love)(?: it)? {_IF_YOU} "),
        (Cue.WISHED, rf"(?:it )?(?:would|will) be (?:\w+ )?{_LIKED}(?: for me)? {_IF_YOU} "),
        (Cue.ASKED, r"(?:is it possible|is there any way) (?:for you )?to "),
        (
            Cue.REMINDED,
            r"(?:make|be|making)(?: (?:very|absolutely|damn))? (?:sure|certain)(?: (?:that|to|you|we|always))* ",
        ),
        (Cue.REMINDED, r"(?:always )?(?:remember|try|be careful|take care)(?: always)?(?: not)? to "),
        (Cue.REMINDED, r"(?:do not|never|not) forget (?:to |that you (?:should|must|need to) )"),
        (Cue.REMINDED, r"ensure (?:that )?(?:you )?"),
        (Cue.DENIAL, r"why (?:do|did|are|would|must|have) (?=you )"),
        (Cue.HATED, r"(?:i|we)(?: \w+)? (?:hate|dislike|do not like|can not stand) (?:it )?(?:when|that|how) (?=you )"),
    ]
)


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b")


# Signs that stay in the sentence.
_SIGNS: dict[Cue, re.Pattern[str]] = {
    Cue.DENIAL: _any(
        r"(?:that|this|it|which|you|these|those) (?:is|are|was|were)(?: (?:still|completely|totally|just|simply|all))* "
        r"(?:wrong|incorrect|mistaken|not (?:right|correct|what|true|how|it|the|quite|accurate|where|who|when|my|our))",
        r"not (?:quite|exactly|what i|like that|right|correct|true)|hold on|how many times|please (?:stop|do not)",
        r"you (?:misunderstood|misread|got (?:it|that|this) wrong|mixed up|made a mistake|forgot|missed|ignored)",
        r"you (?:skipped|overlooked|left out|failed|keep|always|never|did not|should (?:not )?have|are supposed)",
        r"i (?:did not|never) (?:ask|say|want|mean|request|tell)|i (?:meant|asked for|wanted|said|told)",
        r"why (?:did|do|are|would|did not|do not) you|(?:actually|no) (?:it|that|we|i|the|use) ",
        r"(?:way|far|much) too \w+|^too \w+|^wrong \w+",
        r"(?:sick|tired) of|fed up|(?:driving|drives) me (?:crazy|nuts|mad|insane)|annoy(?:s|ing)|enough (?:of|with)",
    ),
    Cue.CONFIRMED: _any(
        r"(?:that|this|it|which)(?: (?:really|totally|actually|finally|just|definitely))? "
        r"(?:worked|works (?:now|perfectly|great|fine|well|like)|fixed (?:it|that|the|my|everything)|"
        r"solved (?:it|that|the|my)|did the trick|does the trick|did it|resolved (?:it|the|my)|nailed it)",
        r"(?:that|this|it) (?:is|was) (?:exactly (?:it|right|what i)|perfect|spot on)",
        r"(?:exactly|just) what i (?:wanted|needed|meant|was looking for|had in mind|asked for)",
        r"(?:works|worked) (?:perfectly|great|like a charm|now|fine|well|beautifully)|problem solved|spot on|nailed it",
        r"(?:keep|do) (?:it|this|that|doing (?:it|this|that)) (?:like this|this way|that way|up)|more of this",
        r"i (?:really )?(?:like|love|liked|loved) (?:how|the way) you",
    ),
    Cue.TROUBLE: _any(
        r"errors?|crash\w*|fail(?:s|ed|ing|ure)?|exception|traceback|bug|broken|stuck|timeout|timed out|undefined",
        r"(?:does|do|is|are|am)? ?not work(?:ing)?|will not|stopped working|nothing happens|keeps? (?:\w+ing)|refus\w+",
        r"can not (?:log|find|see|access|open|connect|get|figure|seem|remember|tell|login|believe|wait)",
        r"not (?:loading|showing|responding|arrived|updating|found)|locked out|declined|charged twice",
        r"weird|wrong|missing|slow",
    ),
    Cue.KEPT: re.compile(
        r"\b(?:remember|note|keep|bear|do not forget|save|store|write) (?:that|this|it)(?: down| in mind)?"
        r"(?: ,?(?:please|for (?:next time|later|the future)|next time))*\W*$"
    ),
    Cue.ANYMORE: _any(r"anymore|any more|any longer|no longer|ever again"),
}  # fmt: skip


def signs(low: str) -> set[Cue]:
    """The cues that a sentence shows without being framed by them."""
    return {cue for cue, pattern in _SIGNS.items() if pattern.search(low)}
