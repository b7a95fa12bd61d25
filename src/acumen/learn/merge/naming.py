"""Which memories a request to forget names. What is not recognisable is not forgotten."""

import re
from collections.abc import Sequence

from acumen.learn.extract.attributes import named_attribute
from acumen.learn.merge.entries import Entry
from acumen.learn.merge.words import USER, Words, words
from acumen.model.lazy_regex import lazy_regex
from acumen.model.text import stem

# "Where my sister lives", "who our plumber is".
_QUESTION = lazy_regex(r"(?:where|when|what|who|how|which)(?: \w+)?? (?=(?:i|i'm|we|my|our)\b)", re.IGNORECASE)
_COPULA = lazy_regex(r" (?:is|are|am|was|were)$", re.IGNORECASE)


def named(target: str, entries: Sequence[Entry]) -> list[Entry]:
    """What the whole target names, else what it names before its first comma: "…, that was my brother" is a reason."""
    return _named(target, entries) or _named(target.partition(",")[0], entries)


def _named(target: str, entries: Sequence[Entry]) -> list[Entry]:
    """Those with the attribute that is named, else with the phrase itself, else with all words of it that matter."""
    if subject := named_attribute(target):
        return [entry for entry in entries if _attribute_of(entry) == subject]
    phrase = words(_COPULA.sub("", _QUESTION.sub("", target.strip(" .!"))))
    if phrase.subject == USER:  # "that I'm allergic to nuts" is not "I'm not allergic to nuts"
        entries = [entry for entry in entries if entry.words.negated == phrase.negated]
    literal = [entry for entry in entries if entry.words.has_phrase(phrase) and not _of_another(phrase, entry)]
    if literal:
        exact = [entry for entry in literal if entry.words.core == phrase.core]
        return exact or literal
    worded = [entry for entry in entries if entry.words.contains(phrase) and _agrees(phrase, entry)]
    if worded or target.isascii():
        return worded
    return [entry for entry in entries if _inflected(phrase, entry.words)]


def _inflected(phrase: Words, text: Words) -> bool:
    """Whether the text has each word of the phrase in some form: "о моей собаке", "моя собака". English has stems."""
    named = [word for word in phrase.plain.split() if word != "my" and len(word) >= SHORTEST]
    forms = text.plain.split()
    return bool(named) and all(
        any(form.startswith(word[: max(SHORTEST, len(word) - 2)]) for form in forms) for word in named
    )


# Letters of a word that names something; shorter ones are prepositions.
SHORTEST = 3


def _attribute_of(entry: Entry) -> str:
    return re.sub(r"^our\b", "my", entry.subject.removeprefix("~"))


def _of_another(phrase: Words, entry: Entry) -> bool:
    """Whose it is: "my dog" is not "my dog walker"; "my sister's address" belongs to my sister."""
    longer = entry.words.subject.removeprefix(phrase.subject)
    return phrase.subject.startswith("my ") and longer[:1] == " " and entry.words.subject.startswith(phrase.subject)


def _agrees(phrase: Words, entry: Entry) -> bool:
    """Another wording counts only when it is about the same person, or has the thing without naming its owner."""
    if not phrase.subject.startswith("my "):
        whole = phrase.subject.startswith("the ") and len(phrase.stems) > 1  # "the red bike" is "a red bike" of before
        return whole or phrase.about_same(entry.words) or not phrase.subject
    head = stem(phrase.subject.rsplit(" ", 1)[-1])
    return phrase.about_same(entry.words) or _possesses(head, entry.text)


def _possesses(head: str, text: str) -> bool:
    """Whether a sentence of the user has the thing: "I have a small dog", not "a dog walker", not "her dog"."""
    low = text.lower().replace("’", "'")
    for match in re.finditer(r"[\w-]+", low):
        if stem(match[0]) == head:
            before, after = low[: match.start()], low[match.end() :]
            return bool(_OWNED.search(before)) and not _COMPOUND.match(after)
    return False


_OWNED = lazy_regex(r"^(?:i|we)\b.*\b(?:an?|one|two|three|\d+|my|our)(?: (?!\w+'s)[\w-]+){0,2} $")
_COMPOUND = lazy_regex(r" (?!called|named|and|who|that|which|with|in|at|on|for|from|now|since|of|or)[a-z]")
