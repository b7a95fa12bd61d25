"""Formats of numbers, times and text, and the words of the UI. Pure."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from acumen.model.ids import Kind, MemoryRef
from acumen.model.review.action import ActionKind
from acumen.model.times import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

DASH = "–"
_STEPS = (
    *((DAY_MS * 365, "year"), (DAY_MS * 30, "month"), (DAY_MS, "day")),
    *((HOUR_MS, "hour"), (MINUTE_MS, "minute"), (SECOND_MS, "second")),
)

KIND_WORDS = {
    Kind.PROFILE: "profile",
    Kind.USER_PLAYBOOK: "user playbook",
    Kind.AGENT_PLAYBOOK: "agent playbook",
}
# Label, icon (colour alone is not accessible) and explanation of each signal.
SIGNALS: Mapping[str, tuple[str, str, str]] = {
    "instruction_like": ("injection risk", "!", "Looks like an instruction to the agent's host (prompt injection)."),
    "harmful": ("harmful", "▼", "Sessions with this memory succeed significantly less often."),
    "conflict": ("conflict", "⇄", "Another current memory may disagree. Keep one of them, or both."),
    "supersedeable": ("superseded", "↷", "A newer memory or a shared lesson replaces it."),
    "stale": ("stale", "◷", "Neither injected nor changed in this period."),
    "high_cost_low_cite": ("costly", "$", "Injected often, for many tokens, and rarely cited."),
    "duplicate": ("duplicate", "≈", "Another memory is a near-duplicate."),
    "oversized": ("oversized", "↔", "Longer than the limit."),
}

# Label, icon and style of each kind of change.
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
    "learned": "Stated by the user.",
    "restated": "Stated again by the user.",
    "refined": "Stated in more detail by the user.",
    "correction": "Corrected by the user.",
    "retraction": "Retracted by the user.",
    "new_value": "New value from the user.",
    "model": "Decided by the language model.",
    "person": "Changed by a person.",
    "forget": "The user asked to forget it.",
    "expired": "Expired.",
    "conflict": "May disagree with another memory.",
}


# Labels of job types.
JOBS: Mapping[str, str] = {
    "published": "extraction",
    "session_ended": "session end",
    "session_quiet": "session timeout",
    "failed": "failure analysis",
    "recovered": "recovery analysis",
    "worked": "success analysis",
    "ended": "outcome update",
    "review_opened": "memory scan",
    "generation_asked": "memory generation",
    "regeneration_asked": "rerun",
    "hour": "hourly maintenance",
    "minutes": "periodic checks",
    "alerted": "alert delivery",
    "backup": "backup",
    "erased": "scrub after erasure",
    "lessons_grew": "lesson aggregation",
    "aggregation_asked": "requested aggregation",
}
# Names of the scores of a hit.
SCORES: Mapping[str, str] = {"fts": "keyword", "vector": "semantic"}

DONE_WORDS = {
    ActionKind.ARCHIVE: "archived",
    ActionKind.RESTORE: "restored",
    ActionKind.EDIT: "edited",
    ActionKind.SUPERSEDE_BY: "superseded",
    ActionKind.MERGE: "merged",
    ActionKind.PIN: "pinned",
    ActionKind.UNPIN: "unpinned",
    ActionKind.SNOOZE: "snoozed",
    ActionKind.MARK_USEFUL: "marked useful",
    ActionKind.DISMISS: "dismissed",
    ActionKind.CHANGE_SCOPE: "moved to another scope",
    ActionKind.DELETE: "deleted",
    ActionKind.CONFIGURE: "thresholds changed",
    ActionKind.SETTLE_CONFLICT: "superseded",
    ActionKind.UNDO_CHANGE: "restored",
    ActionKind.UNDO: "restored",
}


def number(value: float | None) -> str:
    return DASH if value is None else f"{round(value):,}"


def times(value: int) -> str:
    return "once" if value == 1 else f"{value:,} times"


def count_of(value: int, noun: str) -> str:
    if value == 1:
        return f"1 {noun}"
    return f"{value:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{value:,} {noun}s"


def compact(value: float | None) -> str:
    """Three significant digits: 1,234,567 is 1.23M."""
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
    return f"{share * 100:.0f}%" if share in (0, 1) or 0.1 <= share <= 0.995 else f"{share * 100:.1f}%"


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
    """`3 days ago`, or `in 3 days`."""
    apart = abs(now - at)
    for step, unit in _STEPS:
        if apart >= step:
            count = apart // step
            duration = f"{count} {unit}{'' if count == 1 else 's'}"
            return f"{duration} ago" if at <= now else f"in {duration}"
    return "just now"


def exact(at: int) -> str:
    return f"{_moment(at):%Y-%m-%d %H:%M:%S} UTC"


def iso(at: int) -> str:
    return _moment(at).isoformat().replace("+00:00", "Z")


def date(at: int) -> str:
    return f"{_moment(at):%Y-%m-%d}"


def month(at: int) -> str:
    return f"{_moment(at):%b}"


def clock(at: int) -> str:
    return f"{_moment(at):%H:%M:%S}"


def _moment(at: int) -> datetime:
    try:
        return datetime.fromtimestamp(at / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


# --- untrusted text ----------------------------------------------------------------------------------------

# Control, bidi and invisible characters.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def plain(text: object) -> str:
    """With invisible characters replaced by their code points."""
    return _INVISIBLE.sub(lambda match: f"⟨U+{ord(match.group()):04X}⟩", str(text))


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


_CODE = re.compile(r"`([^`\n]+)`")


def code_spans(text: object) -> Markup:
    """Escaped, with `names` in backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(plain(text)))))  # noqa: S704 - escaped before


def capital(text: object) -> str:
    """With a capital first letter."""
    return f"{text}"[:1].upper() + f"{text}"[1:]


def sentence(text: object) -> str:
    """With a capital first letter and a full stop."""
    begun = capital(text).rstrip()
    return begun if not begun or begun.endswith((".", "!", "?")) else f"{begun}."


def bare_line(line: object) -> str:
    """A line of the context without its list mark."""
    return str(line).removeprefix("- ")


def shorten(text: object, length: int = 80) -> str:
    whole = " ".join(str(text).split())
    return plain(whole if len(whole) <= length else f"{whole[: length - 1].rstrip()}…")


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")


def cell(value: object) -> str:
    """For a spreadsheet: text that looks like a formula is escaped."""
    text = "" if value is None else plain(value)
    numeric = isinstance(value, int | float)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) and not numeric else text


# --- names and URLs -----------------------------------------------------------------------------------------------


def kind_word(kind: str) -> str:
    return KIND_WORDS[Kind(kind)]


def memory_url(ref: MemoryRef, what: str = "memories") -> str:
    return f"/ui/{what}/{ref.kind}/{quote(ref.id, safe='')}"


def session_url(user: str, session: str) -> str:
    return f"/ui/session?user={quote(user, safe='')}&id={quote(session, safe='')}"


def turn_url(user: str, session: str, turn: int) -> str:
    return f"{session_url(user, session)}#turn-{turn}"


def actor(name: str) -> str:
    """Without keys, requests of this machine are by `local`."""
    return "local user" if name == "local" else name


def action_word(action: str) -> str:
    return "conflict settled" if action == ActionKind.SETTLE_CONFLICT else DONE_WORDS[ActionKind(action)]


def signal_word(name: str) -> str:
    return SIGNALS[name][0] if name in SIGNALS else name


FILTERS: dict[str, Any] = {
    "actor": actor,
    "action_word": action_word,
    "ago": ago,
    "bare_line": bare_line,
    "capital": capital,
    "clock": clock,
    "code_spans": code_spans,
    "compact": compact,
    "count_of": count_of,
    "date": date,
    "dollars": dollars,
    "exact": exact,
    "iso": iso,
    "json_text": json_text,
    "kind_word": kind_word,
    "month": month,
    "number": number,
    "percent": percent,
    "plain": plain,
    "points": points,
    "sentence": sentence,
    "shorten": shorten,
    "signal_word": signal_word,
    "size": size,
    "times": times,
}
GLOBALS: dict[str, Any] = {
    "CAUSES": CAUSES,
    "CHANGES": CHANGES,
    "JOBS": JOBS,
    "SCORES": SCORES,
    "SIGNALS": SIGNALS,
    "KINDS": KIND_WORDS,
    "memory_url": memory_url,
    "session_url": session_url,
    "turn_url": turn_url,
}
