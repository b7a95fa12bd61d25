"""Words and stems of English text, for rules that compare wordings. Pure."""

import re
from functools import lru_cache
from threading import Lock

import Stemmer

from acumen.model.lazy_regex import lazy_regex

STOPWORDS = frozenset(
    "a an the this that these those some any all both each every my our your his her its their mine i me we us you he "
    "she it they them user user's users agent agent's am is are was were be been being do does did done have has had "
    "having can could may might must shall should will would ought not no yes and or but if when whenever before after "
    "because so that which who what how why where there here to too also about above across against along among around "
    "as at behind below beside between beyond by during for from in inside into like near of off on onto out outside "
    "over past per through throughout toward under up upon via with within always never usually often sometimes rarely "
    "only just still already currently mostly really generally normally actually recently finally probably even ever "
    "first almost very much many few lot lots bit quite anymore longer more again thing things stuff something "
    "anything please sure make ensure remember keep use using prefer want need get got give go let put try new own "
    "switch change switched one ones other else since until while once time times next now future forward".split()
)

_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "\u00a0": " ", "\r": "\n", "\t": " "})
_TOKEN = lazy_regex(
    r"(?P<quoted>`[^`]{1,300}`|\"[^\"]{1,400}\"|(?<!\w)'[^']{2,300}'(?!\w))"
    r"|(?P<word>[a-z][a-z0-9+.-]{1,20}://[^\s`\"']*[^\s`\"'.,;:!?)]|[$€£]\d[\d,.]*\w*|\d[\d,.:/]*\d[\w%]*(?:-\w+)*"
    r"|[@#/~.]?\w+(?:(?:[-.'/@_:&]|\+\+)\w+)*(?:\+\+|[#@](?!\w)|%)?)|\.{2,}|--+|[^\w\s]"
)
_OPENED = {
    short: full.split()
    for short, full in (
        pair.split("=")
        for pair in (
            "cannot=can not,won't=will not,wont=will not,can't=can not,cant=can not,ain't=is not,let's=let us,"
            "wanna=want to,gonna=going to,gotta=have to,dunno=do not know,im=i am,ive=i have,youre=you are,"
            "thats=that is,whats=what is,theres=there is,youve=you have,weve=we have,theyre=they are,u=you,ur=your,"
            "pls=please,plz=please,thx=thanks,ty=thanks,bc=because,cuz=because,yeah=yes,yep=yes,yup=yes,okay=ok,"
            "prod=production,till=until,til=until,tho=though,abt=about,teh=the,favourite=favorite"
        ).split(",")
    )
}
_NEGATED = lazy_regex(r"(do|does|did|is|are|was|were|have|has|had|should|would|could|must|need)n'?t")
_TAILS = {"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would", "s": "is"}
_BEFORE_TAIL = frozenset("i you we they he she it who that there here what how where this everything".split())


@lru_cache(maxsize=4096)
def words(sentence: str) -> tuple[str, ...]:
    """In lower case, with contractions opened ("doesn't": "does", "not"), marks apart, quotations whole."""
    tokens: list[str] = []
    for match in _TOKEN.finditer(sentence.translate(_STRAIGHT).lower()):
        tokens += _opened(match[0]) if match["word"] else [match[0]]
    return tuple(tokens)


def _opened(low: str) -> list[str]:
    if low in _OPENED:
        return _OPENED[low]
    if negated := _NEGATED.fullmatch(low):
        return [negated[1], "not"]
    base, _, tail = low.rpartition("'")
    return [base, _TAILS[tail]] if tail in _TAILS and base in _BEFORE_TAIL else [low]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Approve and approval, migrate and migration, under one name."""
    with _STEMMING:
        return str(_STEMMER.stemWord(word))


# A stemmer serves one thread at a time.
_STEMMER, _STEMMING = Stemmer.Stemmer("english"), Lock()


_ABBREVIATION = lazy_regex(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|dr|mr|mrs|ms|prof|st|approx|jr|sr|inc|ltd|dept|fig|[a-z]\.[a-z])\.$", re.IGNORECASE
)


def ends_with_abbreviation(text: str) -> bool:
    """Whether its last full stop belongs to a word ("Dr.", "e.g.") rather than to the end of a sentence."""
    return _ABBREVIATION.search(text[-12:]) is not None
