"""What `acumen demo` prints: every line and number is read from the server that played the script."""

import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from textwrap import fill
from typing import Any

import typer
from msgspec import Struct
from rich.console import Console
from rich.text import Text

from acumen.cli.demo.script import DAY, PAST, QUESTIONS, WEEKS, CallTool, DemoSession, Review
from acumen.cli.output import as_json_text, table
from acumen.cli.remote.publish_search import kind_of, line_of
from acumen.model.ids import Millis
from acumen.model.plural import counted
from acumen_client.client import AsyncClient
from acumen_client.wire.changes import MemoryChange, MemoryChangeKind
from acumen_client.wire.failures import ProposalView
from acumen_client.wire.memories import ProfileView, UserPlaybookView
from acumen_client.wire.meter import InjectionStat
from acumen_client.wire.observe import Citation, PublishUserInteractionResponse
from acumen_client.wire.recall import UnifiedSearchViewResponse
from acumen_client.wire.review import ConflictChoice, MemoryConflict, MemoryReviewCandidate
from acumen_client.wire.shapes import CallerType, MemoryStatus

Memory = ProfileView | UserPlaybookView
Name = tuple[str, str]

BUDGET = 300
MARGIN = 11
DAYS_OF_STATS = 365
REVIEW_DAYS = 60
STATUSES = list(MemoryStatus)
LIMIT = 1000
PARTS: tuple[DemoSession | Review, ...] = (*PAST, *WEEKS, *DAY)
USERS = tuple(dict.fromkeys(part.user for part in PARTS))

# Another than the default one, which a server may be using.
EXAMPLE_PORT = 8062


class Example(Struct, frozen=True):
    """A search at the end, as the next agent would make it."""

    user: str
    question: str
    shows: str
    answer: UnifiedSearchViewResponse


class Summary(Struct, frozen=True):
    """The result of the script, as the server reports it; only searches are counted by the demo."""

    data: Path
    searches: int
    sessions: int
    turns: int
    memories: dict[Name, Memory]
    changes: list[MemoryChange]
    stats: list[InjectionStat]
    flagged: list[MemoryReviewCandidate]
    operations: int
    proposed: list[ProposalView]
    examples: list[Example]

    @property
    def injections(self) -> int:
        return sum(stat.surfaced_count for stat in self.stats)

    @property
    def tokens(self) -> int:
        return sum(stat.total_prompt_tokens for stat in self.stats)

    def count(self, kind: MemoryChangeKind) -> int:
        return Counter(change.change for change in self.changes)[kind]

    def title(self, stat: InjectionStat) -> str:
        memory = self.memories.get((stat.entity_type, stat.entity_id))
        return "(deleted)" if memory is None else line_of(memory)


async def gather(client: AsyncClient, data: Path, searches: int) -> Summary:
    return Summary(
        data=data,
        searches=searches,
        sessions=len((await client.requests(top_k=LIMIT)).sessions),
        turns=len((await client.all_interactions(limit=LIMIT)).interactions),
        memories=await _memories(client),
        changes=(await client.memory_changes(limit=LIMIT)).changes,
        stats=(await client.injection_stats(days_back=DAYS_OF_STATS)).stats,
        flagged=(await client.memory_review(include_all_users=True, days_back=REVIEW_DAYS)).candidates,
        operations=(await client.stats()).total,
        proposed=(await client.proposals()).proposals,
        examples=[await _example(client, *question) for question in QUESTIONS],
    )


async def _example(client: AsyncClient, user: str, question: str, shows: str) -> Example:
    """Not a search by an agent: it is not metered."""
    answer = await client.search(query=question, user_id=user, max_tokens=BUDGET, caller_type=CallerType.INTERNAL)
    return Example(user, question, shows, answer)


async def _memories(client: AsyncClient) -> dict[Name, Memory]:
    memories: list[Memory] = []
    for user in USERS:
        memories += (await client.profiles(user_id=user, top_k=LIMIT, status_filter=STATUSES)).user_profiles
        memories += (await client.user_playbooks(user_id=user, limit=LIMIT, status_filter=STATUSES)).user_playbooks
    return {_name(memory): memory for memory in memories}


def _name(memory: Memory) -> Name:
    if isinstance(memory, ProfileView):
        return "profile", memory.profile_id
    return "user_playbook", str(memory.user_playbook_id)


# --- while it plays -----------------------------------------------------------------------------------------------


def show_beginning(console: Console, folder: Path) -> None:
    text = f"Replaying {len(PAST)} older sessions, four weeks of routine and one full day (yesterday) in {folder}."
    console.print(Text(text), soft_wrap=True)


def show_weeks(console: Console, sessions: int) -> None:
    console.print(Text(f"\nFour weeks of routine: {sessions} sessions.", "bold"))


def show_heading(console: Console, title: str, people: str, at: Millis) -> None:
    moment = datetime.fromtimestamp(at / 1000).astimezone()
    console.print()
    console.print(Text(f"{moment:%d %b %H:%M}  {title}", "bold") + Text(f"  {people}", "not bold dim"))


def show_recall(console: Console, question: str, answer: UnifiedSearchViewResponse) -> None:
    size = f"{answer.context_tokens} tokens of context" if answer.context else "no relevant memories"
    _line(console, "recalls", "cyan", f"“{question}”: {size}")
    _context(console, answer)


def _context(console: Console, answer: UnifiedSearchViewResponse) -> None:
    for line in (answer.context or "").splitlines():
        console.print(Text(_wrapped(line, console, " " * MARGIN), "dim"), soft_wrap=True)


def show_citations(console: Console, citations: Sequence[Citation]) -> None:
    handles = " ".join(f"[{citation.real_id}]" for citation in citations)
    _line(console, "cites", "cyan", f"{handles} in its answer")


def show_echo(console: Console, answer: PublishUserInteractionResponse) -> None:
    learned = (answer.profiles_added or 0) + (answer.playbooks_added or 0)
    result = f"learned {learned} times again" if learned else "not learned again"
    _line(console, "echoes", "magenta", f"the agent logs its prompt with the context in it: {result}")


def show_call(console: Console, call: CallTool) -> None:
    arguments = ", ".join(f"{name}={value}" for name, value in call.arguments.items())
    _line(console, "fails" if call.fails else "calls", "red" if call.fails else "cyan", f"{call.tool}({arguments})")


_COLOURS = {
    MemoryChangeKind.SUPERSEDED: "yellow",
    MemoryChangeKind.CONFLICT: "yellow",
    MemoryChangeKind.FORGOTTEN: "red",
}
_VERBS = {
    MemoryChangeKind.SUPERSEDED: "ends",
    MemoryChangeKind.CONFLICT: "conflict",
    MemoryChangeKind.FORGOTTEN: "forgets",
}


async def show_changes(client: AsyncClient, console: Console, changes: Sequence[MemoryChange]) -> None:
    """Learned memories with their trigger and pitfall; of the others why they changed."""
    memories = await _memories(client) if changes else {}
    for change in changes:
        memory = memories.get((change.kind.value, change.id))
        if change.change is MemoryChangeKind.LEARNED and memory is not None:
            _line(console, "learns", "green", f"{line_of(memory)} ({kind_of(memory)})")
        elif change.change in _VERBS and memory is not None:
            text = f"{memory.content} {change.reason}" if change.change is MemoryChangeKind.FORGOTTEN else change.reason
            _line(console, _VERBS[change.change], _COLOURS[change.change], text)


def show_settled(console: Console, conflict: MemoryConflict, keep: ConflictChoice) -> None:
    sides = {ConflictChoice.NEWER: conflict.newer.text, ConflictChoice.OLDER: conflict.older.text}
    text = f"keeps “{sides[keep]}”; the other one is superseded" if keep in sides else "keeps both memories"
    _line(console, "settles", "green", text)


def show_undone(console: Console, change: MemoryChange) -> None:
    _line(console, "undoes", "green", f"{change.change} by “{change.quote}”: {change.kind} {change.id} restored")


def _line(console: Console, verb: str, colour: str, words: str) -> None:
    begins = f"  {verb}".ljust(MARGIN)
    text = Text(_wrapped(words, console, begins))
    text.stylize(colour, 0, MARGIN)
    console.print(text, soft_wrap=True)


def _wrapped(words: str, console: Console, begins: str) -> str:
    return fill(words, console.width, initial_indent=begins, subsequent_indent=" " * MARGIN, break_on_hyphens=False)


# --- at the end ---------------------------------------------------------------------------------------------------


def show(summary: Summary, console: Console, *, as_json: bool) -> None:
    if as_json:
        typer.echo(as_json_text(_as_json(summary)))
        return
    console.print()
    console.rule(Text("Summary", "bold"), style="dim")
    for verb, text in _numbers(summary):
        _line(console, verb, "bold", text)
    _show_table(console, "Most injected", ["injected", "tokens", "memory"], _most_injected(summary))
    _show_table(console, "Flagged for review", ["user", "memory", "why"], _flagged(summary))
    _show_table(console, "Proposed lessons, not shown until approved", ["about", "lesson"], _proposed(summary))
    for example in summary.examples:
        heading = f"\n{example.user} next asks “{example.question}”; the context has {example.shows}"
        console.print(Text(heading, "bold"), soft_wrap=True)
        _context(console, example.answer)
    _show_next(summary, console)


def _numbers(summary: Summary) -> list[tuple[str, str]]:
    superseded, forgotten = map(summary.count, (MemoryChangeKind.SUPERSEDED, MemoryChangeKind.FORGOTTEN))
    ended = f"{superseded} superseded, {forgotten} forgotten"
    conflicts = counted(summary.count(MemoryChangeKind.CONFLICT), "conflict")
    reviewed = f"{conflicts}, {summary.count(MemoryChangeKind.RESTORED)} restored"
    return [
        ("observed", f"{summary.turns} turns in {summary.sessions} sessions of {len(USERS)} users"),
        ("", f"{summary.operations} tool calls; {len(summary.proposed)} lessons proposed from them"),
        ("learned", f"{len(summary.memories)} memories; {ended}, {reviewed}"),
        ("recalled", f"{summary.searches} searches injected memories {summary.injections} times"),
        ("spent", f"{summary.tokens} prompt tokens on {len(summary.stats)} different memories"),
        ("flagged", f"{len(summary.flagged)} memories for review"),
    ]


def _show_table(console: Console, title: str, headings: list[str], rows: list[list[object]]) -> None:
    console.print(Text(f"\n{title}", "bold"))
    console.print(Text(table(headings, rows, console.width)), soft_wrap=True)


def _most_injected(summary: Summary) -> list[list[object]]:
    return [[stat.surfaced_count, stat.total_prompt_tokens, summary.title(stat)] for stat in summary.stats[:5]]


def _flagged(summary: Summary) -> list[list[object]]:
    return [
        [candidate.user_id, candidate.title, "; ".join(f"{name}: {why}" for name, why in candidate.reasons.items())]
        for candidate in summary.flagged
    ]


def _proposed(summary: Summary) -> list[list[object]]:
    return [
        [lesson.about, f"[{lesson.trigger}] {lesson.content}" if lesson.trigger else lesson.content]
        for lesson in summary.proposed
    ]


def _show_next(summary: Summary, console: Console) -> None:
    user, question, _ = QUESTIONS[0]
    console.print()
    console.rule(Text("Try it", "bold"), style="dim")
    body = f'{{"user_id": "{user}", "query": "{question}"}}'
    acumen, url = _as_called(), f"http://127.0.0.1:{EXAMPLE_PORT}"
    lines = [
        f"{acumen} serve --data {summary.data} --port {EXAMPLE_PORT}   # then, in another terminal:",
        f'{acumen} search "{question}" --user {user} --url {url}',
        f"{acumen} changes --url {url}",
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
    """The path by which this program was started, so that the printed commands can be run."""
    return sys.argv[0] if Path(sys.argv[0]).name == "acumen" else "acumen"


def _as_json(summary: Summary) -> dict[str, Any]:
    return {
        "data": str(summary.data),
        "sessions": summary.sessions,
        "turns": summary.turns,
        "searches": summary.searches,
        "learned": len(summary.memories),
        "injections": summary.injections,
        "tokens": summary.tokens,
        "flagged": len(summary.flagged),
        "operations": summary.operations,
        "proposed": [lesson.model_dump(mode="json", exclude_none=True) for lesson in summary.proposed],
        "memories": [memory.model_dump(mode="json", exclude_none=True) for memory in summary.memories.values()],
        "changes": [change.model_dump(mode="json", exclude_none=True) for change in summary.changes],
        "stats": [stat.model_dump(mode="json", exclude_none=True) for stat in summary.stats],
        "review": [candidate.model_dump(mode="json", exclude_none=True) for candidate in summary.flagged],
        "examples": [
            {
                "user_id": example.user,
                "query": example.question,
                "context": example.answer.context,
                "standing": example.answer.standing,
            }
            for example in summary.examples
        ],
    }
