"""`acumen stats` and `acumen explain`: what injected memories cost, and what a past search injected."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from acumen.cli.options import Days, Limit, Reply, examples, remote
from acumen.cli.output import TITLE, listed, table, when
from acumen.cli.remote.input import moment
from acumen.model.prompt_injection import visible
from acumen_client.client import Client
from acumen_client.wire.meter import (
    CompareInjectionResponse,
    CostGroup,
    GetInjectionResponse,
    InjectionStat,
    MemoryCost,
)

app = typer.Typer()
stats = typer.Typer(help="Show what injected memories cost.", no_args_is_help=True)
app.add_typer(stats, name="stats")


@stats.command(epilog=examples("acumen stats injections", "acumen stats injections --days 7 --json"))
@remote
def injections(client: Client, days: Days = 30, limit: Limit = 20) -> Reply:
    """List how often each memory was injected, and the tokens it used."""
    page = client.injection_stats(days_back=days, limit=limit)
    headings = ["injections", "sessions", "tokens", "memory", "text", "last injected"]
    since = f" Metered since {when(page.covered_since)}." if page.covered_since else ""
    return Reply(page, listed(headings, [_injected(stat) for stat in page.stats], f"{page.msg}.{since}"))


def _injected(stat: InjectionStat) -> list[object]:
    counts = [stat.surfaced_count, stat.distinct_session_count, stat.total_prompt_tokens]
    text = "(deleted)" if stat.title is None else stat.title[:TITLE]
    return [*counts, f"{stat.entity_type}:{stat.entity_id}", text, when(stat.last_injected_at)]


@stats.command(epilog=examples("acumen stats costs", "acumen stats costs --by day --model gpt-5-mini"))
@remote
def costs(
    client: Client,
    by: Annotated[CostGroup, typer.Option(help="Group by.")] = CostGroup.MEMORY,
    days: Days = 30,
    model: Annotated[str | None, typer.Option(show_default="server setting", help="Model whose price is used.")] = None,
    limit: Limit = 20,
) -> Reply:
    """List what injected memories cost, and how much of it was never cited."""
    page = client.memory_costs(group_by=by, days_back=days, model=model, limit=limit)
    rows = [[_group(cost), *_cost(cost)] for cost in [*page.costs, page.all_together]]
    headings = [by, "injections", "tokens", "echoed", "cited", "wasted", "wasted share", "US$", "wasted US$"]
    priced = f"At {page.usd_per_million_tokens} US$ per million tokens ({page.model})."
    price = priced if page.usd_per_million_tokens is not None else page.msg or ""
    note = "Uncited is weak evidence: agents tend to under-cite."
    if page.cited_since is None:
        note = "No agent has cited a memory yet, so uncited tokens are not evidence."
    return Reply(page, f"{table(headings, rows)}\n\n{price} {note}")


def _group(cost: MemoryCost) -> str:
    if cost.entity_id is not None:
        return f"{cost.entity_type}:{cost.entity_id} {(cost.title or '(deleted)')[:TITLE]}"
    name = next((value for value in (cost.user_id, cost.agent_version, cost.day) if value is not None), "total")
    return name or "(not reported)"


def _cost(cost: MemoryCost) -> list[object]:
    share = None if cost.wasted_share is None else f"{cost.wasted_share:.0%}"
    dollars = [None if value is None else f"{value:.6f}" for value in (cost.usd, cost.wasted_usd)]
    tokens = [cost.shown_tokens, cost.echoed_tokens, cost.cited_tokens, cost.wasted_tokens]
    return [cost.shown_count, *tokens, share, *dollars]


# --- explain --------------------------------------------------------------------------------------------------------


@app.command(
    epilog=examples("acumen explain inj_0123", "acumen explain inj_0123 --earlier 2026-01-01 --later 2026-02-01")
)
@remote
def explain(
    client: Client,
    injection: Annotated[str, typer.Argument(metavar="INJECTION", help="The injection_id of a search.")],
    earlier: Annotated[str | None, typer.Option(help="Run it again as of this time, and compare.")] = None,
    later: Annotated[str | None, typer.Option(show_default="now", help="The second time to compare.")] = None,
) -> Reply:
    """Show a past search: query, results, injected context."""
    if earlier is None and later is None:
        answer = client.injection(injection_id=injection)
        return Reply(answer, _explained(answer))
    now = datetime.now(UTC)
    first, second = (moment(text) if text else now for text in (earlier, later))
    difference = client.compare_injection(
        injection_id=injection, earlier=int(first.timestamp()), later=int(second.timestamp())
    )
    return Reply(difference, _difference(difference))


def _explained(answer: GetInjectionResponse) -> str:
    rows = [
        [
            "injected" if memory.shown else "excluded",
            f"{memory.kind}:{memory.id}",
            memory.score,
            ", ".join(f"{name} {value:.2f}" for name, value in (memory.reasons or {}).items()),
            memory.tokens,
            memory.line[:TITLE],
        ]
        for memory in answer.memories
    ]
    query = f"{when(answer.created_at)}  {answer.caller_type}, user {answer.user_id or '-'}. Query: {answer.query}"
    holdout = answer.experiment_arm == "holdout"
    withheld = f"\nNothing was injected: holdout of experiment {answer.experiment_id}." if holdout else ""
    results = table(["result", "memory", "score", "matched by", "tokens", "line"], rows) if rows else "No results."
    context = f"Injected context ({answer.context_tokens} tokens):\n{visible(answer.context)}"
    return f"{visible(query)}{withheld}\n\n{results}\n\n{context}"


def _difference(answer: CompareInjectionResponse) -> str:
    groups = {"Added": answer.appeared, "Removed": answer.vanished, "Reworded": answer.reworded}
    lines = [f"{label}: {', '.join(names)}" for label, names in groups.items() if names]
    return visible("\n".join([answer.diff or answer.msg or "", *lines]).strip())
