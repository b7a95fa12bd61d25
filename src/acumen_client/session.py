"""One conversation from an agent's side: add turns, ask for context, finish, report the outcome."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Union

from typing_extensions import Self

from acumen_client import handles
from acumen_client.errors import BadInput
from acumen_client.wire.evaluations import SessionOutcomeKind, SetSessionOutcomeResponse
from acumen_client.wire.memories import AgentPlaybookView, ProfileView, UserPlaybookView
from acumen_client.wire.meter import CiteResponse, InjectedMemory
from acumen_client.wire.observe import (
    Citation,
    FinalizeSessionResponse,
    PublishUserInteractionResponse,
    RetrievedLearning,
)
from acumen_client.wire.recall import UnifiedSearchViewResponse

if TYPE_CHECKING:
    from acumen_client.client import AsyncClient, Client

_USER_ROLES = frozenset({"user", "human", "customer"})
# How often, and for how long, a caller that waits for learning polls; rules take a moment, a model may take longer.
LOOK_EVERY_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 60.0
_UNDER_WAY = ("pending", "processing")

# What can be cited: a handle or an id of something that was in the context, or a memory that an answer carried.
Citable = Union[str, int, Citation, ProfileView, UserPlaybookView, AgentPlaybookView, InjectedMemory, RetrievedLearning]


class Conversation:
    """Who talks, where, and what the agent has been shown since it last spoke."""

    def __init__(
        self, user_id: str, session_id: str | None = None, *, source: str = "", agent_version: str = ""
    ) -> None:
        self.user_id = user_id
        self.session_id = session_id or f"ses_{uuid.uuid4().hex}"
        self.source = source
        self.agent_version = agent_version
        self._shown: dict[tuple[str, str], RetrievedLearning] = {}
        self._last_request: str | None = None

    def _turn(self, role: str, content: str, details: dict[str, Any], *, strip: bool) -> dict[str, Any]:
        """What to publish. What was retrieved goes with the agent's next turn, as retrieved: it cites nothing.

        Stripped handles are sent as citations, so that the server still learns of them.
        """
        turn = {"role": role, "content": handles.strip_handles(content) if strip else content, **details}
        if strip and not _by_user(role):
            cited = [Citation(real_id=handle) for handle in handles.handles_in(content)]
            turn["citations"] = [*details.get("citations", ()), *cited]
        if self._shown and not _by_user(role):
            turn["retrieved_learnings"] = [*details.get("retrieved_learnings", ()), *self._shown.values()]
        return {**self._self(), "interaction_data_list": [turn], "source": self.source, **self._version()}

    def _spoken(self, role: str, answer: PublishUserInteractionResponse) -> PublishUserInteractionResponse:
        self._last_request = answer.request_id
        if not _by_user(role):
            self._shown = {}
        return answer

    def _search(self, question: str, max_tokens: int | None, *, cite: bool) -> dict[str, Any]:
        version = self._version() if self.agent_version else {}
        return {**self._self(), "query": question, "max_tokens": max_tokens, "cite": cite, **version}

    def _cited(self, memories: tuple[Citable, ...]) -> dict[str, Any]:
        return {**self._self(), "citations": [citation_of(memory) for memory in memories]}

    def _ended(self, outcome: str, details: dict[str, Any]) -> dict[str, Any]:
        """The outcome to report; by default the session ended just now."""
        return {**self._self(), "outcome": outcome, "occurred_at": int(time.time()), **details}

    def _self(self) -> dict[str, Any]:
        return {"user_id": self.user_id, "session_id": self.session_id}

    def _version(self) -> dict[str, Any]:
        return {"agent_version": self.agent_version}

    def _remember(self, found: UnifiedSearchViewResponse) -> str:
        self._shown |= {(item.kind, item.learning_id): item for item in learnings_in(found)}
        return found.context or ""


def _by_user(role: str) -> bool:
    return role.strip().lower() in _USER_ROLES


def citation_of(memory: Citable) -> Citation:
    """Raises `BadInput` for what is neither a name nor a memory."""
    if isinstance(memory, Citation):
        return memory
    if isinstance(memory, (str, int)):
        return Citation(real_id=str(memory))
    if isinstance(memory, ProfileView):
        return Citation(kind="profile", real_id=memory.profile_id)
    if isinstance(memory, UserPlaybookView):
        return Citation(kind="user_playbook", real_id=str(memory.user_playbook_id))
    if isinstance(memory, AgentPlaybookView):
        return Citation(kind="agent_playbook", real_id=str(memory.agent_playbook_id))
    if isinstance(memory, InjectedMemory):
        return Citation(kind=memory.kind.value, real_id=memory.id)
    if isinstance(memory, RetrievedLearning):
        return Citation(kind=memory.kind, real_id=memory.learning_id)
    raise BadInput(f"{type(memory).__name__} cannot be cited: give a handle, an id or a memory.")


def learnings_in(found: UnifiedSearchViewResponse) -> Iterator[RetrievedLearning]:
    """The memories that went into the context of an answer."""
    left_out = {(item.kind.value, item.id) for item in found.left_out}
    hits = [
        *(("profile", hit.profile_id) for hit in found.profiles),
        *(("user_playbook", str(hit.user_playbook_id)) for hit in found.user_playbooks),
        *(("agent_playbook", str(hit.agent_playbook_id)) for hit in found.agent_playbooks),
    ]
    for kind, memory_id in hits:
        if (kind, memory_id) not in left_out:
            yield RetrievedLearning.model_validate({"kind": kind, "learning_id": memory_id})


class Session(Conversation):
    """A conversation through a `Client`. As a context manager, it finishes at the end."""

    def __init__(self, client: Client, user_id: str, session_id: str | None = None, **about: str) -> None:
        super().__init__(user_id, session_id, **about)
        self._client = client

    def say(
        self, role: str, content: str, *, strip_handles: bool = False, **details: Any
    ) -> PublishUserInteractionResponse:
        """Record a turn; `details` are further fields of `InteractionData`, such as `tools_used`.

        With `strip_handles` the text is stored without handles such as `[m48217]`, which still count as citations.
        """
        return self._spoken(role, self._client.publish(**self._turn(role, content, details, strip=strip_handles)))

    def context(self, question: str, *, max_tokens: int | None = None, cite: bool = False) -> str:
        """What is known that helps with the question, as text for the prompt; empty if nothing is.

        With `cite` each line has a handle, and the text asks the model to cite the lines that it uses.
        """
        return self._remember(self._client.search(**self._search(question, max_tokens, cite=cite)))

    def cite(self, *memories: Citable) -> CiteResponse:
        """Count memories as cited: handles (`m48217`), ids, or memories from a search."""
        return self._client.cite(**self._cited(memories))

    def finish(self, *, wait: bool = False) -> FinalizeSessionResponse:
        """End the session, so that it is learned from now. With `wait`, return when that is done."""
        answer = self._client.finalize_session(**self._self())
        give_up_at = time.monotonic() + LONGEST_WAIT_SECONDS
        while wait and self._last_request and time.monotonic() < give_up_at:
            if self._client.learning_status(request_id=self._last_request).status not in _UNDER_WAY:
                break
            time.sleep(LOOK_EVERY_SECONDS)
        return answer

    def outcome(self, outcome: SessionOutcomeKind | str, **details: Any) -> SetSessionOutcomeResponse:
        """Report the outcome: success, failure or unknown. `details` may be `label`, `value`, `metadata`."""
        return self._client.state_outcome(**self._ended(outcome, details))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()


class AsyncSession(Conversation):
    """A conversation through an `AsyncClient`."""

    def __init__(self, client: AsyncClient, user_id: str, session_id: str | None = None, **about: str) -> None:
        super().__init__(user_id, session_id, **about)
        self._client = client

    async def say(
        self, role: str, content: str, *, strip_handles: bool = False, **details: Any
    ) -> PublishUserInteractionResponse:
        """Record a turn; `details` are further fields of `InteractionData`, such as `tools_used`.

        With `strip_handles` the text is stored without handles such as `[m48217]`, which still count as citations.
        """
        return self._spoken(role, await self._client.publish(**self._turn(role, content, details, strip=strip_handles)))

    async def context(self, question: str, *, max_tokens: int | None = None, cite: bool = False) -> str:
        """What is known that helps with the question, as text for the prompt; empty if nothing is.

        With `cite` each line has a handle, and the text asks the model to cite the lines that it uses.
        """
        return self._remember(await self._client.search(**self._search(question, max_tokens, cite=cite)))

    async def cite(self, *memories: Citable) -> CiteResponse:
        """Count memories as cited: handles (`m48217`), ids, or memories from a search."""
        return await self._client.cite(**self._cited(memories))

    async def finish(self, *, wait: bool = False) -> FinalizeSessionResponse:
        """End the session, so that it is learned from now. With `wait`, return when that is done."""
        answer = await self._client.finalize_session(**self._self())
        give_up_at = time.monotonic() + LONGEST_WAIT_SECONDS
        while wait and self._last_request and time.monotonic() < give_up_at:
            if (await self._client.learning_status(request_id=self._last_request)).status not in _UNDER_WAY:
                break
            await asyncio.sleep(LOOK_EVERY_SECONDS)
        return answer

    async def outcome(self, outcome: SessionOutcomeKind | str, **details: Any) -> SetSessionOutcomeResponse:
        """Report the outcome: success, failure or unknown. `details` may be `label`, `value`, `metadata`."""
        return await self._client.state_outcome(**self._ended(outcome, details))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.finish()
