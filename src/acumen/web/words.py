"""How numbers, times and texts are written on pages. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from acumen.model.ids import Kind, MemoryRef
from acumen.model.times import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

DASH = "–"
_STEPS = (
    *((DAY_MS * 365, "y"), (DAY_MS * 30, "mo"), (DAY_MS, "d")),
    *((HOUR_MS, "h"), (MINUTE_MS, "min"), (SECOND_MS, "s")),
)

KIND_WORDS = {
    Kind.PROFILE: "profile",
    Kind.USER_PLAYBOOK: "user playbook",
    Kind.AGENT_PLAYBOOK: "agent playbook",
}
# Each signal with the sign that stands beside its name, so that colour is never the only difference, and its meaning.
SIGNALS: Mapping[str, tuple[str, str, str]] = {
    "instruction_like": ("gives orders", "!", "Tries to command the agent's host rather than to inform it."),
    "harmful": ("harmful", "▼", "Sessions that were shown it succeed less often, beyond chance."),
    "conflict": ("conflict", "⇄", "Another current memory may disagree with it: keep one of them, or both."),
    "supersedeable": ("replaceable", "↷", "A newer memory or a shared lesson says what should count instead."),
    "stale": ("stale", "◷", "Neither shown nor changed within the window."),
    "high_cost_low_cite": ("costly", "$", "Shown often, for tokens that matter, and rarely cited."),
    "duplicate": ("duplicate", "≈", "Another memory says nearly the same."),
    "oversized": ("oversized", "↔", "Its line takes more tokens than is usual."),
}

# Each kind of change with its label, the sign next to it, and the style of its chip.
CHANGES: Mapping[str, tuple[str, str, str]] = {
    "learned": ("Learned", "+", "success"),
    "restated": ("Restated", "=", ""),
    "refined": ("Refined", "~", "duplicate"),
    "superseded": ("Superseded", "↷", "supersedeable"),
    "conflict": ("In conflict", "⇄", "conflict"),
    "forgotten": ("Forgotten", "⊘", "dead"),
    "expired": ("Expired", "◷", "stale"),
    "edited": ("Edited", "✎", "duplicate"),
    "merged": ("Merged", "≈", "supersedeable"),
    "archived": ("Archived", "▽", "stale"),
    "restored": ("Restored", "↺", "success"),
    "deleted": ("Deleted", "✕", "failure"),
}
CAUSES: Mapping[str, str] = {
    "learned": "The user said it.",
    "restated": "The user said it again.",
    "refined": "The user said it in more detail.",
    "correction": "The user corrected it.",
    "retraction": "The user said that it no longer holds.",
    "new_value": "The user gave a new value.",
    "model": "A language model decided it.",
    "person": "A person did it.",
    "forget": "The user asked to forget it.",
    "expired": "Its time is over.",
    "conflict": "It may disagree with another memory.",
}


def number(value: float | None) -> str:
    return DASH if value is None else f"{round(value):,}"


def times(value: int) -> str:
    return "once" if value == 1 else f"{value:,} times"


def compact(value: float | None) -> str:
    """Three digits that matter: 1,234,567 is 1.23M."""
    if value is None:
        return DASH
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            unit = 1e3 if letter == "k" else size
            return f"{value / unit:.3g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.1f}"


def percent(share: float | None) -> str:
    if share is None:
        return DASH
    return f"{share * 100:.0f} %" if share in (0, 1) or 0.1 <= share <= 0.995 else f"{share * 100:.1f} %"


def points(difference: float | None) -> str:
    """A difference of two shares, in percentage points."""
    return DASH if difference is None else f"{difference * 100:+.0f}"


def dollars(value: float | None) -> str:
    if value is None:
        return DASH
    return f"${value:,.2f}" if value >= 0.01 or value == 0 else "<$0.01"


def size(value: float | None) -> str:
    if value is None:
        return DASH
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"


def ago(at: int, now: int) -> str:
    """`3 d ago`; what lies ahead is `in 3 d`."""
    apart = abs(now - at)
    for step, unit in _STEPS:
        if apart >= step:
            told = f"{apart // step} {unit}"
            return f"{told} ago" if at <= now else f"in {told}"
    return "just now"


def exact(at: int) -> str:
    return f"{_moment(at):%Y-%m-%d %H:%M:%S} UTC"


def iso(at: int) -> str:
    return _moment(at).isoformat().replace("+00:00", "Z")


def date(at: int) -> str:
    return f"{_moment(at):%Y-%m-%d}"


def clock(at: int) -> str:
    return f"{_moment(at):%H:%M:%S}"


def _moment(at: int) -> datetime:
    try:
        return datetime.fromtimestamp(at / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


# --- text that others wrote ----------------------------------------------------------------------------------------

# Control characters, and those that change the direction of text or cannot be seen.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def plain(text: object) -> str:
    """The same text with nothing hidden in it: a character that acts instead of being seen is named."""
    return _UNSEEN.sub(_named, str(text))


def _named(found: re.Match[str]) -> str:
    return f"⟨U+{ord(found.group()):04X}⟩"


def shorten(text: object, length: int = 80) -> str:
    whole = " ".join(str(text).split())
    return plain(whole if len(whole) <= length else f"{whole[: length - 1].rstrip()}…")


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")


def cell(value: object) -> str:
    """For a spreadsheet: text that a program would run as a formula is marked as text."""
    text = "" if value is None else plain(value)
    numeric = isinstance(value, int | float)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) and not numeric else text


# --- names of things -----------------------------------------------------------------------------------------------


def kind_word(kind: str) -> str:
    return KIND_WORDS[Kind(kind)]


def memory_url(ref: MemoryRef, what: str = "memories") -> str:
    return f"/ui/{what}/{ref.kind}/{quote(ref.id, safe='')}"


def session_url(user: str, session: str) -> str:
    return f"/ui/session?user={quote(user, safe='')}&id={quote(session, safe='')}"


def turn_url(user: str, session: str, turn: int) -> str:
    """The place of a turn on the page of its session."""
    return f"{session_url(user, session)}#turn-{turn}"


def signal_word(name: str) -> str:
    return SIGNALS[name][0] if name in SIGNALS else name


FILTERS: dict[str, Any] = {
    "ago": ago,
    "clock": clock,
    "compact": compact,
    "date": date,
    "dollars": dollars,
    "exact": exact,
    "iso": iso,
    "kind_word": kind_word,
    "number": number,
    "percent": percent,
    "plain": plain,
    "points": points,
    "shorten": shorten,
    "signal_word": signal_word,
    "size": size,
    "times": times,
}
GLOBALS: dict[str, Any] = {
    "CAUSES": CAUSES,
    "CHANGES": CHANGES,
    "SIGNALS": SIGNALS,
    "KINDS": KIND_WORDS,
    "memory_url": memory_url,
    "session_url": session_url,
    "turn_url": turn_url,
}
