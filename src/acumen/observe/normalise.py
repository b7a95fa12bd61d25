"""Normalise error messages: numbers, ids, paths and times are replaced by placeholders. Pure.

One pass over tokens, and every pattern matches one token only, so the time is linear in the length of the text.
"""

import re
from functools import lru_cache

from acumen.model.lazy_regex import lazy_regex

# The remainder of a longer line or word only tells failures apart by accident.
LONGEST_LINE = 2_000
LONGEST_TOKEN = 256
LINES = 2
# Longer texts are cut in the middle: the first and last lines of a trace count.
LONGEST_TEXT = 64_000

NUMBER, ID, PATH, URL, TIME, ADDRESS = "<num>", "<id>", "<path>", "<url>", "<time>", "<ip>"
HEX, STRING, NAME, TRUTH = "<hex>", "<str>", "<name>", "<bool>"

_AROUND = "()[]{}<>,;:.\"'`!?*|"
_URL = lazy_regex(r"[a-z][a-z0-9+.-]{1,15}://\S+", re.IGNORECASE)
_MAIL = lazy_regex(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
_UUID = lazy_regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_IP = lazy_regex(r"/?(?:[\w.-]{0,64}/)?\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?")
# With a port, or with a known top-level domain: Java classes look like hosts otherwise.
_HOST = lazy_regex(
    r"[\w-]{1,63}(?:\.[\w-]{1,63}){0,9}\.[a-z0-9-]{1,63}:\d{1,5}|[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+"
    r"\.(?:com|org|net|edu|gov|io|local|internal|hk|cn|de|uk|jp|fr|ru|br|tw|kr|eu|us|nl|au|ca)"
)
# MAC or IPv6.
_MAC = lazy_regex(
    r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?=.*::)[0-9a-f:]{2,39}(?:\d{1,3}(?:\.\d{1,3}){3})?", re.IGNORECASE
)
# A hardware location such as R02-M1-N0-C:J12-U11.
_NODE = lazy_regex(r"(?=\D*\d)(?:[A-Z]{1,2}\d{0,3}[-:]){2,8}[A-Z]{1,2}\d{0,3}")
_PACKAGE = lazy_regex(r"(?:com|org|net|android|cn|io)(?:\.\w+)+(?<!Exception)(?<!Error)")
# A package without a class, or a component within its package.
_COMPONENT = lazy_regex(r"(?:com|org|net|android|cn|io)(?:\.[a-z0-9_]+)+(?:/[\w.$]+)?|[a-z]+(?:\.\w+)+/\.?\w[\w.$]*")
_TRUTH = lazy_regex(r"true|false", re.IGNORECASE)
_TRUTHS = frozenset(("true", "false", "True", "False"))
_DATE_WORDS = frozenset("Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec".split())
# A size repeated in another unit, and units separated from their number.
_SIZE_AGAIN = lazy_regex(r"(?<=bytes) \(\d[\d.,]* ?[KMGT]i?B\)")
_UNITS = lazy_regex(r"(?<=\d) (?:m?s|secs?|seconds?|min|minutes?|hours?|[KMGT]?i?B)\b(?![,;])")
_UNITS_IN_LIST = lazy_regex(r"(?<=\d) (?:m?s|secs?|seconds?|min|minutes?|hours?|[KMGT]?i?B)(?=[,;])")
# A quantity that ends with its unit; a bare number after it is no further item of a list.
_QUANTITY = lazy_regex(r"\d[a-zµ]{1,4}(?:/s)?[,;]\Z", re.IGNORECASE)
_BARE_NUMBER = lazy_regex(r"[-+]?\d[\d.,]*\Z")
# Brackets end a word: `[ib][/lib/mad.c:7]Sending`.
_BRACKET = lazy_regex(r"\](?=[\w\[])")
_LESS = lazy_regex(r"[<>]=?(?=\d)")
_TIME = lazy_regex(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T_-]?\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}"
    r"|\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?"
)
_NUMBER = lazy_regex(r"[-+$€]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?(?:%|[a-zµ]{1,4}(?:/s)?)?", re.IGNORECASE)
_HEX = lazy_regex(r"0x[0-9a-f]+|(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}", re.IGNORECASE)
_POSIX = lazy_regex(r"(?:~|\.{1,2})?/[^\s/]+(?:/[^\s/]*)*|[\w.-]+(?:/[\w.@+-]+){2,}/?")
_WINDOWS = lazy_regex(r"[A-Za-z]:\\\S*|\\\\\S+")
_FILE = lazy_regex(r"[\w-]+\.(?:py|js|ts|tsx|java|go|rs|rb|cs|c|cpp|h|json|ya?ml|toml|txt|csv|log|md|sql)(?::\d+)*")
_DIGITS = lazy_regex(r"\d+")
_WORD = lazy_regex(r"(?:[A-Z]?[a-z]+|[A-Z]+)(?:[_.-](?:[A-Z]?[a-z]+|[A-Z]+))*[_.-]?\d{1,3}")
_ASSIGNED = lazy_regex(r"([A-Za-z_][\w.-]{0,63}[=:])(.+)", re.DOTALL)
# Words after which a short number is a cause, not a parameter: HTTP 404 is not HTTP 500.
_CODED = frozenset({"http", "status", "errno", "status_code", "statuscode", "http/1.1", "rc", "exit", "signal"})
_SHORT = lazy_regex(r"\d{1,3}")
# After "code" alone only such a number is one; after "exit code" any.
_STATUS = lazy_regex(r"[1-5]\d\d")
_WHOSE_CODE = frozenset({*_CODED, "error", "return", "response"})
# A redacted secret is an id.
_REDACTED = lazy_regex(r"\[redacted(?: [a-z ]{1,30})?\]")
_QUOTED = lazy_regex(r"(['\"`])[^'\"`]{1,200}\1")

_WHOLE = (
    *((_MAIL, "<mail>"), (_UUID, ID), (_IP, ADDRESS), (_MAC, ADDRESS), (_TIME, TIME)),
    *((_HEX, HEX), (_NUMBER, NUMBER), (_NODE, ID)),
)


def normalise(text: str) -> str:
    """Of the first two lines, or of a stack trace: the error and its innermost function."""
    words: list[str] = []
    before = quantity = ""
    shown = " ".join(line[:LONGEST_LINE] for line in _lines(text))
    for token in _plain(_REDACTED.sub(ID, shown)).split():
        normalised = _word(token, before) if token.isalpha() else _token(token[:LONGEST_TOKEN], before)
        word = token.strip(_AROUND).lower()
        before = "exit" if word == "code" and before in _WHOSE_CODE else word
        repeated = words and _is_place(normalised) and _of_a_kind(words[-1], normalised)
        if not repeated or (quantity and _BARE_NUMBER.match(token)):
            words.append(normalised)
        quantity = token if _QUANTITY.search(token[-8:]) else ""
    return " ".join(words)


def _plain(text: str) -> str:
    """Without repeated sizes and units, and with spaces after brackets."""
    if "bytes (" in text:
        text = _SIZE_AGAIN.sub("", text)
    if "]" in text:
        text = _BRACKET.sub("] ", text)
    return _LESS.sub("", _UNITS_IN_LIST.sub("s", _UNITS.sub("", text)))


def _word(word: str, before: str) -> str:
    """May is a month only after a day of the week."""
    if word in _TRUTHS:
        return TRUTH
    return TIME if word in _DATE_WORDS or (word == "May" and before.capitalize() in _DATE_WORDS) else word


def place(endpoint: str) -> str:
    """An endpoint with ids replaced: `/users/17/files` is one place for all users. Tool names stay."""
    if "/" not in endpoint or not any(map(str.isdigit, endpoint)):
        return endpoint
    return "/".join(_segment(part) for part in endpoint.split("/"))


def _segment(part: str) -> str:
    if not any(map(str.isdigit, part)) or _WORD.fullmatch(part):
        return part
    return _kind(part) or _identifier(part)


@lru_cache(maxsize=8192)
def _token(token: str, before: str) -> str:
    core = token.strip(_AROUND)
    if not core:
        return token
    quoted = _QUOTED.search(token)
    if quoted and len(core) >= len(quoted[0]) - 2 == len(token.strip("()[]{}<>,;:.!?*|")) - 2:
        return token.replace(quoted[0], STRING)
    start = token.index(core)
    head, tail = token[:start], token[start + len(core) :]
    return f"{head}{_named(core, before)}{tail}"


def _named(core: str, before: str) -> str:
    if (before in _CODED and _SHORT.fullmatch(core)) or (before == "code" and _STATUS.fullmatch(core)):
        return core
    kind = _kind(core)
    if kind:
        return kind
    if "," in core and "=" in core:
        return ",".join(_token(part, "") for part in core.split(","))
    assigned = _ASSIGNED.fullmatch(core)
    if assigned:
        name, value = assigned.groups()
        assigned_name = _named(name[:-1], "") if any(map(str.isdigit, name)) else name[:-1]
        return f"{assigned_name}{name[-1]}{_value(value, name[:-1].lower())}"
    core = _CALLED_WITH.sub(TRUTH, core)
    return _identifier(core) if any(map(str.isdigit, core)) else core


_CALLED_WITH = lazy_regex(r"(?<=\()(?:true|false)\b", re.IGNORECASE)


def _value(value: str, name: str) -> str:
    bare = value.strip(_AROUND)
    if _TRUTH.fullmatch(bare):
        return value.replace(bare, TRUTH)
    if _PACKAGE.fullmatch(bare):
        return value.replace(bare, NAME)
    return _token(value, name)


def _kind(core: str) -> str | None:
    """The placeholder, if the whole token is of one kind."""
    if "://" in core and _URL.fullmatch(core):
        return URL
    if any(map(str.isdigit, core)) or "@" in core or "::" in core:
        for pattern, name in _WHOLE:
            if pattern.fullmatch(core):
                return name
    if "." in core and _HOST.fullmatch(core):
        return ADDRESS
    if "." in core and _COMPONENT.fullmatch(core):
        return NAME
    if ("/" in core and _POSIX.fullmatch(core)) or ("\\" in core and _WINDOWS.fullmatch(core)):
        return PATH
    return PATH if "." in core and _FILE.fullmatch(core) else None


def _identifier(core: str) -> str:
    """A name with a number keeps the name; a mix of letters and digits is an id."""
    if _WORD.fullmatch(core):
        return _DIGITS.sub(NUMBER, core)
    name = "".join(_part(part) for part in _PARTS.split(core)).replace("_-", "_")
    numbered = _NUMBERED.fullmatch(name)
    return f"{numbered[1]}{ID}" if numbered else name


_PARTS = lazy_regex(r"([_.:/#@,=(){}\[\]<>|&+-])")
# A name and at least three numbers: an id of one thing among many.
_NUMBERED = lazy_regex(r"([A-Za-z]{2,}[_-])(?:[\w:.-]{0,9}<\w+>){3,}[\w:.-]{0,9}")
_PART_HEX = lazy_regex(r"0x[0-9a-f]+|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{4,}", re.IGNORECASE)


def _part(part: str) -> str:
    if not any(map(str.isdigit, part)):
        return part
    if _PART_HEX.fullmatch(part):
        return HEX
    return NUMBER if part.isdigit() or len(part) > 5 else _DIGITS.sub(NUMBER, part)


PLACES = frozenset({NUMBER, ID, PATH, URL, TIME, ADDRESS, HEX, STRING, NAME, TRUTH})


def _is_place(token: str) -> bool:
    return _core(token) in PLACES


def _of_a_kind(first: str, second: str) -> bool:
    """A hexadecimal number may consist of decimal digits."""
    cores = {_core(first), _core(second)}
    return len(cores) == 1 or cores == {NUMBER, HEX}


def _core(token: str) -> str:
    return token.strip("()[]{},;:.\"'`!?*|")


# --- stack traces ----------------------------------------------------------------------------------------------------

_PYTHON = "Traceback (most recent call last)"
_PYTHON_FRAME = lazy_regex(r'\s+File "[^"]{0,400}", line \d+, in (\S{1,200})')
_CALLED_AT = lazy_regex(r"\s+at (?:async )?([\w.$<>\[\]`]{1,200})")
_GO_FRAME = lazy_regex(r"([\w./*()-]{1,200})\([^)]{0,200}\)\Z")
_RUST = lazy_regex(r"thread '[^']{0,100}' panicked at ")
_RUBY = lazy_regex(r"\S{1,200}\.rb:\d+:in [`'](?:block in )?([^`']{1,100})'")


def _lines(text: str) -> list[str]:
    """Of a trace: the error, and the innermost function."""
    if len(text) > LONGEST_TEXT:
        text = f"{text[: LONGEST_TEXT // 2]}\n{text[-LONGEST_TEXT // 2 :]}"
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return lines
    return _python(lines) or _panic(lines) or _called_at(lines) or _ruby(lines) or lines[:LINES]


def _python(lines: list[str]) -> list[str]:
    """The last exception, and the innermost frame."""
    if not any(line.startswith(_PYTHON) for line in lines):
        return []
    frames = [match[1] for line in lines if (match := _PYTHON_FRAME.match(line))]
    messages = [line for line in lines if not line.startswith((" ", "\t", _PYTHON, "During handling", "The above"))]
    return [*messages[-1:], *(f"in {name}" for name in frames[-1:])]


def _called_at(lines: list[str]) -> list[str]:
    """Java, JavaScript and C#: the error comes first, then frames `at …`."""
    frames = [match[1] for line in lines[1:] if (match := _CALLED_AT.match(line))]
    return [lines[0], f"in {frames[0]}"] if frames else []


def _panic(lines: list[str]) -> list[str]:
    """Go: the error, then frames. Rust: the error is in the second line."""
    if _RUST.match(lines[0]):
        return [lines[1]] if lines[0].rstrip().endswith(":") else [lines[0]]
    if not lines[0].startswith(("panic:", "fatal error:")):
        return []
    frames = [match[1] for line in lines[1:] if not line.startswith("panic(") and (match := _GO_FRAME.match(line))]
    return [lines[0], *(f"in {name}" for name in frames[:1])]


def _ruby(lines: list[str]) -> list[str]:
    match = _RUBY.match(lines[0])
    return [lines[0].partition(": ")[2] or lines[0], f"in {match[1]}"] if match else []
