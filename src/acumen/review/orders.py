"""Recognise text that tries to command the agent's host rather than to inform it. Pure.

A lesson tells an agent how to do its work. What is looked for here reaches further: it overrides other instructions,
asks for secrets, sends data away, hides from the user, runs what it fetches, or poses as part of the prompt's frame.
"""

import hashlib
import re

from msgspec import Struct

from acumen.model.lazy_regex import lazy_regex

_SECRETS = (
    r"(?:system prompt|hidden prompt|credentials?|passwords?|api[ _-]?keys?|secret(?:s| keys?)?|access tokens?"
    r"|private keys?|environment variables|\.env\b|ssh keys?)"
)
_DATA = rf"(?:{_SECRETS}|conversation|chat history|transcript|messages|customer data|user data|personal data)"
_ELSEWHERE = r"(?:https?://|ftp://|www\.|[\w.+-]+@[\w-]+\.\w+|webhook|pastebin)"

_OTHERS = r"(?:previous|prior|above|earlier|all|any|other|system|safety|your)"
_RULES = r"(?:instructions?|prompts?|rules|guidelines|guardrails|polic(?:y|ies)|restrictions)"
_OVERRIDE = rf"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{{0,40}}\b{_OTHERS}\b[^.\n]{{0,30}}\b{_RULES}"
_ASK = r"\b(?:reveal|print|output|show|repeat|leak|disclose|dump|expose|tell me|share)\b"
_SEND = r"\b(?:send|post|upload|forward|exfiltrate|transmit|e-?mail|copy|leak|append|encode)\b"
_PERSON = r"(?:the |your )?(?:user|human|customer|operator|owner)\b"
_SECRETLY = rf"\bwithout (?:telling|informing|notifying|alerting) {_PERSON}"
_UNTOLD = rf"\b(?:do not|don't|never) (?:tell|inform|notify|alert) {_PERSON} (?:about|of|that) (?:this|it|these|you)\b"
_FRAME = r"<\|?\s*/?\s*(?:im_start|im_end|system|assistant|endoftext|acumen-context)\s*\|?>|\[/?INST\]|<<SYS>>"

_PATTERNS = (
    ("overrides other instructions", _OVERRIDE),
    ("overrides other instructions", r"\b(?:new|updated|real) (?:system )?instructions?\s*:"),
    ("changes who the agent is", r"\byou are (?:now|no longer)\b|\b(?:developer|god|dan|jailbreak) mode\b"),
    ("asks for secrets", rf"{_ASK}[^.\n]{{0,40}}{_SECRETS}"),
    ("sends data away", rf"{_SEND}[^.\n]{{0,60}}{_DATA}[^\n]{{0,80}}{_ELSEWHERE}"),
    ("sends data away", r"!\[[^\]]*\]\(\s*https?://[^)]*(?:\{|%7b|\$\(|=\s*<)"),
    ("hides from the user", rf"{_SECRETLY}|{_UNTOLD}"),
    ("runs what it fetches", r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n|;]{0,200}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b"),
    ("destroys files", r"\brm\s+-[a-z]*r[a-z]*\s+(?:/|~|\*)"),
    ("poses as part of the prompt", _FRAME),
)
_COMPILED = tuple((what, lazy_regex(pattern, re.IGNORECASE)) for what, pattern in _PATTERNS)
# Characters that a reader does not see and a model reads: tags, directions, zero width.
_UNSEEN = lazy_regex("[\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_WORDS_SHOWN = 80


class Order(Struct, frozen=True):
    """What gives a text away, and the words that do."""

    what: str
    words: str

    def detail(self, text: str) -> dict[str, str]:
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return {"what": self.what, "words": self.words, "digest": digest}


def order_in(text: str) -> Order | None:
    """The first one found, or None for a text that only informs."""
    if len(_UNSEEN.findall(text)) >= 3:
        return Order("hides characters", "characters that cannot be seen")
    plain = _UNSEEN.sub("", text)
    for what, pattern in _COMPILED:
        found = pattern.search(plain)
        if found:
            return Order(what, found.group()[:_WORDS_SHOWN])
    return None
