"""The clients: what they send, when they try again, what they raise."""

import inspect
import json
import pydoc
import re
from typing import Any

import httpx
import pytest

from acumen_client import (
    AcumenError,
    AsyncClient,
    BadInput,
    Client,
    Conflict,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    Retry,
    ServerFailed,
    StorageFull,
    TooLarge,
    Unavailable,
)
from acumen_client.calls import ENDPOINTS, Calls
from acumen_client.wire.config import Config

Reply = httpx.Response | Exception
TURN = {"user_id": "ada", "session_id": "s1", "interaction_data_list": [{"content": "hi"}]}
PUBLISHED = httpx.Response(200, json={"success": True, "request_id": "r1"})


class Server:
    """Answers with what it was given, in order, and keeps what it was sent."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.received: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.received.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.received]


def client(server: Server, **options: Any) -> Client:
    return Client(url="http://acumen.test", transport=httpx.MockTransport(server), **options)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client waited, instead of waiting."""
    waited: list[float] = []
    monkeypatch.setattr("acumen_client.client.time.sleep", waited.append)
    return waited


# --- what is sent ---


def test_a_call_is_a_request_and_an_answer():
    server = Server(httpx.Response(200, json={"success": True, "profiles": [], "context": "Ada likes tea."}))

    found = client(server, key="k1").search(query="tea", user_id="ada")

    [sent] = server.received
    assert (sent.method, sent.url.path, sent.headers["Authorization"]) == ("POST", "/api/search", "Bearer k1")
    assert server.bodies[0]["query"] == "tea"
    assert found.context == "Ada likes tea."


def test_the_fields_of_a_request_may_come_as_one_dictionary():
    server = Server(httpx.Response(200, json={"success": True}))

    client(server).injection_stats({"days_back": 7}, limit=5)

    assert (server.bodies[0]["days_back"], server.bodies[0]["limit"]) == (7, 5)


def test_a_get_carries_its_parameters_in_the_query():
    server = Server(httpx.Response(200, json={"success": True}))

    client(server).all_profiles(limit=5, include_tombstones=True)

    assert dict(server.received[0].url.params) == {"limit": "5", "include_tombstones": "true"}
    assert server.received[0].content == b""


def test_waiting_for_the_learning_is_asked_in_the_query():
    server = Server(PUBLISHED)

    client(server).publish(**TURN, wait_for_response=True)

    assert dict(server.received[0].url.params) == {"wait_for_response": "true"}


def test_a_delete_carries_a_body():
    server = Server(httpx.Response(200, json={"success": True, "deleted_count": 2}))

    answer = client(server).delete_profiles(profile_ids=["p1", "p2"])

    assert server.bodies == [{"profile_ids": ["p1", "p2"]}]
    assert answer.deleted_count == 2


def test_a_configuration_is_set_whole_and_updated_in_part():
    done = httpx.Response(200, json={"success": True, "msg": None})
    server = Server(done, done)

    acumen = client(server)
    acumen.set_config(Config(storage_config=None, window_size=20))
    acumen.update_config(window_size=30)

    assert server.bodies[0]["window_size"] == 20
    assert server.bodies[1] == {"window_size": 30}


def test_url_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACUMEN_URL", "http://elsewhere.test:9000")
    monkeypatch.setenv("ACUMEN_KEY", "k2")
    server = Server(httpx.Response(200, json={"status": "ok"}))

    with Client(transport=httpx.MockTransport(server)) as acumen:
        acumen.health_live()

    assert str(server.received[0].url) == "http://elsewhere.test:9000/health/live"
    assert server.received[0].headers["Authorization"] == "Bearer k2"


def test_without_any_setting_the_server_is_here_and_wants_no_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ACUMEN_URL", raising=False)
    monkeypatch.delenv("ACUMEN_KEY", raising=False)
    server = Server(httpx.Response(200, json={"status": "ok"}))

    Client(transport=httpx.MockTransport(server)).health_live()

    assert str(server.received[0].url) == "http://127.0.0.1:8061/health/live"
    assert "Authorization" not in server.received[0].headers


def test_every_endpoint_is_a_method_that_says_what_it_is_for():
    methods = [getattr(client(Server()), name) for name in vars(Calls) if not name.startswith("_")]

    assert [str(method.__doc__).splitlines()[0] for method in methods] == [endpoint.summary for endpoint in ENDPOINTS]


def test_what_was_left_out_before_sending_is_among_the_warnings():
    server = Server(httpx.Response(200, json={"success": True, "warnings": ["from afar"]}))
    turns = [{"content": "hi", "contnt": "x"}]

    answer = client(server).publish(**TURN | {"interaction_data_list": turns})

    assert answer.warnings == ["from afar", "Unknown field ignored: interaction_data_list[0].contnt"]


def test_a_field_that_a_newer_server_added_is_skipped():
    server = Server(httpx.Response(200, json={"org_id": "o", "invented_later": 1}))

    assert client(server).whoami().org_id == "o"


# --- trying again ---


def test_a_publish_is_sent_again_under_the_same_id(waits: list[float]):
    server = Server(httpx.ReadTimeout("slow"), httpx.Response(503), PUBLISHED)

    answer = client(server).publish(**TURN)

    assert answer.request_id == "r1"
    assert len({body["request_id"] for body in server.bodies}) == 1
    assert len(server.received) == 3


def test_the_server_says_how_long_to_wait(waits: list[float]):
    server = Server(httpx.Response(503, headers={"Retry-After": "3"}), PUBLISHED)

    client(server).publish(**TURN)

    assert waits == [3.0]


def test_a_server_cannot_make_a_client_wait_for_ever(waits: list[float]):
    server = Server(httpx.Response(503, headers={"Retry-After": "86400"}), PUBLISHED)

    client(server).publish(**TURN)

    assert waits == [10.0]


def test_waits_grow_when_the_server_says_nothing(waits: list[float]):
    server = Server(*[httpx.ConnectError("refused")] * 3, PUBLISHED)

    client(server).publish(**TURN)

    assert waits == [0.2, 0.4, 0.8]


def test_after_the_last_attempt_the_failure_is_raised(waits: list[float]):
    server = Server(*[httpx.ConnectError("refused")] * 2)

    with pytest.raises(Unavailable, match=r"http://acumen\.test/api/search: refused") as raised:
        client(server, retry=Retry(attempts=2)).search(query="tea")

    assert raised.value.status == 0
    assert len(server.received) == 2


def add_a_playbook(acumen: Client) -> object:
    return acumen.add_user_playbooks(user_playbooks=[{"content": "Ask first."}])


@pytest.mark.parametrize("lost", [httpx.ReadTimeout("slow"), httpx.Response(503)])
def test_what_would_happen_twice_is_not_sent_twice(lost: Reply, waits: list[float]):
    server = Server(lost)

    with pytest.raises(Unavailable):
        add_a_playbook(client(server))

    assert len(server.received) == 1


def test_what_never_arrived_is_sent_again_even_so(waits: list[float]):
    server = Server(httpx.ConnectError("refused"), httpx.Response(200, json={"added_count": 1}))

    add_a_playbook(client(server))

    assert len(server.received) == 2


@pytest.mark.parametrize("status", [400, 409, 500, 507])
def test_an_answer_that_will_not_change_is_not_asked_for_again(status: int, waits: list[float]):
    server = Server(httpx.Response(status, json={"detail": "no"}))

    with pytest.raises(AcumenError):
        client(server).publish(**TURN)

    assert len(server.received) == 1


def test_at_least_one_attempt_is_made():
    with pytest.raises(ValueError, match="at least 1"):
        Retry(attempts=0)


# --- errors ---


@pytest.mark.parametrize(
    "status, kind",
    [
        (302, ServerFailed),
        (400, BadInput),
        (401, NotAuthenticated),
        (403, NotAllowed),
        (404, NotFound),
        (405, BadInput),
        (409, Conflict),
        (413, TooLarge),
        (422, BadInput),
        (429, Unavailable),
        (500, ServerFailed),
        (501, ServerFailed),
        (503, Unavailable),
        (504, Unavailable),
        (507, StorageFull),
    ],
)
def test_a_status_is_raised_under_its_name(status: int, kind: type[AcumenError]):
    reply = httpx.Response(status, json={"detail": "No.", "code": "because", "request_id": "q7"})

    with pytest.raises(AcumenError) as raised:
        client(Server(reply), retry=Retry(attempts=1)).whoami()

    error = raised.value
    assert type(error) is kind
    assert (error.detail, error.code, error.request_id, error.status) == ("No.", "because", "q7", status)
    assert str(error) == "No. (request q7)"


@pytest.mark.parametrize("content", [b"<html>Bad gateway</html>", b"", b'{"detail": [{"loc": []}]}'])
def test_an_error_that_is_not_ours_is_still_told(content: bytes):
    server = Server(httpx.Response(502, content=content, headers={"X-Correlation-ID": "c1"}))

    with pytest.raises(Unavailable, match="answered with 502") as raised:
        client(server, retry=Retry(attempts=1)).whoami()

    assert raised.value.request_id == "c1"


@pytest.mark.parametrize("content", [b"<html>hello</html>", b"", b"[]"])
def test_a_success_that_is_not_ours_is_a_failure(content: bytes):
    with pytest.raises(ServerFailed, match="is not WhoamiResponse"):
        client(Server(httpx.Response(200, content=content))).whoami()


def test_bad_input_is_found_before_anything_is_sent():
    server = Server()

    with pytest.raises(BadInput, match="`query` must not contain NUL") as raised:
        client(server).search(query="te\x00a")

    assert server.received == []
    assert raised.value.status == 0


# --- the async twin ---


async def test_the_async_client_differs_only_in_being_awaited(monkeypatch: pytest.MonkeyPatch):
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("acumen_client.client.asyncio.sleep", sleep)
    server = Server(httpx.ConnectError("refused"), httpx.Response(503, headers={"Retry-After": "2"}), PUBLISHED)

    async with AsyncClient(url="http://acumen.test", key="k1", transport=httpx.MockTransport(server)) as acumen:
        answer = await acumen.publish(**TURN)

    assert answer.request_id == "r1"
    assert waited == [0.2, 2.0]
    assert server.received[-1].headers["Authorization"] == "Bearer k1"


def test_a_page_that_is_not_the_api_is_told_with_the_base_url():
    html = Server(httpx.Response(404, html="<p>Page not found"))
    unknown = Server(httpx.Response(404, json={"detail": "Not found: /ui/api/search", "code": "not_found"}))

    for server in (html, unknown):
        client = Client(url="http://acumen.test/ui", transport=httpx.MockTransport(server))
        with pytest.raises(NotFound, match=re.escape("No Acumen API at http://acumen.test/ui (404). Use the base")):
            client.search(query="tea")


async def test_the_async_client_raises_the_same_errors():
    server = Server(httpx.Response(404, json={"detail": "No such request."}))

    async with AsyncClient(url="http://acumen.test", transport=httpx.MockTransport(server)) as acumen:
        with pytest.raises(NotFound, match="No such request"):
            await acumen.learning_status(request_id="r1")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_help_on_a_method_shows_its_parameters_and_what_it_does(kind: type[Client] | type[AsyncClient]):
    shown = pydoc.plain(pydoc.render_doc(kind("http://acumen.test").search))

    assert "search(*, query: str," in shown
    assert "top_k: int = " in shown
    assert "Annotated" not in shown
    assert "-> acumen_client.wire.recall.UnifiedSearchViewResponse" in shown
    assert "Search memories of all kinds and render the context to add to a prompt." in shown
    assert "POST /api/search. Needs a key with role reader or higher." in shown


def test_help_on_the_class_lists_its_endpoints_as_methods():
    shown = pydoc.plain(pydoc.render_doc(Client))

    assert "delete_session(self, /, *, session_id: str" in shown


@pytest.mark.parametrize("name", [name for name in vars(Calls) if not name.startswith("_")])
def test_the_signature_of_a_method_is_its_request(name: str):
    endpoint = getattr(Calls, name)
    signature = inspect.signature(getattr(client(Server()), name))

    assert endpoint.__name__ == name
    assert signature.return_annotation is endpoint.answer_model
    if endpoint.shape is None:
        assert list(signature.parameters) == list(endpoint.request_model.model_fields)


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_an_address_without_a_scheme_is_refused_with_an_example(client: type[Client] | type[AsyncClient]):
    with pytest.raises(BadInput, match="must begin with http://"):
        client("127.0.0.1:8061")
