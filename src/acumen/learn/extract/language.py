"""The language of a short text, by its script and its most common words. Pure."""

import re

_SCRIPTS = (
    ("Japanese", re.compile(r"[\u3040-\u30ff]")),  # before Chinese: Japanese has its characters, too
    ("Chinese", re.compile(r"[\u4e00-\u9fff]")),
    ("Korean", re.compile(r"[\uac00-\ud7af]")),
    ("Russian", re.compile(r"[\u0400-\u04ff]")),
    ("Arabic", re.compile(r"[\u0600-\u06ff]")),
    ("Hindi", re.compile(r"[\u0900-\u097f]")),
    ("Thai", re.compile(r"[\u0e00-\u0e7f]")),
)
_COMMON = {
    "English": "the is are was to of and in my i i'm for with user user's not it on at has have will this that you",
    "German": "der die das ist und ich nicht in im zu mit mein meine von den dem ein eine nutzer nutzerin heißt am für",
    "Spanish": "el la los las es y en de mi no un una con por que del usuario usuaria soy para su al yo se desde",
    "French": "le la les est et je ne pas un une en de du des mon ma avec pour que sur l'utilisateur à au dans j'ai",
    "Portuguese": "o os é e em de do da não um uma com que meu minha eu usuário para no na por tenho às",
    "Italian": "il lo gli è e di che non un una mio mia con per io utente sono del della nel ho in al",
    "Dutch": "de het een is en van ik niet in op mijn met voor gebruiker te dat aan",
}
_WORDS = {language: frozenset(words.split()) for language, words in _COMMON.items()}
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# Characters of another script than Latin, or common words, that decide: one may be a name, or a word of two languages.
_ENOUGH = 2


def language_of(text: str) -> str:
    """Its English name; empty when the text is too short or two languages are as likely."""
    for language, script in _SCRIPTS:
        if len(script.findall(text)) >= _ENOUGH:
            return language
    words = [word.replace("’", "'") for word in _WORD.findall(text.lower())]
    scores = sorted(((sum(word in common for word in words), name) for name, common in _WORDS.items()), reverse=True)
    (most, language), (next_most, _) = scores[:2]
    return language if most >= _ENOUGH and most > next_most else ""
