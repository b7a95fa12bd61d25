"""Text that tries to do something to whoever reads it. Pure.

What agents report is written by tools, users and strangers. A lesson made of it would be read by other agents as ours,
so text that commands makes no lesson before a person has looked, and other hazardous text is never quoted in one.
"""

import re
import unicodedata

from acumen.model.lazy_regex import lazy_regex
from acumen.model.secrets import redact

# Beyond this nobody reads, and neither do we.
LONGEST = 20_000

COMMAND = "commands the reader"
ROLE = "poses as a role"
HOST = "commands the host"
ADDRESS = "leads elsewhere"
BLOB = "is encoded"
INVISIBLE = "hides characters"
SECRET = "holds a secret"  # noqa: S105 - its name, not one
MARKUP = "is markup that acts"

# What no lesson may come of, not even without its words, before a person has looked.
COMMANDING = frozenset({COMMAND, ROLE, INVISIBLE, MARKUP})


def _any(words: str) -> str:
    """One of these, as a whole word; a comma stands for a space inside one."""
    return rf"\b(?:{'|'.join(word.replace(',', ' ') for word in words.split())})\b"


_RULES = _any(
    "instructions? rules? prompts? guardrails? guidelines? polic(?:y|ies) safety above previous prior restrictions? "
    "directives? constraints? confirmation checks? approval reviews? filters?"
)
_SECRETS = _any(
    "system,prompt prompts? instructions credentials? secrets? api[,_-]?keys? passwords? env(?:ironment)? "
    "(?:access|auth|api)[,_-]?tokens? memor(?:y|ies)"
)
_DEEDS = _any(
    "run execute call disable delete curl wget chmod send download install paste export set use open visit grant "
    "turn,off ignore eval"
)
_READER = _any("assistant agent ai model llm claude gpt chatbot bot")
_ORDERS = _any(
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
        (COMMAND, _READER + r"\s*[:,!]\s*(?:please\s+)?" + _ORDERS),
        (
            COMMAND,
            r"\b(?:to (?:fix|resolve|solve|continue|proceed|recover)|the (?:fix|solution|workaround) is|fix:|solution:)"
            ".{0,60}" + _DEEDS,
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
# What cannot be seen: joiners, marks of direction, private and missing characters.
_UNSEEN = frozenset({"Cf", "Co", "Cn", "Cs"})
_SOFT_HYPHEN = "\u00ad"


def hazards(text: str) -> tuple[str, ...]:
    """What the text tries, each named once; nothing for text that only tells."""
    text = text[:LONGEST]
    found: dict[str, None] = {}
    if not text.isascii():
        if any(unicodedata.category(one) in _UNSEEN and one != _SOFT_HYPHEN for one in text):
            found[INVISIBLE] = None
        text = _as_it_reads(text)
    for name, pattern in _PATTERNS:
        if name not in found and pattern.search(text):
            found[name] = None
    if redact(text) != text:
        found[SECRET] = None
    return tuple(found)


def commands(text: str) -> bool:
    return not COMMANDING.isdisjoint(hazards(text))


def _as_it_reads(text: str) -> str:
    """Without what cannot be seen, and in plain letters where they only look different."""
    seen = "".join(one for one in text if unicodedata.category(one) not in _UNSEEN)
    return unicodedata.normalize("NFKC", seen)


def visible(text: str) -> str:
    """For terminals and logs: whatever cannot be seen, or would move the cursor, is shown as its number."""
    return "".join(
        one if one in "\n\t" or unicodedata.category(one) not in {*_UNSEEN, "Cc"} else f"\\u{ord(one):04x}"
        for one in text
    )
