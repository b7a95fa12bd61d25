"""Detect prompt injection: text that commands the agent that reads it. Pure.

Tools, users and strangers write what agents report. `detect` reads such text strictly: nothing it finds is quoted in a
lesson, and text that commands becomes no lesson before a person has looked. A lesson itself may instruct the agent, so
`detect_in_lesson` looks only for what reaches beyond the work: overriding other instructions, asking for secrets,
sending data away, hiding from the user, running downloads, posing as part of the prompt.
"""

import hashlib
import re
import unicodedata

from msgspec import Struct

from acumen.model.lazy_regex import lazy_regex
from acumen.model.secrets import redact

# Only this many characters are checked.
LONGEST = 20_000

COMMAND = "commands the reader"
ROLE = "poses as a role"
HOST = "commands the host"
ADDRESS = "leads elsewhere"
BLOB = "is encoded"
INVISIBLE = "hides characters"
SECRET = "holds a secret"  # noqa: S105 - its name, not one
MARKUP = "is markup that acts"

# Text with one of these becomes no lesson before a person has looked, not even without its words.
COMMANDING = frozenset({COMMAND, ROLE, INVISIBLE, MARKUP})


def _any(words: str) -> str:
    """One of these, as a whole word; a comma counts as a space inside one."""
    return rf"\b(?:{'|'.join(word.replace(',', ' ') for word in words.split())})\b"


_RULES = _any(
    "instructions? rules? prompts? guardrails? guidelines? polic(?:y|ies) safety above previous prior restrictions? "
    "directives? constraints? confirmation checks? approval reviews? filters?"
)
_SECRETS = _any(
    "system,prompt prompts? instructions credentials? secrets? api[,_-]?keys? passwords? env(?:ironment)? "
    "(?:access|auth|api)[,_-]?tokens? memor(?:y|ies)"
)
_ACTIONS = _any(
    "run execute call disable delete curl wget chmod send download install paste export set use open visit grant "
    "turn,off ignore eval"
)
_READER = _any("assistant agent ai model llm claude gpt chatbot bot")
_VERBS = _any(
    "you always never run call execute use send delete ignore open approve do stop write tell set treat install"
)

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, lazy_regex(pattern, re.IGNORECASE))
    for name, pattern in (
        (COMMAND, _any("ignore disregard forget override bypass skip drop") + ".{0,40}" + _RULES),
        (
            COMMAND,
            _any("new updated real actual true following hidden secret important")
            + r"\s+(?:system\s+)?"
            + _any("instructions? directives? orders? prompts? task goal objective polic(?:y|ies)"),
        ),
        (COMMAND, r"\byou (?:are now|must now|must always|should now|will now|have to now|are no longer|shall)\b"),
        (
            COMMAND,
            r"\b(?:from now on|henceforth|as of now|going forward)\b.{0,30}"
            + _any("you always never every all act do send use run approve answer respond treat obey"),
        ),
        (
            COMMAND,
            _any("reveal print repeat show output leak expose disclose tell,me give,me dump summari[sz]e")
            + ".{0,40}"
            + _SECRETS,
        ),
        (
            COMMAND,
            _any("act behave respond roleplay role-play pretend answer pose")
            + r"\s+(?:as|to be|like)\s+"
            + _any("an? the if my root admin dan developer system"),
        ),
        (
            COMMAND,
            _any("add save store remember record write append put persist insert")
            + r".{0,40}\b(?:to|in|into|as)\b.{0,20}"
            + _any("memor(?:y|ies) playbooks? rules? lessons? instructions? knowledge context"),
        ),
        (
            COMMAND,
            r"\b(?:do not|don't|never)\s+(?:tell|inform|mention|ask|alert|notify|warn)\b.{0,30}"
            + _any("user human anyone owner admin operator reviewer person them"),
        ),
        (
            COMMAND,
            _any("jailbreak dan,mode developer,mode god,mode sudo,mode unrestricted,mode prompt,injection"),
        ),
        (
            COMMAND,
            _any("send post forward upload e-?mail exfiltrate transmit copy transfer wire")
            + r".{0,60}\b(?:to|at)\b.{0,40}(?:@|https?:|\b(?:webhook|attacker|server|account|external|iban)\b)",
        ),
        (
            COMMAND,
            _any("approve merge delete remove disable turn,off grant whitelist allow escalate transfer wipe drop erase")
            + ".{0,30}"
            + _any("all every any without automatically immediately silently everything permissions? admin root audit"),
        ),
        (COMMAND, _READER + r"\s*[:,!]\s*(?:please\s+)?" + _VERBS),
        (
            COMMAND,
            r"\b(?:to (?:fix|resolve|solve|continue|proceed|recover)|the (?:fix|solution|workaround) is|fix:|solution:)"
            ".{0,60}" + _ACTIONS,
        ),
        (
            COMMAND,
            (
                r"\b(?:ignoriere?n?|vergiss|ignorez|oubliez|ignora|olvida|ignorar|игнорируй\w*|забудь\w*)\b"
                "|忽略|无视|忘记|無視|تجاهل|무시"
            ),
        ),
        (
            ROLE,
            (
                r"<\s*/?\s*(?:system|assistant|user|human|tool|developer|instructions?|im_start|im_end|admin|function_calls?"
                r"|invoke|thinking)\b[^<>]{0,80}>"
            ),
        ),
        (ROLE, r"<\|[^|<>]{1,40}\|>|\[/?INST\]|<<\s*/?SYS\s*>>|\[/?(?:system|assistant|user)\]"),
        (
            ROLE,
            (
                r"(?:^|\n|[.!?\"'`)]\s|###\s*)(?:system|assistant|human|developer|instruction|user)\s*"
                r"(?:message|prompt|note|override)?\s*:(?!\s*$)"
            ),
        ),
        (
            ROLE,
            r"\b(?:end of|begin(?:ning)? of|start of)\s+(?:system|user|error|data|context|prompt|document|message)\b",
        ),
        (
            HOST,
            (
                r"\b(?:rm\s+-[rf]+|curl\s+\S+|wget\s+\S+|chmod\s+[0-7+]|mkfs\b|dd\s+if=|nc\s+-|bash\s+-[ci]|sh\s+-c"
                r"|powershell|invoke-webrequest|iex\b|certutil|pip\s+install|npm\s+(?:install|i)\b|sudo\s+\w+|scp\s+\S+"
                r"|ssh\s+\S+@|eval\s*\(|exec\s*\(|os\.system|subprocess\.|__import__|crontab|kill\s+-9|drop\s+table"
                r"|truncate\s+table|delete\s+from|shutdown\s+(?:-|now)|git\s+push)"
            ),
        ),
        (HOST, r"[|;&]\s*(?:ba|z|da)?sh\b|`[^`]{1,100}`\s*;|\$\([^)]{1,200}\)|>>?\s*/(?:etc|dev|root|home)/"),
        (HOST, r"(?:^|[\s,;])[=@+-](?:cmd|hyperlink|importxml|importdata|webservice|dde)\b|\bcmd\|"),
        (
            ADDRESS,
            (
                r"\b(?:https?|ftp|file|data|javascript|vbscript|ldap|jndi|gopher|ssh|telnet)\s*:\s*(?://|\S{0,40}[;,(])"
                r"|\b(?:java|vb)script\s*:\s*\S"
            ),
        ),
        (ADDRESS, r"!?\[[^\]\n]{0,200}\]\([^)\n]{1,400}\)|\bwww\.[a-z0-9-]+\.[a-z]{2,}|\$\{[^}]{1,200}\}|\bhxxps?\b"),
        (BLOB, r"(?<![\w/+.-])(?=[A-Za-z0-9+/]{0,200}\d)[A-Za-z0-9+/]{40,}={0,2}(?![\w/-])"),
        (
            BLOB,
            (
                r"(?:\\x[0-9a-f]{2}){6,}|(?:%[0-9a-f]{2}){6,}|(?:\\u[0-9a-f]{4}){4,}|(?:&#x?[0-9a-f]{2,6};){4,}|\bbase64\b"
                r"|\b(?:0x)?[0-9a-f]{64,}\b|\brot13\b"
            ),
        ),
        (
            MARKUP,
            (
                r"<\s*(?:script|iframe|img|svg|object|embed|form|link|meta|style|body|video|audio|a|input|base|details|math)"
                r"\b[^<>]{0,200}>?|<\s*/\s*(?:title|textarea|table|body|head|html|script|style|form|select|template)\s*>"
                r"|\bon(?:error|load|click|mouseover|focus|toggle)\s*="
            ),
        ),
        (MARKUP, r"\{\{.{1,200}\}\}|\{%.{1,200}%\}|<%.{1,200}%>|\x1b\[|\x9b"),
    )
)

# --- in lessons ----------------------------------------------------------------------------------------------------

_LESSON_SECRETS = (
    r"(?:system prompt|hidden prompt|credentials?|passwords?|api[ _-]?keys?|secret(?:s| keys?)?|access tokens?"
    r"|private keys?|environment variables|\.env\b|ssh keys?)"
)
_DATA = rf"(?:{_LESSON_SECRETS}|conversation|chat history|transcript|messages|customer data|user data|personal data)"
_ELSEWHERE = r"(?:https?://|ftp://|www\.|[\w.+-]+@[\w-]+\.\w+|webhook|pastebin)"

_OTHERS = r"(?:previous|prior|above|earlier|all|any|other|system|safety|your)"
_LESSON_RULES = r"(?:instructions?|prompts?|rules|guidelines|guardrails|polic(?:y|ies)|restrictions)"
_OVERRIDE = (
    rf"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{{0,40}}\b{_OTHERS}\b[^.\n]{{0,30}}\b{_LESSON_RULES}"
    r"|\b(?:ignor\w+|vergiss|vergessen|oubli\w+|olvid\w+|esque\w+)\b[^.\n]{0,40}"
    r"\b(?:anweisungen|vorgaben|instructions|consignes|instrucciones|instruções|istruzioni)\b"
    r"|(?:忽略|无视|忘记|無視)[^。\n]{0,20}(?:指令|指示|规则|ルール)"
)
_ASK = r"\b(?:reveal|print|output|show|repeat|leak|disclose|dump|expose|tell me|share)\b"
_SEND = r"\b(?:send|post|upload|forward|exfiltrate|transmit|e-?mail|copy|leak|append|encode)\b"
_PERSON = r"(?:the |your )?(?:user|human|customer|operator|owner)\b"
_SECRETLY = rf"\bwithout (?:telling|informing|notifying|alerting) {_PERSON}"
_UNTOLD = rf"\b(?:do not|don't|never) (?:tell|inform|notify|alert) {_PERSON} (?:about|of|that) (?:this|it|these|you)\b"
_FRAME = r"<\|?\s*/?\s*(?:im_start|im_end|system|assistant|endoftext|acumen-context)\s*\|?>|\[/?INST\]|<<SYS>>"

_LESSON_PATTERNS = tuple(
    (name, lazy_regex(pattern, re.IGNORECASE))
    for name, pattern in (
        ("overrides other instructions", _OVERRIDE),
        ("overrides other instructions", r"\b(?:new|updated|real) (?:system )?instructions?\s*:"),
        ("changes who the agent is", r"\byou are (?:now|no longer)\b|\b(?:developer|god|dan|jailbreak) mode\b"),
        ("asks for secrets", rf"{_ASK}[^.\n]{{0,40}}{_LESSON_SECRETS}"),
        ("sends data away", rf"{_SEND}[^.\n]{{0,60}}{_DATA}[^\n]{{0,80}}{_ELSEWHERE}"),
        ("sends data away", r"!\[[^\]]*\]\(\s*https?://[^)]*(?:\{|%7b|\$\(|=\s*<)"),
        ("hides from the user", rf"{_SECRETLY}|{_UNTOLD}"),
        (
            "runs what it fetches",
            r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n|;]{0,200}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b",
        ),
        ("destroys files", r"\brm\s+-[a-z]*r[a-z]*\s+(?:/|~|\*)"),
        ("poses as part of the prompt", _FRAME),
    )
)

_WORDS_SHOWN = 80
# Format, private-use, unassigned and surrogate characters: invisible to a person, read by a model.
_INVISIBLE = frozenset({"Cf", "Co", "Cn", "Cs"})
_SOFT_HYPHEN = "\u00ad"
# In a lesson: zero-width characters, direction marks and tags. A text may contain two by accident.
_INVISIBLE_IN_LESSON = lazy_regex("[\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_MOST_INVISIBLE = 2


def detect(text: str) -> tuple[str, ...]:
    """What untrusted text tries to do, each named once; empty for harmless text."""
    text = text[:LONGEST]
    names: dict[str, None] = {}
    if not text.isascii():
        if any(unicodedata.category(char) in _INVISIBLE and char != _SOFT_HYPHEN for char in text):
            names[INVISIBLE] = None
        text = _normalized(text)
    for name, pattern in _PATTERNS:
        if name not in names and pattern.search(text):
            names[name] = None
    if redact(text) != text:
        names[SECRET] = None
    return tuple(names)


def commands(text: str) -> bool:
    return not COMMANDING.isdisjoint(detect(text))


class InjectionAttempt(Struct, frozen=True):
    """What a lesson tries to do, and the words that do it."""

    what: str
    words: str

    def detail(self, text: str) -> dict[str, str]:
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return {"what": self.what, "words": self.words, "digest": digest}


def detect_in_lesson(text: str) -> InjectionAttempt | None:
    """The first finding, or None for a lesson that only instructs the agent in its work."""
    if len(_INVISIBLE_IN_LESSON.findall(text)) > _MOST_INVISIBLE:
        return InjectionAttempt(INVISIBLE, "characters that cannot be seen")
    plain = _INVISIBLE_IN_LESSON.sub("", text)
    matches = ((name, pattern.search(plain)) for name, pattern in _LESSON_PATTERNS)
    return next((InjectionAttempt(name, match.group()[:_WORDS_SHOWN]) for name, match in matches if match), None)


def _normalized(text: str) -> str:
    """Without invisible characters, and with look-alike letters replaced by plain ones."""
    return unicodedata.normalize("NFKC", "".join(char for char in text if unicodedata.category(char) not in _INVISIBLE))


def visible(text: str) -> str:
    """For terminals and logs: characters that are invisible or move the cursor are shown by their number."""
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in {*_INVISIBLE, "Cc"} else f"\\u{ord(char):04x}"
        for char in text
    )
