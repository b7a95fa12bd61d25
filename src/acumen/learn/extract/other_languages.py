"""What users say explicitly, in the languages most spoken: remember this, always or never do that, forget this.

Only what opens a sentence counts. Everything else that is said in these languages stays in the turns, where search and
the context find it.
"""

import re
import tomllib
from enum import StrEnum
from functools import cache
from pathlib import Path

from msgspec import Struct

from acumen.learn.extract.language import language_of


class Explicit(StrEnum):
    REMEMBER = "remember"
    RULE = "rule"  # always, never, from now on
    FORGET = "forget"


class Cue(Struct, frozen=True):
    """`about` is what follows the cue; of a rule it is the whole sentence."""

    what: Explicit
    about: str
    everything: bool = False  # "forget everything": all of the user's memories


_FILE = Path(__file__).parent / "languages.toml"
# Japanese and Korean put the verb at the end: "… を忘れて", "… 기억해 줘".
_VERB_LAST = ("Japanese", "Korean")
_UNSPACED = ("Chinese", *_VERB_LAST)
_PLEASE = (
    r"(?:(?:por favor|s'il te plaît|s'il vous plaît|bitte|per favore|пожалуйста|请|請|من فضلك|कृपया|tolong)[,، ]*)?"
)


# Behind "always" and "never": who says so, or a past. Such a sentence reports something ("Nunca he estado en Roma").
_REPORTS = re.compile(
    r"(?:he|hemos|ha|han|había|se|fui|estuve|tuve|me \w+[oéí]|\w+(?:ía|aba|amos|emos)|je|on|nous|pas|rien|eu|été|vu|"
    r"ich|wir|er|sie|es|wieder|noch|mehr|dasselbe|war|stat[oa]|vist[oa]|ho|abbiamo|sono|più|tive|estive|vi|mais|"
    r"не был\w*|я|мы|больше|так|meer|weer|ik|we|hetzelfde|nie by\w+|ja|już|więcej|की तरह)(?!\w)|ありがとう|すみません",
    re.IGNORECASE,
)


class _Pattern(Struct, frozen=True):
    what: Explicit
    at_end: bool  # the cue follows what it is about
    cue: re.Pattern[str]
    everything: re.Pattern[str]
    user: re.Pattern[str]
    around: re.Pattern[str]


_COURTESY = re.compile(
    r"[,،、]?\s*(?:s'il (?:te|vous) plaît|por favor|bitte|per favore|пожалуйста|من فضلك|कृपया|請|请)[.!。！]*$",
    re.IGNORECASE,
)
# A rule of fewer words or characters says nothing: "Immer!", "いつも".
FEWEST_WORDS, FEWEST_CHARACTERS = 2, 6


@cache
def _patterns() -> list[_Pattern]:
    patterns = []
    for language, row in tomllib.loads(_FILE.read_text("utf-8")).items():
        everything, user = row["everything"], row.get("user", "")
        edge = "" if language in _UNSPACED else r"(?!\w)"
        for what in (Explicit.REMEMBER, Explicit.FORGET, Explicit.RULE):
            cues = row[what]
            at_end = language in _VERB_LAST and what is not Explicit.RULE
            text = (
                rf"^(?:{cues})[、,:：]\s*|(?:を|을|를|は|은|는)?\s*(?:{cues})(?:ください|下さい|ね|주세요|요)?[.。!！]*$"
                if at_end
                else rf"{_PLEASE}(?:{cues}){edge}[,:，：]?\s*"
            )
            whole = rf"(?:{everything}){edge}[, ]*"
            around = rf"^(?:{row['around']})+|(?:{row['around']})+$" if "around" in row else r"(?!)"
            compiled = (re.compile(pattern, re.IGNORECASE) for pattern in (text, whole, user, around))
            patterns.append(_Pattern(what, at_end, *compiled))
    return patterns


def explicit_cue(sentence: str) -> Cue | None:
    """The cue with which a sentence in another language than English opens or, by its grammar, ends."""
    text = _COURTESY.sub("", " ".join(sentence.split()))
    if text.endswith(("?", "？")) or language_of(text) == "English":
        return None
    for pattern in _patterns():
        match = pattern.cue.search(text) if pattern.at_end else pattern.cue.match(text)
        about = f"{text[: match.start()]}{text[match.end() :]}".strip(" .:：。!！،,、") if match else ""
        if match and pattern.what is Explicit.RULE:
            says_enough = len(text.split()) > FEWEST_WORDS or (about and len(text) >= FEWEST_CHARACTERS)
            return Cue(pattern.what, text) if says_enough and not _REPORTS.match(about) else None
        if about:
            return _forget(about, pattern) if pattern.what is Explicit.FORGET else Cue(pattern.what, about)
    return None


def _forget(about: str, pattern: _Pattern) -> Cue:
    """Means everything only when no subject is named: "alles über mich", not "alles über meinen Hund"."""
    everything = pattern.everything.match(about)
    named = pattern.around.sub("", about[everything.end() :] if everything else about).strip()
    return Cue(
        Explicit.FORGET, named or about, everything=bool(everything and (not named or pattern.user.fullmatch(named)))
    )
