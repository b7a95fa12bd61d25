"""Whether a lesson can be shared with all users: an instruction with an object, and not a private matter. Pure.

Others are not proposed: no reviewer could approve "It is frustrating.", "Do it again." or "I live in Paris."
"""

from functools import lru_cache
from itertools import dropwhile

from acumen.learn.share.vocabulary import listed
from acumen.model.sentences import sentences
from acumen.model.text import STOPWORDS, words

_OBLIGING, _LEADING, _SITUATION, _NO_VERBS = map(listed, ("obliging", "leading", "situation", "no_verbs"))
_PLAIN_VERBS, _VAGUE, _WISHES, _PRIVATE = map(listed, ("plain_verbs", "vague", "wishes", "private"))
_ADVERBS, _COPULAS = listed("obliging_adverbs"), listed("copulas")
_BEFORE_WISH = _SITUATION | listed("before_wishes")


@lru_cache(maxsize=4096)
def shareable(content: str) -> bool:
    if "?" in content[-3:]:
        return False
    read = [
        [word for word in words(sentence.text) if word == "," or _has_letters(word)] for sentence in sentences(content)
    ]
    return any(map(_instructs, read)) and not any(map(_private, read))


def _has_letters(word: str) -> bool:
    return any(map(str.isalnum, word))


def _instructs(sentence: list[str]) -> bool:
    """A verb of action at its beginning, or a word that obliges; and an object that is not only "it" or "that"."""
    clause = _after_situation(sentence)
    ours = clause[:1] == ["we"]  # "We deploy with Terraform" is a convention, "we moved" is not
    clause = list(dropwhile(_LEADING.__contains__, clause))
    if not clause:
        return False
    ban = clause[0] == "no" and len(clause) > 1 and clause[1] not in _NO_VERBS and clause[1] not in (",", "matter")
    imperative = _begins_with_verb(clause, ("ing", "ly", "ed") if ours else ("ing", "ly"))
    if not (imperative or ban or _obliges(sentence)):
        return False
    named = {word for word in sentence if word not in _VAGUE and (word not in STOPWORDS or word in _PLAIN_VERBS)}
    return bool(named - {","} - _PLAIN_VERBS - ({clause[0]} if imperative else set()))


def _begins_with_verb(clause: list[str], endings: tuple[str, ...]) -> bool:
    """Whether it begins with its verb, not with its subject as "Fresh Earth is …" does."""
    if clause[0] in _NO_VERBS or clause[0].endswith(endings):
        return False
    takes_clause = clause[1:2] != [] and clause[1] in _NO_VERBS - _COPULAS  # "Check that it is …"
    return takes_clause or not _COPULAS.intersection(clause[1:4])


def _obliges(sentence: list[str]) -> bool:
    adverb = next((place for place, word in enumerate(sentence) if word in _ADVERBS), None)
    describes = adverb is None or sentence[0] in _NO_VERBS or sentence[max(adverb - 1, 0)] in _COPULAS
    wishes = sentence[0] == "i" and bool(_WISHES.intersection(sentence[1:3]))
    return bool(_OBLIGING.intersection(sentence)) or not describes or wishes


def _after_situation(sentence: list[str]) -> list[str]:
    """The words after "When deploying, …"; all of them where the sentence does not begin with a situation."""
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
