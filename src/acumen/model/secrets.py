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
        ("token", r"(?i)\bbearer\s+[\w.~+/-]{16,2000}=*"),
        ("token", r"(?i)(?<=authorization: )basic\s+[\w+/]{8,2000}=*"),
        ("token", r"\bSG\.[\w-]{16,64}\.[\w-]{16,64}|\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}"),
        ("key", r"(?i)(?<=secret )[a-z0-9/+]{40}(?![\w/+])"),
        (
            "key",
            r"\b(?:sk|pk|rk)[-_](?:live[-_]|(?:(?:test|proj|ant|or|svcacct)[-_]?)?(?=[\w-]{0,200}\d))[A-Za-z0-9_-]{16,200}",
        ),
        (
            "key",
            r"\b(?:gh[pousr]|github_pat|glpat|npm|pypi|hf|dop_v1|shpat|rflx|acm)[-_](?=[\w-]{0,300}\d)[\w-]{16,300}",
        ),
        # Twilio: the ids of accounts and keys, and the token of an account when its owner is named.
        ("key", r"\b(?:AC|SK)[0-9a-f]{32}\b|(?i:(?<=twilio token )|(?<=twilio auth token ))[0-9a-f]{32}\b"),
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
# Of the large networks, by their first digits and lengths, written in one piece or in groups as on the card.
_CARD = lazy_regex(
    r"\b(?:4\d{12}(?:\d{3})?|(?:5[1-5]|2[2-7]|35|62)\d{14}|3[47]\d{13}|3[068]\d{12}|6(?:011|4[4-9]\d|5\d\d)\d{12}"
    r"|(?:[2345]\d{3}|6\d{3})([ -])\d{4}\1\d{4}\1\d{4}|3[47]\d{2}([ -])\d{6}\2\d{5}|3[068]\d{2}([ -])\d{6}\3\d{4})\b"
)
_IBAN = lazy_regex(r"\b[A-Z]{2}\d{2}(?:(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?|[A-Z0-9]{11,30})\b")
_SOCIAL = lazy_regex(r"\b\d{3}-\d{2}-\d{4}\b")
_LONG = lazy_regex(r"(?<![\w/.#-])[A-Za-z0-9+/_-]{32,512}={0,2}(?![\w/-])")
# The minimum of each kind of secret: a word of a given length, one of these names, a number of digits.
_SHORTEST = 16
_NAMES = tuple("pass pw secret key token pin cvv cvc otp ssn social code kennwort contraseña senha curl mysql".split())
_DIGITS = lazy_regex(r"\d(?:[ -]?\d){8}")
# Words after "password is" that say something about it rather than being it.
_ABOUT = frozenset(
    "wrong correct incorrect expired required not too the a an my in stored reset invalid missing set being "
    "used changed needed there always never rotated kept saved managed weak strong that for on at "
    "str string text bytes int float bool none null nil true false undefined any optional".split()
)
# Nouns that people also say of other things: "the secret to success", "the token is sold".
_COMMON = frozenset(("token", "secret", "secret key"))
# Where a value comes from, or what stands for one: "$DB_PASSWORD", "<your password>", "request.form['x']", "**Note:**".
_STANDS_FOR = lazy_regex(r"(?i)[$<{%*#|(\[]|your[-_ ]|x{3,}|[a-z_][\w.]*[(\[]|.*\*\*?:?$|\.{3}")


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
        text = _IBAN.sub(lambda match: "[redacted account]" if _is_account(match[0]) else match[0], text)
        text = _CARD.sub(lambda match: "[redacted card]" if _is_card(match[0]) else match[0], text)
        text = _SOCIAL.sub("[redacted number]", text)
    return _LONG.sub(lambda match: "[redacted key]" if _is_random(match[0]) else match[0], text) if long else text


def _named(match: re.Match[str]) -> str:
    """The secret is in the last group, its name in the first."""
    secret = match[match.re.groups].rstrip(".!?)").lower()
    if secret in _ABOUT or secret.endswith("ing") or not _is_new(secret) or _STANDS_FOR.match(secret):
        return match[0]
    told = match[1].lower() in _COMMON and "=" not in match[2] and '"' not in match[2]
    if (told or match[2].rstrip("\"'`").endswith(" to ")) and not _looks_chosen(secret) and not secret.isdigit():
        return match[0]
    return f"{match[1]}{match[2]}[redacted {match[1].lower()}]"


def _afar(match: re.Match[str]) -> str:
    return _named(match) if match[2].endswith(": ") or _looks_chosen(match[3].rstrip(".!?)")) else match[0]


def _given(match: re.Match[str]) -> str:
    before, secret = (part for part in match.groups() if part is not None)
    chosen = secret.strip("\"'`")
    return f"{before}[redacted password]" if _is_new(chosen) and not _STANDS_FOR.match(chosen) else match[0]


def _is_new(secret: str) -> bool:
    return not secret.startswith("[redacted")


_SIGNS = frozenset("!@#$%^&+=~?")


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


# How long an account number (IBAN) is, by country.
_COUNTRIES = {
    15: "NO", 16: "BE", 18: "DK FI FO GL NL", 19: "MK SI", 20: "AT BA EE KZ LT LU XK", 21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS", 23: "AE GI IL IQ OM", 24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "PT ST",
    26: "IS TR", 27: "FR GR IT MC SM", 28: "AL AZ BY CY DO GT HU LB PL SV", 29: "BR EG PS QA UA", 30: "JO KW MU",
    31: "MT SC",
}  # fmt: skip
_ACCOUNT_LENGTHS = {country: length for length, countries in _COUNTRIES.items() for country in countries.split()}


def _is_account(text: str) -> bool:
    """Whether it has the length of its country and the check digits that account numbers carry (ISO 13616)."""
    number = text.replace(" ", "")
    digits = "".join(str(int(character, 36)) for character in number[4:] + number[:4])
    return _ACCOUNT_LENGTHS.get(number[:2]) == len(number) and int(digits) % 97 == 1


# Lower-case letters in a row, on average: 1.7 in random text, more than 3 in names made of words.
_LONGEST_MEAN_RUN = 2.6


def _is_random(text: str) -> bool:
    """Letters of both cases and digits, mixed as in no word, name or path. A hash of a commit is no secret."""
    if len(set(text)) < 12 or not (any(map(str.isupper, text)) and any(map(str.isdigit, text))):
        return False
    runs = _LOWER_RUN.findall(text)
    return bool(runs) and sum(map(len, runs)) <= _LONGEST_MEAN_RUN * len(runs)


_LOWER_RUN = lazy_regex("[a-z]+")
