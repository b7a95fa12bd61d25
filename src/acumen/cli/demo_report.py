"""What `acumen demo` tells: each line is read back from the server that played the day."""

import sys
from datetime import datetime
from pathlib import Path
from textwrap import fill
from typing import Any

import typer
from msgspec import Struct
from rich.console import Console
from rich.text import Text

from acumen.cli.day import DAY, PAST, QUESTION, WEEKS, Call, Session
from acumen.cli.output import as_json_text, table
from acumen.cli.talk import kind_of, line_of
from acumen.model.ids import Millis
from acumen_client.client import AsyncClient
from acumen_client.wire.failures import ProposalView
from acumen_client.wire.memories import ProfileView, UserPlaybookView
from acumen_client.wire.meter import InjectionStat
from acumen_client.wire.observe import Citation, PublishUserInteractionResponse
from acumen_client.wire.recall import UnifiedSearchViewResponse
from acumen_client.wire.review import MemoryReviewCandidate
from acumen_client.wire.shapes import CallerType, Status

Memory = ProfileView | UserPlaybookView
Name = tuple[str, str]

BUDGET = 300
MARGIN = 11
ALL_THE_TIME = 365
REVIEW_DAYS = 60
STATUSES = list(Status)
MOST = 1000
USERS = tuple(dict.fromkeys(session.user for session in (*PAST, *WEEKS, *DAY)))

# Beside the usual one, which a server may well be using by now.
LOOK_AROUND_PORT = 8062


class Summary(Struct, frozen=True):
    """What came of it, as the server tells it; only the searches are counted by the demo that made them."""

    data: Path
    searches: int
    sessions: int
    turns: int
    memories: dict[Name, Memory]
    stats: list[InjectionStat]
    flagged: list[MemoryReviewCandidate]
    operations: int
    proposed: list[ProposalView]
    example: UnifiedSearchViewResponse

    @property
    def replaced(self) -> list[Memory]:
        return [memory for memory in self.memories.values() if memory.status is Status.SUPERSEDED]

    @property
    def shown(self) -> int:
        return sum(one.surfaced_count for one in self.stats)

    @property
    def tokens(self) -> int:
        return sum(one.total_prompt_tokens for one in self.stats)

    def title(self, stat: InjectionStat) -> str:
        memory = self.memories.get((stat.entity_type, stat.entity_id))
        return "(deleted)" if memory is None else line_of(memory)


async def gathered(client: AsyncClient, data: Path, searches: int) -> Summary:
    user, question = QUESTION
    return Summary(
        data=data,
        searches=searches,
        sessions=len((await client.requests(top_k=MOST)).sessions),
        turns=len((await client.all_interactions(limit=MOST)).interactions),
        memories=await _memories(client),
        stats=(await client.injection_stats(days_back=ALL_THE_TIME)).stats,
        flagged=(await client.memory_review(include_all_users=True, days_back=REVIEW_DAYS)).candidates,
        operations=(await client.stats()).total,
        proposed=(await client.proposals()).proposals,
        # A look of ours, not use by an agent: it is not counted.
        example=await client.search(query=question, user_id=user, max_tokens=BUDGET, caller_type=CallerType.INTERNAL),
    )


async def _memories(client: AsyncClient) -> dict[Name, Memory]:
    found: list[Memory] = []
    for user in USERS:
        found += (await client.profiles(user_id=user, top_k=MOST, status_filter=STATUSES)).user_profiles
        found += (await client.user_playbooks(user_id=user, limit=MOST, status_filter=STATUSES)).user_playbooks
    return {_name(memory): memory for memory in found}


def _name(memory: Memory) -> Name:
    if isinstance(memory, ProfileView):
        return "profile", memory.profile_id
    return "user_playbook", str(memory.user_playbook_id)


# --- while it plays -----------------------------------------------------------------------------------------------


def tell_beginning(console: Console, folder: Path) -> None:
    words = f"Acumen plays {len(PAST)} sessions of months ago, four weeks of routine and all of yesterday, in {folder}."
    console.print(Text(words), soft_wrap=True)


def tell_weeks(console: Console, sessions: int) -> None:
    console.print(Text(f"\nFour weeks of routine follow: {sessions} sessions.", "bold"))


def tell_session(console: Console, session: Session, at: Millis) -> None:
    moment = datetime.fromtimestamp(at / 1000).astimezone()
    console.print()
    console.print(
        Text(f"{moment:%d %b %H:%M}  {session.title}", "bold")
        + Text(f"  {session.user} with the {session.agent} agent", "not bold dim")
    )


def tell_recall(console: Console, question: str, found: UnifiedSearchViewResponse) -> None:
    told = f"{found.context_tokens} tokens of context" if found.context else "nothing relevant is known"
    _line(console, "recalls", "cyan", f"“{question}”: {told}")
    _context(console, found)


def _context(console: Console, found: UnifiedSearchViewResponse) -> None:
    for line in (found.context or "").splitlines():
        console.print(Text(_wrapped(line, console, " " * MARGIN), "dim"), soft_wrap=True)


def tell_citations(console: Console, cited: list[Citation]) -> None:
    _line(console, "cites", "cyan", f"{len(cited)} of what it was shown as the reason for its answer")


def tell_echo(console: Console, answer: PublishUserInteractionResponse) -> None:
    learned = (answer.profiles_added or 0) + (answer.playbooks_added or 0)
    _line(
        console, "echoes", "magenta", f"the agent logs its prompt with our context in it: {learned} learned from that"
    )


def tell_call(console: Console, call: Call) -> None:
    given = ", ".join(f"{name}={value}" for name, value in call.given.items())
    _line(console, "fails" if call.fails else "does", "red" if call.fails else "cyan", f"{call.tool}({given})")


async def tell_learned(
    client: AsyncClient, console: Console, user: str, answer: PublishUserInteractionResponse
) -> None:
    if not (answer.profiles_added or answer.playbooks_added):
        return
    new = await _from_request(client, user, answer.request_id or "")
    for memory in new:
        _line(console, "learns", "green", f"{line_of(memory)} ({kind_of(memory)})")
    for memory in await _replaced_by(client, user, {_name(memory) for memory in new}):
        _line(console, "replaces", "yellow", f"{line_of(memory)} ({kind_of(memory)})")


def _line(console: Console, verb: str, colour: str, words: str) -> None:
    begins = f"  {verb}".ljust(MARGIN)
    text = Text(_wrapped(words, console, begins))
    text.stylize(colour, 0, MARGIN)
    console.print(text, soft_wrap=True)


def _wrapped(words: str, console: Console, begins: str) -> str:
    return fill(words, console.width, initial_indent=begins, subsequent_indent=" " * MARGIN, break_on_hyphens=False)


async def _from_request(client: AsyncClient, user: str, request: str) -> list[Memory]:
    profiles = await client.profiles(user_id=user, top_k=MOST)
    lessons = await client.user_playbooks(user_id=user, request_id=request, limit=MOST)
    facts = [profile for profile in profiles.user_profiles if profile.generated_from_request_id == request]
    return [*facts, *lessons.user_playbooks]


async def _replaced_by(client: AsyncClient, user: str, new: set[Name]) -> list[Memory]:
    gone = [Status.SUPERSEDED]
    profiles = await client.profiles(user_id=user, top_k=MOST, status_filter=gone)
    lessons = await client.user_playbooks(user_id=user, limit=MOST, status_filter=gone)
    old: list[Memory] = [*profiles.user_profiles, *lessons.user_playbooks]
    return [memory for memory in old if (_name(memory)[0], str(memory.superseded_by)) in new]


# --- at the end ---------------------------------------------------------------------------------------------------


def show(summary: Summary, console: Console, *, as_json: bool) -> None:
    if as_json:
        typer.echo(as_json_text(_as_json(summary)))
        return
    console.print()
    console.rule(Text("What came of the day", "bold"), style="dim")
    for verb, said in _numbers(summary):
        _line(console, verb, "bold", said)
    _show_table(console, "Most shown", ["shown", "tokens", "memory"], _most_shown(summary))
    _show_table(console, "Flagged for review", ["user", "memory", "why"], _flagged(summary))
    _show_table(console, "Proposed, until a person approves", ["about", "lesson"], _proposed(summary))
    user, question = QUESTION
    console.print(Text(f"\nThe next agent of {user} asks “{question}” and is told", "bold"))
    _context(console, summary.example)
    _show_next(summary, console)


def _numbers(summary: Summary) -> list[tuple[str, str]]:
    learned, gone = len(summary.memories), len(summary.replaced)
    return [
        ("observed", f"{summary.turns} turns in {summary.sessions} sessions of {len(USERS)} users"),
        ("", f"{summary.operations} operations, of which {len(summary.proposed)} lessons are proposed"),
        ("learned", f"{learned} memories; {gone} of them gave way to newer ones"),
        ("recalled", f"{summary.searches} searches put memories before agents {summary.shown} times"),
        ("spent", f"{summary.tokens} tokens of prompt, on {len(summary.stats)} different memories"),
        ("flagged", f"{len(summary.flagged)} memories that deserve a look"),
    ]


def _show_table(console: Console, title: str, headings: list[str], rows: list[list[object]]) -> None:
    console.print(Text(f"\n{title}", "bold"))
    console.print(Text(table(headings, rows, console.width)), soft_wrap=True)


def _most_shown(summary: Summary) -> list[list[object]]:
    return [[one.surfaced_count, one.total_prompt_tokens, summary.title(one)] for one in summary.stats[:5]]


def _flagged(summary: Summary) -> list[list[object]]:
    return [
        [one.user_id, one.title, "; ".join(f"{name}: {why}" for name, why in one.reasons.items())]
        for one in summary.flagged
    ]


def _proposed(summary: Summary) -> list[list[object]]:
    return [[one.about, f"[{one.trigger}] {one.content}" if one.trigger else one.content] for one in summary.proposed]


def _show_next(summary: Summary, console: Console) -> None:
    user, question = QUESTION
    console.print()
    console.rule(Text("Look around", "bold"), style="dim")
    body = f'{{"user_id": "{user}", "query": "{question}"}}'
    acumen, url = _as_called(), f"http://127.0.0.1:{LOOK_AROUND_PORT}"
    lines = [
        f"{acumen} serve --data {summary.data} --port {LOOK_AROUND_PORT}   # then, in another terminal:",
        f'{acumen} search "{question}" --user {user} --url {url}',
        f"{acumen} memory-review --all-users --url {url}",
        f"{acumen} stats injections --url {url}",
        f"{acumen} proposals --url {url}",
        f"curl -s {url}/api/search -H 'Content-Type: application/json' -d '{body}'",
        f"{url}/ui   # the dashboard",
        f"{url}/docs",
    ]
    for line in lines:
        console.print(Text(f"  {line}"), soft_wrap=True)


def _as_called() -> str:
    """The way this very program was started, so that what is shown can be typed as it stands."""
    return sys.argv[0] if Path(sys.argv[0]).name == "acumen" else "acumen"


def _as_json(summary: Summary) -> dict[str, Any]:
    user, question = QUESTION
    return {
        "data": str(summary.data),
        "sessions": summary.sessions,
        "turns": summary.turns,
        "searches": summary.searches,
        "learned": len(summary.memories),
        "replaced": len(summary.replaced),
        "recalled": summary.shown,
        "tokens": summary.tokens,
        "flagged": len(summary.flagged),
        "operations": summary.operations,
        "proposed": [one.model_dump(mode="json", exclude_none=True) for one in summary.proposed],
        "memories": [memory.model_dump(mode="json", exclude_none=True) for memory in summary.memories.values()],
        "stats": [stat.model_dump(mode="json", exclude_none=True) for stat in summary.stats],
        "review": [one.model_dump(mode="json", exclude_none=True) for one in summary.flagged],
        "example": {"user_id": user, "query": question, "context": summary.example.context},
    }
