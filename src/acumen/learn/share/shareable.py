"""Whether a lesson can be one for all users: an instruction about something, nobody's private matter. Pure.

What fails here is not proposed: no reviewer could approve "It is frustrating.", "Do it again." or "I live in Paris."
"""

from functools import lru_cache

from acumen.model.text import STOPWORDS, sentences, words

# Without any of these, a sentence is an instruction only if it begins with its verb.
_OBLIGING = frozenset("must should shall always never need needs require requires required only avoid prefer".split())
# What may come before the verb of an instruction.
_LEADING = frozenset(
    "please always never do not also just so and but then ok instead rather only remember to be sure".split()
)
_SITUATION = frozenset("when whenever if before after once while during for in on at with unless until".split())
# An instruction does not begin with these.
_NO_VERBS = frozenset(
    "a an the this that these those it its he she they them his her their there here i me my mine we us our you your "
    "is are was were am been being has had does did can could will would may might what who whom whose which how why "
    "where of by from to as than about yes no hi hello hey thanks thank sorry great good bad nice fine cool wow lol "
    "maybe perhaps yesterday today tomorrow very really too more most much many some any all both each every one two "
    "every everything nothing something anything someone everyone nobody and or because since".split()
)
# Verbs that are too common to be content words, and yet take an object.
_PLAIN_VERBS = frozenset("use using keep make give put get go let try switch change prefer want need ensure".split())
# Say too little to be an object.
_VAGUE = frozenset(
    "again right wrong better best good bad great fine ok okay same way well frustrating annoying confusing problem "
    "issue question idea today tomorrow yesterday later soon now then mistake mistakes care careful carefully helpful "
    "happy sorry sad tired weather thanks thank mind help work works working did done said told".split()
)
# "I am", "I have": facts about the writer. "I want", "I said" in an instruction are not.
_WISHES = frozenset("want prefer need would expect say said ask asked tell told approve confirm agree".split())
_BEFORE_WISH = _SITUATION | frozenset("as what that how whatever which than because".split())
_PRIVATE = frozenset(
    "wife husband spouse partner girlfriend boyfriend son daughter kid kids child children baby mother father mom mum "
    "dad parents sister brother family grandmother grandfather aunt uncle cousin fiance birthday wedding divorce "
    "pregnant pregnancy doctor therapist dentist diagnosis allergy allergies allergic medication disease illness "
    "salary mortgage debt address apartment home hometown religion church hobby hobbies dog cat pet name age".split()
)


@lru_cache(maxsize=4096)
def shareable(content: str) -> bool:
    """Whether some sentence of it is an instruction, and none is a private matter."""
    if "?" in content[-3:]:
        return False
    read = [[word for word in words(sentence) if word == "," or _has_letters(word)] for sentence in sentences(content)]
    return any(map(_instructs, read)) and not any(map(_private, read))


def _has_letters(word: str) -> bool:
    return any(map(str.isalnum, word))


def _instructs(sentence: list[str]) -> bool:
    """A verb of action at its beginning, or a word that obliges; and an object that is not only "it" or "that"."""
    rest = _after_situation(sentence)
    ours = rest[:1] == ["we"]  # "We deploy with Terraform": a convention; "we moved" is none
    while rest and (rest[0] in _LEADING or rest[0] == "we"):
        rest = rest[1:]
    if not rest:
        return False
    imperative = rest[0] not in _NO_VERBS and not rest[0].endswith(("ing", "ly", "ed") if ours else ("ing", "ly"))
    if not imperative and not _OBLIGING.intersection(sentence) and not {"not", "no"} & set(sentence[:4]):
        return False
    named = {word for word in sentence if word not in _VAGUE and (word not in STOPWORDS or word in _PLAIN_VERBS)}
    objects = named - {","} - _PLAIN_VERBS - ({rest[0]} if imperative else set())
    return bool(objects) and (len(named - {","}) > 1 or _is_ban(sentence))


def _is_ban(sentence: list[str]) -> bool:
    """A short but complete instruction: "No emojis"."""
    return sentence[0] in ("no", "never", "only", "always") and "," not in sentence[:2]


def _after_situation(sentence: list[str]) -> list[str]:
    """What follows "When deploying, …"; the whole where it does not begin with a situation."""
    if sentence and sentence[0] in _SITUATION and "," in sentence[:-1]:
        return sentence[sentence.index(",") + 1 :]
    return sentence


def _private(sentence: list[str]) -> bool:
    for place, word in enumerate(sentence):
        after = sentence[place + 1 : place + 3]
        before = sentence[place - 1] if place else ""
        if word == "i" and before not in _BEFORE_WISH and not _WISHES.intersection(after):
            return True
        if word in ("my", "our", "his", "her") and _PRIVATE.intersection(after):
            return True
    return False
