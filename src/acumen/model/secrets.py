"""Keys, tokens, passwords and card numbers, taken out of text before it is kept or shown to a model."""

import re

from acumen.model.lazy_regex import lazy_regex

_SECRETS = [
    (name, lazy_regex(pattern))
    for name, pattern in [
        (
            "private key",
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,8000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
        ),
        ("token", r"\beyJ[\w-]{8,2000}\.[\w-]{8,4000}(?:\.[\w-]{0,2000})?"),
        ("token", r"(?i)\bbearer\s+[\w.~+/-]{16,2000}=*|(?<=authorization: )basic\s+[\w+/]{8,2000}=*"),
        ("token", r"\bSG\.[\w-]{16,64}\.[\w-]{16,64}|\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}"),
        ("key", r"(?i)(?<=secret )[a-z0-9/+]{40}(?![\w/+])"),
        ("key", r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or|svcacct)?[-_]?[A-Za-z0-9_-]{16,200}"),
        (
            "key",
            r"\b(?:ghp|gho|ghu|ghs|ghr|github_pat|glpat|npm|pypi|hf|dop_v1|shpat|rflx|acm)[-_][A-Za-z0-9_-]{16,300}",
        ),
        ("key", r"\bxox[abprs]-[A-Za-z0-9-]{16,300}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,50}"),
    ]
]
# user:password@host in an address.
_ADDRESS = lazy_regex(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,100}:)[^\s@/]{1,200}(?=@)", re.IGNORECASE)
# "password is hunter2", "DB_PASSWORD=abc", "my pin: 4711", and as JSON writes it.
_NAMED = lazy_regex(
    r"(?i)(?<![a-z0-9])(pass(?:word|phrase|code|wd)|pwd|secret(?: key| access key)?|"
    r"(?:api|access|auth|private|client)[ _-]?(?:key|token|secret)|token|pin|cvv|cvc|otp|ssn|"
    r"social security(?: number)?|recovery code|verification code)"
    r"([\"']?(?: (?:is|was|to|of|for \w{1,30} is))?(?: now)?(?:\s?[:=]\s?| is | = | to )[\"'`]?)([^\s\"'`,;]{3,200})"
)
# "password = 'correct horse'", "the passphrase is 'correct horse'": everything between the quotes.
_QUOTED = lazy_regex(
    r"(?i)(?<![a-z0-9])(pass(?:word|phrase|code|wd)|pwd|secret(?: key)?|(?:api|access|private)[ _-]?key)"
    r"([\"']?(?:\s?[:=]\s?| (?:is|was):? )([\"'`]))([^\"'`\n]{3,200})(?=\3)"
)
# "the password for the staging db is X", "my password changed to X", "password X": X, if it looks like one.
_AFAR = lazy_regex(
    r"(?i)(?<![a-z0-9])(pass(?:word|phrase|code|wd|wort)|pwd|(?:api|access|private) key|kennwort|contraseña|senha"
    r"|mot de passe)((?:'s|(?: [\w.-]{1,30}){0,6}? (?:is|was|to|be|ist|es|est|é))?:? )([^\s\"'`,;]{4,200})"
)
# "cvv 123", "2FA code: 482913", "my pin 4711"; without a possessive before it a pin may be a verb ("pin 3306").
_CODE = lazy_regex(
    r"(?i)\b(cv[vc]2?|otp|(?:2fa|mfa|security|verification|recovery|login|one[- ]time|access) (?:pass)?code"
    r"|(?:(?<=my )|(?<=our )|(?<=your )|(?<=his )|(?<=her )|(?<=their )|(?<=the ))pin(?= \d{4}))"
    r"((?: is| was)?(?:\s?[:=])? )(\d{3,8})\b(?![.,:]\d)"
)
# "DB_PASS=X", "pw: X", "curl -u ann:X", "mysql -u root -pX".
_SHORT = lazy_regex(
    r"(\b[A-Z][A-Z0-9_]{0,40}_(?:PASS|PW)\s?=\s?|\b(?i:pw)\s?[:=]\s?|\bmysql[\w -]{0,100}\s-p"
    r"|\bcurl\b[^\n|;]{0,200}?\s(?:-u|--user)\s+[^\s:]{1,100}:)([^\s\"'`,;]{3,200})"
)
# "--password hunter2", "-pwd hunter2", and "passphrase 'correct horse'": the next word is the secret.
_GIVEN = lazy_regex(
    r"(?i)((?<![\w-])--?(?:[a-z]+-)?(?:pass(?:word|phrase|code|wd)?|pwd|secret|token|api-key)\s+[\"'`]?)([^\s\"'`,;]{3,200})"
    r"|(\b(?:pass(?:word|phrase|code)|pwd|secret key|api key)\s+)([\"'`][^\"'`\n]{3,200}[\"'`])"
)
_CARD = lazy_regex(r"\b\d(?:[ -]?\d){12,18}\b")
_SOCIAL = lazy_regex(r"\b\d{3}-\d{2}-\d{4}\b")
_LONG = lazy_regex(r"(?<![\w/.-])[A-Za-z0-9+/_-]{32,512}={0,2}(?![\w/-])")
# The minimum of each kind of secret: a word of a given length, one of these names, a number of digits.
_SHORTEST = 16
_NAMES = tuple("pass pw secret key token pin cvv cvc otp ssn social code kennwort contraseña senha curl mysql".split())
_DIGITS = lazy_regex(r"\d(?:[ -]?\d){8}")
# Words after "password is" that say something about it rather than being it.
_ABOUT = frozenset(
    "wrong correct incorrect expired required not too the a an my in stored reset invalid missing set being "
    "used changed needed there always never rotated kept saved managed weak strong that for on at".split()
)


def redact(text: str) -> str:
    """The text with each secret replaced by its name in brackets; idempotent."""
    if len(text) < 4:
        return text
    # Most text has nothing that a secret needs: to see that takes a tenth of the time that looking for one does.
    long = max(map(len, text.split()), default=0) >= _SHORTEST or "-----BEGIN" in text
    if long:
        for name, pattern in _SECRETS:
            text = pattern.sub(f"[redacted {name}]", text)
    if "://" in text:
        text = _ADDRESS.sub(r"\1[redacted password]", text)
    lowered = text.lower()
    if any(map(lowered.__contains__, _NAMES)):
        for hints, pattern, replacement in _TOLD:
            if any(map(lowered.__contains__, hints)):
                text = pattern.sub(replacement, text)
    if _DIGITS.search(text):
        text = _CARD.sub(lambda match: "[redacted card]" if _is_card(match[0]) else match[0], text)
        text = _SOCIAL.sub("[redacted number]", text)
    return _LONG.sub(lambda match: "[redacted key]" if _is_random(match[0]) else match[0], text) if long else text


def _named(match: re.Match[str]) -> str:
    """The secret is in the last group, its name in the first."""
    secret = match[match.re.groups].rstrip(".!?)").lower()
    if secret in _ABOUT or secret.endswith("ing") or not _is_new(secret):
        return match[0]
    return f"{match[1]}{match[2]}[redacted {match[1].lower()}]"


def _afar(match: re.Match[str]) -> str:
    return _named(match) if match[2].endswith(": ") or _looks_chosen(match[3].rstrip(".!?)")) else match[0]


def _given(match: re.Match[str]) -> str:
    before, secret = (part for part in match.groups() if part is not None)
    return f"{before}[redacted password]" if _is_new(secret.strip("\"'`")) else match[0]


def _is_new(secret: str) -> bool:
    return not secret.startswith("[redacted")


_SIGNS = frozenset("!@#$%^&*+=~?")


def _looks_chosen(secret: str) -> bool:
    """Neither a word nor a name (SHA256) nor a path: letters mixed with digits or signs."""
    mixed = any(map(str.isdigit, secret)) and any(map(str.islower, secret))
    signed = not _SIGNS.isdisjoint(secret) and any(map(str.isalpha, secret))
    return len(secret) >= 6 and (mixed or signed) and "/" not in secret


# One of these must be in the text for the pattern to find anything.
_TOLD = (
    (("'", '"', "`"), _QUOTED, _named),
    ((":", "=", " is ", " to "), _NAMED, _named),
    (("-", "'", '"', "`"), _GIVEN, _given),
    (("pass", "pwd", " key", "kennwort", "contraseña", "senha"), _AFAR, _afar),
    (("cvv", "cvc", "otp", "code", "pin "), _CODE, _named),
    (("_pass", "_pw", "pw:", "pw=", "pw ", "curl", "mysql"), _SHORT, _given),
)


def _is_card(digits: str) -> bool:
    """Whether the number passes the check digit that payment cards carry (Luhn)."""
    numbers = [int(digit) for digit in reversed(digits) if digit.isdigit()]
    doubled = [sum(divmod(number * 2, 10)) for number in numbers[1::2]]
    return len(set(numbers)) > 1 and (sum(numbers[::2]) + sum(doubled)) % 10 == 0


def _is_random(text: str) -> bool:
    """Letters of both cases and digits, mixed as in no word or path."""
    kinds = (any(map(str.islower, text)), any(map(str.isupper, text)), sum(map(str.isdigit, text)) >= 3)
    hexadecimal = len(text) >= 40 and all(character in "0123456789abcdef" for character in text.lower())
    return (all(kinds) and len(set(text)) >= 12) or hexadecimal
