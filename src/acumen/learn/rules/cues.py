"""What the surface of a sentence shows: small signs of what it is, each named, none decisive alone."""

from collections.abc import Sequence

from msgspec import Struct

from acumen.learn.rules import verbs
from acumen.learn.rules.words import Word, words
from acumen.model.patterns import later

# Openings that carry tone only: what is said begins after them.
FILLERS = frozenset(
    "ok okay well hey hi hello hmm hm um uh uhh oh ah so also anyway anyways sorry thanks thx great perfect cool nice "
    "awesome alright right yes yep sure and but dear ugh argh lol haha hah ha again gotcha understood good then super "
    "fine plus sigh ouch wow man listen look btw fyi please honestly actually basically literally really though um hah "
    "now just morning afternoon evening greetings cheers ta ok! or "
    "omg sweet urgent aha mmh yo guys folks god".split()
)
_DENIALS = frozenset("no nope nah wait wrong incorrect false stop not".split())
_SUBJECTS = frozenset("i we you he she it they this that there who my our your his her their the a an".split())
_WH = frozenset("what which who whom whose where when why how".split())
_ASKING = frozenset("is are was were do does did can could will would should shall may might has have had am".split())
_ASKS_ALONE = frozenset("is are was were does did can could would will should am".split())
_MEMORY = (
    r"(?:memory|notes?|records?|profile|what you (?:know|have)|know about|you know|remember\w*|stored|saved|on file)"
)
_KIN = (
    r"(?:wife|husband|boss|friend|sister|brother|mother|father|mom|mum|dad|son|daughter|cousin|neighbou?r|colleague|"
    r"coworker|teammate|ex|aunt|uncle|grand(?:ma|pa|mother|father)|in-law|intern|lead|manager|doctor|nurse|teacher|partner|flatmate|roommate|client|customer|vendor|auditor|lawyer|landlord)"
)
_SAYS = (
    r"(?:says?|said|told|thinks?|thought|wrote|writes|claims?|insists?|swears|mentioned|asks?|asked|keeps saying|wants)"
)

_PATTERNS: dict[str, str] = {
    "always": r"\b(?:always|at all times|consistently|invariably)\b",
    "never": r"\b(?:never|under no circumstances|not ever|at no point)\b",
    "ever": r"\bever\b",
    "every": r"\b(?:every|each|all|any|anything|everything|whenever|everytime|no exceptions?|whatever)\b",
    "only": r"\bonly\b",
    "standing": r"\b(?:from (?:now|here|today|this)\b|going forward|moving forward|in (?:the )?future|"
    r"henceforth|as a rule"
    r"|next time|for good|by default|in general|until further notice|permanently|the rule|house rule|our policy"
    r"|(?:goes|applies|holds|true) for (?:all|any|every|each)|this way|like (?:this|that)|stick (?:to|with))",
    "lasting": r"\b(?:from (?:now|here|today) on|from now|going forward|moving forward|in (?:the )?future|"
    r"henceforth|as a rule|"
    r"next time|for good|by default|permanently|every time|each time|whenever|always|never)\b",
    "next_time": r"\bnext time\b",
    "whenever": r"\b(?:when|whenever|every time|each time|any time|if) (?:you|we|i|it|a|an|the|there|someone|"
    r"anyone|somebody)\b",
    "please": r"\b(?:please|kindly)\b",
    "you": r"\byou\b",
    "your": r"\byour\b",
    "asks_you": r"\b(?:can|could|would|will) you\b|\bwould you mind\b",
    "wants_you": r"\b(?:want|need|like|prefer|expect|rather|ask|asked|told) you\b|\bi would rather you\b",
    "must": r"\b(?:must|should|has to|have to|needs? to|supposed to|ought|required|requires?|mandatory|no need)\b",
    "do_not": r"\b(?:do not|does not|not to|stop|quit|avoid|no more|skip|refrain|cease|spare me|drop the|enough)\b",
    "negation": r"\b(?:not|no|never|nothing|nobody|none|neither|without|can not)\b",
    "contrast": r", not\b|\binstead\b|\brather than\b|\bnot [\w ]{1,30} but\b|\bas opposed to\b",
    "prefers": r"\bi (?:would |will |do |really |much |usually |generally |strongly |definitely )*(?:prefer|"
    r"like|love|enjoy|"
    r"hate|dislike|adore|favou?r|despise|loathe)\b|\bfavou?rite\b|\b(?:not|never) (?:a (?:big )?fan|into|keen)\b"
    r"|\b(?:big|huge) fan\b|\bcan not stand\b|\bi would (?:rather|love|like)\b",
    "better": r"\b(?:better|best|easier|beats|ideal|suits?|works? (?:best|better|for me)|helps? me|useless to me|"
    r"too (?:long|short|much|many|small|big|loud|formal|casual|verbose|wordy|detailed|technical|early|late))\b",
    "thanks": r"\b(?:thank\w*|thx|ty|cheers|appreciate\w*|grateful|kudos|legend|you rock|lifesaver|gem|star)\b",
    "praise": r"\b(?:great|perfect|awesome|nice|excellent|lovely|brilliant|wonderful|amazing|good job|well done|"
    r"spot on|exactly)\b",
    "worked": r"\b(?:work(?:ed|s|ing)|(?:that|this|which|\w+s) did it|did (?:the trick|wonders|the job)|"
    r"does the trick|was it|solved|fixed|resolved|helped"
    r"|helps|cured|stopped the|gone now|runs|running (?:again|fine|smoothly)|paid off|the winner|up and running|"
    r"the trick"
    r"|back online|went through|passes|passed|green|turned out (?:great|perfect)|nailed)\b",
    "noted": r"\b(?:btw|by the way|fyi|for your information|for the record|just so you (?:know|have it)|heads up)\b",
    "not_worked": r"\bworks?\b.{0,20}\bbut\b|\b(?:not|never|still|nope|no luck|failed|"
    r"fails)\b[\w ]{0,20}\b(?:work\w*|help\w*|fix\w*|solv\w*)\b",
    "forget": r"\b(?:forget|erase|unlearn|wipe|purge|strike|scratch|scrap|disregard|delete|remove|drop|"
    r"throw (?:away|out)|lose)\b",
    "remember": r"\b(?:remember|keep in mind|bear in mind|note|take note|for the record|for reference|"
    r"do not forget|memorize)\b",
    "memory": rf"\b{_MEMORY}\b",
    "told_before": r"\bi(?: have| had)?(?: just| already| clearly| literally)* (?:said|told|asked|mentioned|"
    r"specified|meant|wanted)\b|\bas i said\b",
    "told_about": r"\b(?:what|that|thing|stuff|everything|bit) i (?:said|told|mentioned|sent|gave|wrote|shared)\b",
    "wrong": r"\b(?:wrong|incorrect|mistake\w*|mixed up|misread|misunderst\w+|outdated|not (?:right|true|"
    r"correct|what|it|quite)|typo)\b",
    "you_did": r"\byou (?:used|did|forgot|missed|sent|wrote|put|keep|kept|ignored|skipped|gave|made|left|added|"
    r"changed|have|called|"
    r"deleted|ran|assumed|picked|always|never)\b",
    "actually": r"\b(?:actually|in fact|turns out|correction|to be clear|to clarify|second thought|scratch that)\b",
    "now": r"\b(?:now|these days|nowadays|currently|as of|at present)\b",
    "no_longer": r"\b(?:no longer|anymore|any more|any longer|used to|not .{1,30} since|gone|is over|are over|"
    r"history)\b",
    "changed": r"\b(?:moved|switched|changed|renamed|upgraded|migrated|replaced|swapped|turned|became|left|quit|"
    r"started|joined|"
    r"bought|got|sold|new|dropped|ditched|retired|instead|back (?:to|on))\b",
    "until": r"\b(?:until|till|til|through|for the (?:next|coming|rest)|this (?:week|month|quarter|year|sprint|"
    r"summer|winter|weekend)"
    r"|temporarily|for now|the time being|next (?:two|three|few|couple|\d+)|back on|for (?:a|two|three|"
    r"\d+) (?:days?|weeks?|months?))\b",
    "today": r"\b(?:today|tonight|tomorrow|yesterday|this (?:morning|afternoon|evening)|right now|at the moment|"
    r"last (?:night|week|month))\b",
    "if": r"^(?:and |but |so |hey |ok )?(?:if|suppose|imagine|say|assuming|pretend|let us say|what if|"
    r"hypothetically|picture)\b",
    "would": r"\b(?:would|could|might)\b",
    "if_i": r"\bif (?:i|we|someone|somebody|one|they) (?:had|were|was|bought|could|did|ever|got|kept|went|lost|"
    r"wanted|used|would)\b",
    "reports": rf"\b(?:my|our|the|his|her|a) (?:\w+ )?{_KIN}\b[\w ]{{0,15}}\b{_SAYS}\b|\b(?:he|she|they|people|"
    rf"everyone|someone) {_SAYS}\b",
    "says_colon": r"\b(?:says?|said|wrote|writes|reads?|states?|email|mail|message|review|log|output|article|"
    r"post)\b[^:]{0,40}:",
    "kin": rf"\bmy (?:\w+ )?{_KIN}\b",
    "he_she": r"\b(?:he|she|his|her|him)\b",
    "they": r"\bthey\b",
    "let_us": r"\blet us\b|\bshall we\b",
    "here": r"\b(?:here|this|that|these|those)\b",
    "it": r"\bit\b",
    "am": r"\bi am\b|\bwe are\b",
    "have": r"\b(?:i|we)(?: have| had)?(?: also| only| just)? (?:have|got|own|had|run|use|take|live|work|manage|"
    r"drive|teach)\b",
    "name": r"\b(?:my name|name is|call me|i am called|goes by|go by)\b",
    "i_past": r"\b(?:i|we) (?:just |already |finally )?(?:was|were|\w+ed|did|went|got|tried|ran|sent|made|lost|"
    r"had|took|found)\b",
    "want": r"\bi (?:want|need|would like|am looking|am trying|am going)\b",
    "trouble": r"\b(?:error|crash\w*|fail\w*|bug|broken|stuck|slow|problem|issue|not working|does not work|weird)\b",
    "deictic": r"^(?:please )?(?:do|make|fix|try|send|run|undo|redo|show|give|change|move|put|delete|close|"
    r"restart) (?:it|this|that|me|them)\b",
    "number": r"\d",
    "lol": r"\b(?:lol|haha+|hah|lmao|rofl|hehe|wtf|omg|jeez|damn|yay|phew)\b|[:;]-?[)(dp]",
    "sure_thing": r"\b(?:sure|right|great|wonderful|fantastic|lovely)\b.*\b(?:thanks a lot|what a (?:gift|joy|"
    r"surprise)|as if|because that)\b",
    "subscribe": r"\b(?:i am|we are) (?:a|an|the|on|in|at|from|based|allergic|vegan|vegetarian)\b",
    "since": r"\b(?:since|for years|for ages|years? (?:old|ago)|born)\b",
    "unit": r"\d ?(?:kg|lbs?|cm|km|mg|gb|mb|ms|am|pm|%|percent|euros?|dollars?|usd|eur|hours?|hrs?|minutes?|"
    r"mins?|people|nodes|"
    r"rooms|users|spaces|years?)\b|[$€£]\d",
}  # fmt: skip
_AFTER_NO = frozenset(
    "one idea problem worries wait that it i we you the this thanks need longer way matter doubt clue luck".split()
)
_WANTS = later(r"i (?:would (?:like|love|prefer|rather)|want|need|prefer) (?!to |it to |this |that )")
_COMPILED = {name: later(pattern) for name, pattern in _PATTERNS.items()}

_STRUCTURE = (
    *(
        "starts_i",
        "starts_my",
        "starts_verb",
        "starts_denial",
        "starts_wh",
        "starts_aux",
        "starts_gerund",
        "starts_noun",
        "starts_past",
    ),
    *(
        "no_noun",
        "wants",
        "question",
        "exclaims",
        "quoted",
        "code",
        "colon",
        "parenthesis",
        "name_inside",
        "no_verb",
        "first_person",
    ),
    *("one_word", "few_words", "some_words", "many_words", "very_many_words"),
    *("opening", "answers", "after_statement", "shares_with_agent", "shares_nothing"),
)
NAMES: tuple[str, ...] = (*_PATTERNS, *_STRUCTURE)
_FIRST = frozenset("i we me us my our mine ours myself".split())
_FINITE = frozenset(
    "is are am was were be been do does did have has had can could will would should must may might".split()
)


class Surface(Struct, frozen=True):
    """A sentence as the reader sees it at first sight."""

    text: str
    heard: tuple[Word, ...]
    low: str  # lower case, spelling mended, contractions opened, words parted by single blanks
    core: tuple[str, ...]  # the words after fillers, marks left out
    cues: frozenset[str]

    def has(self, *names: str) -> bool:
        return any(name in self.cues for name in names)


def surface(text: str, before: str = "") -> Surface:
    """The sentence with its cues; `before` is what the agent had said just before it."""
    heard = tuple(words(text))
    low = " ".join("…" if word.opaque else word.low for word in heard)
    core = _core(heard)
    found = {name for name, pattern in _COMPILED.items() if pattern.search(low)}
    found |= set(_structure(text, heard, core)) | set(_beside(heard, before))
    return Surface(text, heard, low, core, frozenset(found))


def _core(heard: Sequence[Word]) -> tuple[str, ...]:
    """Without fillers in front, and without a 'no' that only denies."""
    start, last = 0, len(heard) - 1
    while start < last:
        low, after = heard[start].low, heard[start + 1]
        denies = low in _DENIALS - {"not", "stop"} and (after.is_mark or after.low in _SUBJECTS | {"no", "use", "do"})
        if not (heard[start].is_mark or low in FILLERS or denies):
            break
        start += 1
    return tuple(word.low for word in heard[start:] if not word.is_mark)


# "Add a memo to each, ok?" asks for nothing but a nod.
_TAGGED = later(r", (?:ok|alright|please|deal|got it|understood) \?+$")


def is_question(heard: Sequence[Word], core: Sequence[str]) -> bool:
    """By its mark, or by its order of words."""
    if any("?" in word.low for word in heard[-3:] if word.is_mark):
        return not _TAGGED.search(" ".join(word.low for word in heard[-4:]))
    first, second = [*core, "", ""][:2]
    if first in _WH - {"when", "which"}:
        return second in _ASKING or second in ("about", "many", "much", "come", "long", "to", "far", "often", "old")
    if first in _ASKS_ALONE:
        return second != "not" and len(core) > 2
    return first in _ASKING and second in _SUBJECTS


def _structure(text: str, heard: Sequence[Word], core: Sequence[str]) -> list[str]:
    first, second = [*core, "", ""][:2]
    subject = second in _SUBJECTS - {"my", "our", "your", "his", "her", "their", "the", "a", "an", "that", "this", "it"}
    signs = {
        "starts_i": first in ("i", "we"),
        "starts_my": first in ("my", "our", "ours", "mine"),
        "starts_verb": verbs.is_base(first) and not subject,
        "starts_denial": bool(heard) and heard[0].low in _DENIALS,
        "starts_wh": first in _WH,
        "starts_aux": first in _ASKING,
        "starts_gerund": verbs.is_gerund(first),
        "starts_past": verbs.is_past(first),
        "starts_noun": first in ("the", "a", "an", "this", "these", "those", "all", "every", "any")
        or first not in _SUBJECTS,
        "no_noun": first == "no" and second not in _AFTER_NO,
        "wants": first == "i" and bool(_WANTS.match(" ".join(core))),
        "question": is_question(heard, core),
        "exclaims": "!" in text,
        "quoted": any(word.opaque and word.low[0] in "\"'" for word in heard),
        "code": any(word.opaque and word.low[0] == "`" for word in heard),
        "colon": ":" in text,
        "parenthesis": "(" in text,
        "name_inside": any(word.text[:1].isupper() and word.low not in _FIRST for word in heard[1:]),
        "no_verb": not any(low in _FINITE or verbs.base(low) for low in core),
        "first_person": any(low in _FIRST for low in core),
    }
    lengths = [(1, "one_word"), (4, "few_words"), (10, "some_words"), (22, "many_words"), (10**6, "very_many_words")]
    return [
        *(name for name, shown in signs.items() if shown),
        next(name for most, name in lengths if len(core) <= most),
    ]


def _beside(heard: Sequence[Word], before: str) -> list[str]:
    """How the sentence stands to what the agent had said."""
    if not before.strip():
        return ["opening"]
    said = {word.low for word in heard if len(word.low) > 3 and not word.is_mark}
    shared = sum(low in before.lower() for low in said)
    asked = before.rstrip().endswith("?")
    return ["answers" if asked else "after_statement", "shares_with_agent" if shared else "shares_nothing"]
