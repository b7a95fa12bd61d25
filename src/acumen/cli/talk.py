"""`acumen publish` and `acumen search`: what an agent does, by hand."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import typer
from msgspec import Struct

from acumen.cli.output import as_json_text, show, table
from acumen.cli.turns import Body
from acumen.errors import BadInput
from acumen_client.client import Client
from acumen_client.wire.memories import PlaybookView, ProfileView
from acumen_client.wire.observe import PublishUserInteractionResponse
from acumen_client.wire.recall import UnifiedSearchViewResponse

# More than one request ever teaches.
MOST_LEARNED = 1000


# --- publish ------------------------------------------------------------------------------------------------------


class Published(Struct, frozen=True):
    """One publish, its answer, and the memories that came of it (where that was waited for)."""

    body: Body
    answer: PublishUserInteractionResponse
    learned: list[ProfileView | PlaybookView]

    def told(self) -> dict[str, Any]:
        answer = self.answer.model_dump(mode="json", exclude_none=True)
        learned = [memory.model_dump(mode="json", exclude_none=True) for memory in self.learned]
        about = {name: self.body[name] for name in ("user_id", "session_id")}
        return {**about, **answer, "learned": learned}

    def words(self) -> str:
        count = len(self.body["interaction_data_list"])
        stored = f"Stored {count} turn(s) of session {self.body['session_id']} as {self.answer.request_id}."
        return "\n".join([stored, *(f"Warning: {each}" for each in self.answer.warnings), *self._outcome()])

    def _outcome(self) -> Iterator[str]:
        if self.answer.profiles_added is None:
            yield "What it teaches is learned in the background; --wait shows it."
        elif self.answer.learning_status != "done":
            yield f"It is not learned from yet: {self.answer.learning_reason}."
        elif not (self.learned or self.answer.profiles_updated or self.answer.playbooks_updated):
            yield "It taught nothing new."
        else:
            updated = (self.answer.profiles_updated or 0) + (self.answer.playbooks_updated or 0)
            yield f"Learned {len(self.learned)} new, changed {updated} known:"
            yield from (f"  {kind_of(memory)}: {line_of(memory)}" for memory in self.learned)


def publish(client: Client, given: list[Body], about: dict[str, Any], *, wait: bool, as_json: bool) -> None:
    """`about` are the fields said on the command line; they win over those of a file."""
    session = f"cli_{uuid.uuid4().hex[:12]}"
    done = [_publish(client, {"session_id": session, **body, **about}, wait=wait) for body in given]
    if as_json:
        told = [each.told() for each in done]
        typer.echo(as_json_text(told[0] if len(told) == 1 else {"published": told}))
    else:
        typer.echo("\n".join(each.words() for each in done))


def _publish(client: Client, body: Body, *, wait: bool) -> Published:
    if not body.get("user_id"):
        raise BadInput("Say whose turns these are: --user NAME.")
    answer = client.publish(**{**body, "wait_for_response": wait})
    return Published(body, answer, _learned(client, body["user_id"], answer.request_id or "") if wait else [])


def _learned(client: Client, user: str, request: str) -> list[ProfileView | PlaybookView]:
    profiles = client.profiles(user_id=user, top_k=MOST_LEARNED).user_profiles
    lessons = client.user_playbooks(user_id=user, request_id=request, limit=MOST_LEARNED).user_playbooks
    return [*(fact for fact in profiles if fact.generated_from_request_id == request), *lessons]


# --- search -------------------------------------------------------------------------------------------------------


def search(client: Client, ask: dict[str, Any], *, context_only: bool, as_json: bool) -> None:
    found = client.search(**ask)
    if context_only:
        typer.echo(json.dumps({"context": found.context or ""}) if as_json else found.context or "")
        return
    show(as_json, found, _search_words(found))


def _search_words(found: UnifiedSearchViewResponse) -> str:
    hits: list[ProfileView | PlaybookView] = [*found.profiles, *found.user_playbooks, *found.agent_playbooks]
    if not hits:
        return found.msg or "Nothing relevant is known."
    best_first = sorted(hits, key=lambda hit: -(hit.score or 0))
    listed = table(
        ["score", "kind", "memory"], [[f"{hit.score or 0:.3f}", kind_of(hit), line_of(hit)] for hit in best_first]
    )
    parts = [listed, "", f"Context, {found.context_tokens or 0} tokens:", found.context or ""]
    if found.left_out:
        parts.append(f"Left out, over the token budget: {len(found.left_out)}.")
    if found.degraded:
        parts.append(found.msg or "")
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
