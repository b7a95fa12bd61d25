"""`acumen memory-review`, `stats` and `explain`: which memories deserve a look, their cost, what was shown."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import typer

from acumen.cli.output import plain, show, table, when
from acumen.errors import BadInput
from acumen_client.client import Client
from acumen_client.wire.meter import CompareInjectionResponse, GetInjectionResponse, InjectionStat, MemoryCost
from acumen_client.wire.review import (
    ConflictChoice,
    MemoryConflict,
    MemoryReviewCandidate,
    ReviewAction,
    ReviewActionEntry,
    ReviewedItem,
    ReviewItem,
    ReviewMemoriesResponse,
    ReviewSignal,
)
from acumen_client.wire.shapes import MemoryKind

# How much of a memory stands in a line of a table.
TITLE = 60


def memory_review(
    client: Client,
    user: str | None,
    *,
    all_users: bool,
    days: int,
    signals: Sequence[str],
    limit: int,
    as_json: bool,
) -> None:
    if user is None and not all_users:
        raise BadInput("Say whose memories to look through: --user NAME, or --all-users.")
    found = client.memory_review(
        user_id=user,
        include_all_users=all_users,
        days_back=days,
        signal_filter=[_signal(one) for one in signals] or None,
        limit=limit,
    )
    rows = [_candidate(one) for one in found.candidates]
    headings = ["score", "memory", "user", "says", "signals", "shown", "cited", "wasted", "saves a day", "why"]
    listed = table(headings, rows) + "\n\n" if rows else ""
    saving = f" Acting on all of them saves about {found.saving_tokens_per_day:.0f} tokens a day." if rows else ""
    show(as_json, found, f"{listed}{found.msg}.{saving}")


def _signal(name: str) -> ReviewSignal:
    try:
        return ReviewSignal(name)
    except ValueError:
        raise BadInput(f"There is no signal {name!r}; there are {', '.join(ReviewSignal)}.") from None


def _candidate(one: MemoryReviewCandidate) -> list[object]:
    return [
        one.score,
        f"{one.entity_type}:{one.entity_id}",
        one.user_id,
        one.title[:TITLE],
        ", ".join(one.signals),
        one.injection_count,
        one.cited_injection_count,
        one.wasted_tokens,
        f"{one.saving_tokens_per_day:.1f}",
        "; ".join(one.reasons.values()),
    ]


# --- acting --------------------------------------------------------------------------------------------------------


def apply(client: Client, action: str, names: Sequence[str], *, as_json: bool, **more: Any) -> None:
    """`names` are written as the review lists them: `profile:ID`, `user_playbook:7`, `agent_playbook:7`."""
    given = {name: value for name, value in more.items() if value not in (None, "", [])}
    done = client.review_memories(action=ReviewAction(action), items=[_named(one) for one in names], **given)
    show(as_json, done, _done(done))
    if not any(one.changed for one in done.items):
        raise typer.Exit(1)


def _named(name: str) -> ReviewItem:
    """Without a kind, a number is a user playbook's and anything else a profile's."""
    kind, colon, memory_id = name.partition(":")
    if not colon:
        kind, memory_id = ("user_playbook" if name.isdecimal() else "profile"), name
    if kind not in tuple(MemoryKind) or not memory_id:
        raise BadInput(f"{name!r} names no memory: write it as the review does, such as user_playbook:7.")
    return ReviewItem(kind=MemoryKind(kind), id=memory_id)


def typed_confirmation(count: int) -> str:
    """Asks at the terminal; whoever calls this from a script says it with --confirm."""
    wanted = f"delete {count}"
    return str(typer.prompt(f"What is deleted cannot be brought back. Type {wanted!r} to go on", default=""))


def undo(client: Client, action_id: str, *, as_json: bool) -> None:
    done = client.undo_review(action_id=action_id)
    show(as_json, done, _done(done))


def _done(done: ReviewMemoriesResponse) -> str:
    lines = [_item(one) for one in done.items]
    named = f"\nTake it back with: acumen memory-review undo {done.action_id}" if done.action_id else ""
    return "\n".join([*lines, f"{done.msg}.{named}"])


def _item(one: ReviewedItem) -> str:
    name = f"{one.kind}:{one.id}"
    if not one.changed:
        return plain(f"{name}  unchanged: {one.why}")
    changes = ", ".join(f"{field}: {before!r} -> {after!r}" for field, (before, after) in one.changes.items())
    return plain(f"{name}  {changes or 'deleted'}")


def conflicts(client: Client, user: str | None, *, all_users: bool, limit: int, as_json: bool) -> None:
    if user is None and not all_users:
        raise BadInput("Name a user with --user NAME, or use --all-users.")
    page = client.memory_conflicts(user_id=user, include_all_users=all_users, limit=limit)
    rows = [_conflict(conflict) for conflict in page.conflicts]
    headings = ["conflict", "user", "newer", "said", "older", "said", "quote"]
    show(as_json, page, table(headings, rows) if rows else "No open conflicts.")


def _conflict(conflict: MemoryConflict) -> list[object]:
    sides = [part for side in (conflict.newer, conflict.older) for part in (side.text[:TITLE], when(side.at))]
    quote = None if conflict.quote is None else f"“{conflict.quote[:TITLE]}”"
    return [conflict.conflict_id, conflict.user_id, *sides, quote]


def settle(client: Client, conflict_id: str, keep: str, *, reason: str, as_json: bool) -> None:
    done = client.settle_conflict(conflict_id=conflict_id, keep=ConflictChoice(keep), reason=reason)
    show(as_json, done, _done(done))


def log(client: Client, *, limit: int, as_json: bool) -> None:
    found = client.review_actions(limit=limit)
    rows = [_entry(one) for one in found.actions]
    headings = ["when", "action", "by", "changed", "memories", "reason", "id", "taken back by"]
    show(as_json, found, table(headings, rows) if rows else "Nothing was done yet.")


def _entry(one: ReviewActionEntry) -> list[object]:
    memories = ", ".join(f"{item.kind}:{item.id}" for item in one.items[:3])
    more = len(one.items) - 3
    named = f"{memories} and {more} more" if more > 0 else memories
    return [when(one.at), one.action, one.actor, one.changed_count, named, one.reason, one.action_id, one.undone_by]


# --- counting ------------------------------------------------------------------------------------------------------


def injections(client: Client, *, days: int, limit: int, as_json: bool) -> None:
    found = client.injection_stats(days_back=days, limit=limit)
    rows = [_shown(one) for one in found.stats]
    headings = ["shown", "sessions", "tokens", "memory", "says", "last shown"]
    listed = table(headings, rows) + "\n\n" if rows else ""
    since = f" Use is counted since {when(found.covered_since)}." if found.covered_since else ""
    show(as_json, found, f"{listed}{found.msg}.{since}")


def _shown(one: InjectionStat) -> list[object]:
    counts = [one.surfaced_count, one.distinct_session_count, one.total_prompt_tokens]
    says = "(deleted)" if one.title is None else one.title[:TITLE]
    return [*counts, f"{one.entity_type}:{one.entity_id}", says, when(one.last_injected_at)]


def costs(client: Client, *, by: str, days: int, model: str | None, limit: int, as_json: bool) -> None:
    found = client.memory_costs(group_by=by, days_back=days, model=model, limit=limit)  # type: ignore[arg-type]
    rows = [[_group(one), *_cost(one)] for one in [*found.costs, found.all_together]]
    headings = [by, "shown", "tokens", "echoed", "cited", "wasted", "wasted share", "US$", "wasted US$"]
    priced = f"At {found.usd_per_million_tokens} US$ per million tokens ({found.model})."
    note = priced if found.usd_per_million_tokens is not None else found.msg or ""
    weak = "Uncited is weak evidence: agents do not cite all they use."
    if found.cited_since is None:
        weak = "No agent has cited a memory yet: uncited says nothing about a memory."
    show(as_json, found, f"{table(headings, rows)}\n\n{note} {weak}")


def _group(one: MemoryCost) -> str:
    if one.entity_id is not None:
        return f"{one.entity_type}:{one.entity_id} {(one.title or '(deleted)')[:TITLE]}"
    named = next((value for value in (one.user_id, one.agent_version, one.day) if value is not None), "all together")
    return named or "(none named)"


def _cost(one: MemoryCost) -> list[object]:
    share = None if one.wasted_share is None else f"{one.wasted_share:.0%}"
    dollars = [None if value is None else f"{value:.6f}" for value in (one.usd, one.wasted_usd)]
    return [one.shown_count, one.shown_tokens, one.echoed_tokens, one.cited_tokens, one.wasted_tokens, share, *dollars]


# --- replay --------------------------------------------------------------------------------------------------------


def explain(client: Client, injection_id: str, *, as_json: bool) -> None:
    found = client.injection(injection_id=injection_id)
    show(as_json, found, _explained(found))


def _explained(found: GetInjectionResponse) -> str:
    rows = [
        [
            "shown" if one.shown else "left out",
            f"{one.kind}:{one.id}",
            one.score,
            ", ".join(f"{name} {value:.2f}" for name, value in (one.reasons or {}).items()),
            one.tokens,
            one.line[:TITLE],
        ]
        for one in found.memories
    ]
    asked = f"{when(found.created_at)}  {found.caller_type} for {found.user_id or 'nobody'} asked: {found.query}"
    withheld = found.experiment_arm == "holdout"
    why = f"\nNothing was shown: holdout of experiment {found.experiment_id}." if withheld else ""
    listed = table(["", "memory", "score", "found by", "tokens", "line"], rows) if rows else "Nothing was found."
    return f"{plain(asked)}{why}\n\n{listed}\n\n{found.context_tokens} tokens were rendered:\n{plain(found.context)}"


def compare(client: Client, injection_id: str, earlier: str, later: str, *, as_json: bool) -> None:
    found = client.compare_injection(injection_id=injection_id, earlier=moment(earlier), later=moment(later))
    show(as_json, found, _compared(found))


def moment(text: str) -> int:
    """A date or a moment in ISO form; without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{text!r} is no moment: write 2026-01-31 or 2026-01-31T12:00.") from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())


def _compared(found: CompareInjectionResponse) -> str:
    told = [
        f"{word}: {', '.join(names)}"
        for word, names in (("appeared", found.appeared), ("vanished", found.vanished), ("reworded", found.reworded))
        if names
    ]
    return plain("\n".join([found.diff or found.msg or "", *told]).strip())
