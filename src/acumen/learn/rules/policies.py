"""What a speaker always does, wants and likes, where it is a rule for the agent too."""

from dataclasses import replace

from acumen.learn.rules import keys, verbs
from acumen.learn.rules.aims import OUTPUT, points, recurs
from acumen.learn.rules.cues import Cue
from acumen.learn.rules.heard import Directive, Heard, made

_NO_POLICIES = frozenset(
    "know think get feel see hear understand remember have be seem find forget believe hope lose struggle "
    "figure".split()
)
# What people do or leave for themselves; no rule for an agent.
_PRIVATE = frozenset(
    "eat drink live own drive smoke celebrate speak watch play sleep travel enjoy care mind agree work date "
    "attend belong".split()
)
WISHES = frozenset("prefer like love hate dislike want need appreciate expect rather".split())


def policy(heard: Heard) -> Directive | None:
    """'we never deploy on Fridays', 'we only use Postgres', 'I prefer short answers'."""
    framed = heard.frame
    by_team = bool(framed.subject) and framed.subject[0].low == "we"
    if heard.has(Cue.QUESTION) or not framed.verb or framed.verb in _NO_POLICIES:
        return None
    if framed.verb in WISHES or framed.modal == "would":
        return _wished(heard)
    if framed.past or framed.perfect:
        return _settled(heard) if by_team and heard.setting.answered and framed.verb in _SETTLED else None
    if framed.progressive or (heard.has(Cue.TROUBLE) and not heard.has(Cue.DENIAL)):
        return None
    if by_team and framed.verb in _DECREES:
        return _decreed(heard)
    confidence = _policy_confidence(heard, by_team=by_team)
    return made(heard, framed, wanted=not framed.negated, confidence=confidence) if confidence else None


# How a team comes to use what it uses: "we've standardized on ruff".
_SETTLED = frozenset("standardize standardise switch move settle agree adopt migrate change".split())


def _settled(heard: Heard) -> Directive | None:
    rest = heard.frame.rest
    unled = -1 if heard.frame.verb == "adopt" else None
    at = next((n for n, word in enumerate(rest) if word.low in ("on", "to", "upon")), unled)
    if at is None or not rest[at + 1 :]:
        return None
    framed = replace(heard.frame, verb="use", verb_word=None, rest=rest[at + 1 :], past=False, perfect=False)
    return None if points(framed) else made(heard, framed, wanted=True, confidence=0.6)


_DECREES = frozenset("require enforce mandate insist forbid ban prohibit disallow".split())


def _decreed(heard: Heard) -> Directive | None:
    """'we require two reviewers' → require two reviewers; 'we forbid force pushes' → do not use force pushes."""
    framed = heard.frame
    if framed.verb in ("forbid", "ban", "prohibit", "disallow"):
        return made(heard, replace(framed, verb="use", verb_word=None, negated=True), wanted=False, confidence=0.75)
    return made(heard, framed, wanted=not framed.negated, confidence=0.75)


def _policy_confidence(heard: Heard, *, by_team: bool) -> float:
    """What 'we' always do is a rule; what 'I' do is one when it corrects the agent. 0 when it is none."""
    framed = heard.frame
    if (
        not framed.modal
        and framed.adverbs & {"always", "never", "only"}
        and (by_team or heard.corrects or "only" in framed.adverbs)
    ):
        return 0.85
    if points(framed) or not framed.rest:
        return 0
    if framed.modal:
        ruled = framed.negated or framed.habitual or (framed.modal == "must" and heard.has(Cue.STANDING))
        return 0.7 if by_team and ruled and framed.modal in ("must", "should", "can", "may") else 0
    if by_team and framed.negated and framed.verb not in _PRIVATE:
        return 0.65
    if heard.corrects and (by_team or heard.spare or framed.negated):
        return 0.7
    if by_team and any(clause.marker and recurs(clause) for clause in heard.reading.situations):
        return 0.6
    return 0.55 if by_team and heard.setting.retort and framed.verb not in _PRIVATE else 0


def _wished(heard: Heard) -> Directive | None:
    """A taste is a lesson when it is about what the agent makes, or corrects it."""
    framed, rest = heard.frame, heard.frame.rest
    if not rest or framed.past:
        return None
    if framed.verb == "rather":
        turned = replace(framed, verb=rest[0].low, rest=rest[1:], modal="")
        acts = verbs.is_base(rest[0].low) and rest[0].low not in ("have", "be") and not points(turned)
        return made(heard, turned, wanted=not framed.negated, confidence=0.65) if acts else None
    if rest[0].low in ("to", "you", "your", "it", "that", "this", "the", "a", "an", "how", "when", "me"):
        return None
    about_output = any(word.low in OUTPUT for word in rest) or (heard.setting.answered and keys.typed(rest) is not None)
    spared = framed.negated and about_output
    lasting = framed.verb not in ("want", "need", "expect") or spared or heard.has(Cue.STANDING) or framed.habitual
    if not ((about_output and lasting) or heard.corrects):
        return None
    wanted = (framed.verb not in ("hate", "dislike")) != framed.negated
    verb = "give" if framed.verb in ("want", "need", "expect") else "use"
    turned = replace(framed, verb=verb, verb_word=None, modal="", negated=not wanted)
    if verbs.is_gerund(rest[0].low):
        turned = replace(turned, verb=verbs.base(rest[0].low) or verb, rest=rest[1:])
    return made(heard, turned, wanted=wanted, confidence=0.65)
