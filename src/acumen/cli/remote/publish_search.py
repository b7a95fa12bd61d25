"""`acumen publish` and `acumen search`: what an agent does, by hand."""

import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from msgspec import Struct

from acumen.cli.options import Reply, User, examples, remote
from acumen.cli.output import table
from acumen.cli.remote.input import Body, bodies, role_warnings
from acumen.errors import BadInput
from acumen.model.conversation import AGENT_ROLES, USER_ROLES
from acumen.model.plural import counted
from acumen_client.client import Client
from acumen_client.wire.memories import PlaybookView, ProfileView
from acumen_client.wire.observe import PublishUserInteractionResponse
from acumen_client.wire.recall import UnifiedSearchViewResponse
from acumen_client.wire.shapes import CallerType, SearchMode

app = typer.Typer()

# More than one request ever teaches.
MAX_LEARNED = 1000
NO_USER_TURN = f"No user turn found, so nothing is learned: a user turn has the role {', '.join(sorted(USER_ROLES))}"


# --- publish ------------------------------------------------------------------------------------------------------


class PublishResult(Struct, frozen=True):
    """One publish, its answer, and the memories learned from it (with --wait)."""

    body: Body
    answer: PublishUserInteractionResponse
    learned: list[ProfileView | PlaybookView]
    warnings: list[str]  # those of the server too

    def as_json(self) -> dict[str, Any]:
        answer = self.answer.model_dump(mode="json", exclude_none=True)
        learned = [memory.model_dump(mode="json", exclude_none=True) for memory in self.learned]
        about = {name: self.body[name] for name in ("user_id", "session_id")}
        return {**about, **answer, "warnings": self.warnings, "learned": learned}

    def text(self) -> str:
        turns = counted(len(self.body["interaction_data_list"]), "turn")
        stored = f"Stored {turns} of session {self.body['session_id']} as {self.answer.request_id}."
        warnings = [f"Warning: {warning}" for warning in self.warnings]
        return "\n".join([stored, *warnings, *self._learning()])

    def _learning(self) -> Iterator[str]:
        answer = self.answer
        if answer.profiles_added is None:
            yield "Learning runs in the background; use --wait to see the result."
        elif answer.learning_status != "done":
            yield f"Not processed yet: {answer.learning_reason}."
        elif not (self.learned or answer.profiles_updated or answer.playbooks_updated):
            yield "Nothing new was learned."
        else:
            updated = (answer.profiles_updated or 0) + (answer.playbooks_updated or 0)
            yield f"Learned {counted(len(self.learned), 'memory', 'memories')}, updated {updated}:"
            yield from (f"  {kind_of(memory)}: {line_of(memory)}" for memory in self.learned)


@app.command(
    epilog=examples(
        'acumen publish --user ana "user: Deploy to production." "assistant: Deploying to us-east-1 now." '
        '"user: No, always use us-west-2." --wait',
        "acumen publish --user ana --session s1 --file turns.jsonl",
        "agent-log | acumen publish --user ana --stdin --json",
        "",
        "A file contains turns as JSON or JSON lines, whole publish bodies, or lines such as `user: hello`.",
    )
)
@remote
def publish(
    client: Client,
    turns: Annotated[
        list[str] | None, typer.Argument(metavar="TURN", help='Turns, oldest first, such as "user: hello".')
    ] = None,
    user: User = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", show_default="a new one", help="Session id.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the turns from a file.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the turns from standard input.")] = False,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait for learning and show what was learned.")] = False,
    finish: Annotated[bool, typer.Option("--finish", help="End the session.")] = False,
    source: Annotated[str | None, typer.Option(help="Name of the publishing system.")] = None,
    agent_version: Annotated[str | None, typer.Option(help="Version of the agent.")] = None,
    request_id: Annotated[str | None, typer.Option(help="Idempotency key: the same id is stored once.")] = None,
) -> Reply:
    """Publish turns of a conversation. Returns once they are stored on disk."""
    fields = {
        "user_id": user,
        "session_id": session,
        "source": source,
        "agent_version": agent_version,
        "request_id": request_id,
        "session_finished": finish or None,
    }
    # Fields of the command line win over those of a file.
    about = {name: value for name, value in fields.items() if value is not None}
    new_session = {"session_id": f"cli_{uuid.uuid4().hex[:12]}"}
    published = [
        _publish(
            client,
            {**new_session, **body, **about},
            role_warnings(turns or []),
            wait=wait,
            new_session="session_id" not in {**body, **about},
        )
        for body in bodies(turns or [], file, stdin=stdin)
    ]
    answers = [each.as_json() for each in published]
    value = answers[0] if len(answers) == 1 else {"published": answers}
    return Reply(value, "\n".join(each.text() for each in published))


def _publish(client: Client, body: Body, warnings: list[str], *, wait: bool, new_session: bool) -> PublishResult:
    if not body.get("user_id"):
        raise BadInput("No user given: pass --user NAME.")
    answer = client.publish(**{**body, "wait_for_response": wait})
    if new_session and not answer.warnings and not any(map(_by_user, body["interaction_data_list"])):
        warnings = [*warnings, NO_USER_TURN]
    learned = _learned(client, body["user_id"], answer.request_id or "") if wait else []
    return PublishResult(body, answer, learned, [*warnings, *answer.warnings])


def _by_user(turn: Any) -> bool:
    """Also an invalid turn: the server refuses it."""
    role = turn.get("role", "User") if isinstance(turn, dict) else "User"
    return str(role).strip().lower() not in AGENT_ROLES


def _learned(client: Client, user: str, request: str) -> list[ProfileView | PlaybookView]:
    profiles = client.profiles(user_id=user, top_k=MAX_LEARNED).user_profiles
    lessons = client.user_playbooks(user_id=user, request_id=request, limit=MAX_LEARNED).user_playbooks
    return [*(fact for fact in profiles if fact.generated_from_request_id == request), *lessons]


# --- search -------------------------------------------------------------------------------------------------------


@app.command(
    epilog=examples(
        'acumen search "which region do I deploy to" --user ana',
        'acumen search "how does she like her reports" -u ana --max-tokens 300 --context-only',
    )
)
@remote
def search(
    client: Client,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the agent is about to do or answer.")],
    user: User = None,
    top_k: Annotated[int, typer.Option(min=1, max=100, help="Maximum results per kind.")] = 5,
    max_tokens: Annotated[
        int | None, typer.Option(min=0, show_default="server setting", help="Token budget of the context.")
    ] = None,
    mode: Annotated[
        Literal["hybrid", "fts", "vector"],
        typer.Option(help="hybrid: keyword and semantic; fts: keyword; vector: semantic."),
    ] = "hybrid",
    context_only: Annotated[bool, typer.Option("--context-only", help="Print only the text for the prompt.")] = False,
    count: Annotated[bool, typer.Option("--count/--no-count", help="Count the results as injected.")] = True,
) -> Reply:
    """Search memories and print the context for a prompt. Without --user, search shared lessons only."""
    if not query.strip():
        raise BadInput("The query is empty.")
    answer = client.search(
        query=query,
        user_id=user,
        top_k=top_k,
        max_tokens=max_tokens,
        search_mode=SearchMode(mode),
        caller_type=CallerType.PRODUCTION_AGENT if count else CallerType.INTERNAL,
    )
    if context_only:
        return Reply({"context": answer.context or ""}, answer.context or "")
    return Reply(answer, _search_text(answer))


def _search_text(answer: UnifiedSearchViewResponse) -> str:
    hits: list[ProfileView | PlaybookView] = [*answer.profiles, *answer.user_playbooks, *answer.agent_playbooks]
    best_first = sorted(hits, key=lambda hit: -(hit.score or 0))
    rows = [[f"{hit.score or 0:.3f}", kind_of(hit), line_of(hit)] for hit in best_first]
    parts = [table(["score", "kind", "memory"], rows) if rows else f"{answer.msg}."]
    if answer.context:
        parts += ["", f"Context ({counted(answer.context_tokens or 0, 'token')}):", answer.context]
    reasons = Counter(left.reason for left in answer.left_out)
    parts += [f"Excluded: {counted(count, 'memory', 'memories')} ({reason})." for reason, count in reasons.items()]
    if answer.degraded and rows:
        parts.append(f"{answer.msg}.")
    return "\n".join(parts)


# --- memories as lines --------------------------------------------------------------------------------------------


def kind_of(memory: ProfileView | PlaybookView) -> str:
    if isinstance(memory, ProfileView):
        return "profile"
    return "user playbook" if hasattr(memory, "user_playbook_id") else "agent playbook"


def line_of(memory: ProfileView | PlaybookView) -> str:
    """A lesson with its trigger before it and its pitfall after it."""
    if isinstance(memory, ProfileView):
        return memory.content
    before = f"[{memory.trigger}] " if memory.trigger else ""
    after = f" Avoid: {memory.pitfall}" if memory.pitfall else ""
    return f"{before}{memory.content}{after}"
