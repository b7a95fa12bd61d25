"""Whether a sentence says yes, or that something worked."""

from acumen.learn.rules import keys
from acumen.learn.rules.cues import surface
from acumen.learn.rules.lessons import advice, is_proposal
from acumen.learn.rules.said import Said
from acumen.model.patterns import later

# So few words without a verb must be this clear.
FEW = 5
CLEAR = 0.75
# And what is said out of nowhere, when a session begins: "that easy pace was the trick".
SURELY = 0.9
# Beside words that the agent used.
CONFIRMED = 0.4


def affirms(one: Said) -> bool:
    """'Yes' to a question of how things are; to an offer it only sends the agent off."""
    asked = one.setting.asked.lower()
    return bool(asked) and len(one.seen.core) <= FEW and not _OFFERS.search(asked) and not one.seen.has("starts_denial")


def is_yes(one: Said) -> bool:
    """A bare 'yes' to a question that names something."""
    yes = {word.low for word in one.seen.heard if not word.is_mark} <= _YES
    return yes and affirms(one) and surface(one.setting.asked).has("number", "name_inside")


_YES = frozenset("yes correct exactly right indeed true precisely that it is sure still ok".split())
_OFFERS = later(
    r"\b(?:shall|should|may|can|could|let) (?:i|we)\b|\b(?:want|like|need) me to\b|\byou (?:want|like|need|prefer)\b|"
    r"\b(?:anything|something) else\b|\b(?:did|does|has|is) (?:that|this|it) (?:help|work|fix|solve)"
)


def confirms(one: Said) -> bool:
    """That it worked, said of what the agent had said or of what the user names; 'correct' alone confirms nothing."""
    if one.seen.has("not_worked") or (not one.setting.agent and one.chances["confirmation"] < SURELY):
        return False
    if one.seen.has("no_longer") and not one.seen.has("worked"):
        return False
    if affirms(one):
        return True
    if not one.seen.has("worked") and (one.seen.has("negation") or _FORETELLS.search(one.seen.low)):
        return False
    told = advice(one.setting.agent, one.seen.heard)
    shared = keys.content_roots(told) & set(keys.telling(one.seen.heard))
    if one.chances["confirmation"] >= CLEAR and len(one.seen.core) > FEW:
        return True
    return bool(shared and one.chances["confirmation"] >= CONFIRMED) or (
        one.seen.has("worked") and (is_proposal(told) or not one.seen.has("no_verb"))
    )


# "Helm will overwrite the secrets": what is feared has not worked.
_FORETELLS = later(r"\b(?:will|would|wo|is going to|are going to|might|could)\b")
