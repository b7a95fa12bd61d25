"""A session: say, ask for context, finish."""

import json
import time
from typing import Any

import httpx
import pytest

from acumen_client import AsyncClient, BadInput, Client, Retry, Unavailable

FOUND = {
    "success": True,
    "context": "Ada likes tea.",
    "profiles": [{"profile_id": "p1", "user_id": "ada", "content": "likes tea", "last_modified_timestamp": 1}],
    "user_playbooks": [{"user_playbook_id": 7, "created_at": 1, "content": "Be brief."}],
    "agent_playbooks": [{"agent_playbook_id": 7, "created_at": 1, "content": "Be kind."}],
    "left_out": [{"kind": "agent_playbook", "id": "7", "tokens": 900, "reason": "budget"}],
}


class Server:
    """A server that finds the same three memories for every question."""

    def __init__(self) -> None:
        self.received: list[tuple[str, Any]] = []
        self.is_down = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.is_down:
            return httpx.Response(503)
        self.received.append((request.url.path, json.loads(request.content)))
        return httpx.Response(200, json=FOUND if request.url.path == "/api/search" else {"success": True})

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.received]

    @property
    def turns(self) -> list[Any]:
        return [body["interaction_data_list"][0] for path, body in self.received if path == "/api/publish_interaction"]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def acumen(server: Server) -> Client:
    return Client(transport=httpx.MockTransport(server), retry=Retry(attempts=1))


def test_a_session_says_who_where_and_what(acumen: Client, server: Server):
    session = acumen.session("ada", "s1", source="cli", agent_version="v3")

    session.say("user", "Tea, please.", created_at=5)

    [(_, body)] = server.received
    assert {body[name] for name in ("user_id", "session_id", "source", "agent_version")} == {"ada", "s1", "cli", "v3"}
    assert (server.turns[0]["role"], server.turns[0]["content"], server.turns[0]["created_at"]) == (
        "user",
        "Tea, please.",
        5,
    )


def test_context_is_text_for_the_model(acumen: Client, server: Server):
    known = acumen.session("ada", "s1").context("What does Ada drink?", max_tokens=100)

    assert known == "Ada likes tea."
    assert server.received[0][1]["max_tokens"] == 100


def test_what_the_agent_was_shown_goes_as_retrieved_with_what_it_says_next(acumen: Client, server: Server):
    session = acumen.session("ada", "s1")

    session.context("What does Ada drink?")
    session.context("And for breakfast?")
    session.say("user", "So?")
    session.say("assistant", "Tea.")
    session.say("assistant", "Black.")

    shown = [[(item["kind"], item["learning_id"]) for item in turn["retrieved_learnings"]] for turn in server.turns]
    assert shown == [[], [("profile", "p1"), ("user_playbook", "7")], []]


def test_what_was_shown_is_not_forgotten_when_saying_it_fails(acumen: Client, server: Server):
    session = acumen.session("ada", "s1")
    session.context("What does Ada drink?")
    server.is_down = True
    with pytest.raises(Unavailable):
        session.say("assistant", "Tea.")
    server.is_down = False

    session.say("assistant", "Tea.")

    assert len(server.turns[0]["retrieved_learnings"]) == 2


# --- citing ----------------------------------------------------------------------------------------------------------


def test_a_session_attaches_no_citation_by_itself(acumen: Client, server: Server):
    session = acumen.session("ada", "s1")

    session.context("What does Ada drink?")
    session.say("assistant", "Tea [m48217].")

    assert server.turns[0].get("citations", []) == []
    assert server.turns[0]["content"] == "Tea [m48217]."  # the server reads the handles
    assert server.received[0][1]["cite"] is False


def test_a_context_asks_for_handles_on_request(acumen: Client, server: Server):
    acumen.session("ada", "s1").context("What does Ada drink?", cite=True)

    assert server.received[0][1]["cite"] is True


def test_stripped_handles_travel_as_citations(acumen: Client, server: Server):
    session = acumen.session("ada", "s1")

    session.say("assistant", "Tea [m48217], no milk [m00012; t3].", strip_handles=True, citations=[{"real_id": "p1"}])
    session.say("user", "Tea [m48217]?", strip_handles=True)

    assert [turn["content"] for turn in server.turns] == ["Tea, no milk.", "Tea?"]
    named = [[citation["real_id"] for citation in turn.get("citations", [])] for turn in server.turns]
    assert named == [["p1", "m48217", "m00012", "t3"], []]


def test_a_session_cites_handles_ids_and_memories(acumen: Client, server: Server):
    session = acumen.session("ada", "s1")
    tea = acumen.search(query="tea").profiles[0]

    session.cite("m48217", 7, tea)

    path, body = server.received[-1]
    assert (path, body["user_id"], body["session_id"]) == ("/api/cite", "ada", "s1")
    named = [(citation.get("kind"), citation["real_id"]) for citation in body["citations"]]
    assert named == [(None, "m48217"), (None, "7"), ("profile", "p1")]


async def test_an_async_session_cites_and_strips_too(server: Server):
    async with AsyncClient(transport=httpx.MockTransport(server)) as acumen:
        session = acumen.session("ada", "s1")
        await session.context("What does Ada drink?", cite=True)
        await session.say("assistant", "Tea [m48217].", strip_handles=True)
        await session.cite("m48217")

    assert server.received[0][1]["cite"] is True
    assert (server.turns[0]["content"], server.turns[0]["citations"][0]["real_id"]) == ("Tea.", "m48217")
    assert server.paths[-1] == "/api/cite"


def test_leaving_a_session_finishes_it(acumen: Client, server: Server):
    with acumen.session("ada", "s1") as session:
        session.say("user", "Bye.")

    assert server.received[-1] == ("/api/finalize_session", {"user_id": "ada", "session_id": "s1"})


def test_a_session_without_a_name_gets_one_of_its_own(acumen: Client):
    assert acumen.session("ada").session_id != acumen.session("ada").session_id


def test_a_turn_that_cannot_be_is_bad_input(acumen: Client):
    with pytest.raises(BadInput, match="created_at"):
        acumen.session("ada").say("user", "Hi.", created_at=-1)


async def test_an_async_session_is_the_same(server: Server):
    async with (
        AsyncClient(transport=httpx.MockTransport(server)) as acumen,
        acumen.session("ada", "s1") as session,
    ):
        known = await session.context("What does Ada drink?")
        await session.say("assistant", "Tea.")

    assert known == "Ada likes tea."
    assert len(server.turns[0]["retrieved_learnings"]) == 2
    assert server.paths == ["/api/search", "/api/publish_interaction", "/api/finalize_session"]


# --- how it ended --------------------------------------------------------------------------------------------------


def test_a_session_tells_how_it_ended(acumen: Client, server: Server):
    acumen.session("ada", "s1").outcome("failure", label="refused", value=1.5)

    [(path, body)] = server.received
    assert path == "/api/session_outcome"
    assert (body["user_id"], body["session_id"], body["outcome"]) == ("ada", "s1", "failure")
    assert (body["label"], body["value"]) == ("refused", 1.5)
    assert abs(body["occurred_at"] - time.time()) < 60


def test_an_outcome_that_is_no_word_of_ours_is_refused_before_it_is_sent(acumen: Client, server: Server):
    with pytest.raises(BadInput, match="outcome"):
        acumen.session("ada", "s1").outcome("splendid")

    assert server.received == []


async def test_an_awaiting_session_tells_how_it_ended(server: Server):
    async with AsyncClient(transport=httpx.MockTransport(server)) as acumen:
        await acumen.session("ada", "s1").outcome("success", occurred_at=5)

    [(_, body)] = server.received
    assert (body["outcome"], body["occurred_at"]) == ("success", 5)
