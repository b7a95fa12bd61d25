"""Logs: the request or the job with each line, and no text of a user."""

import json
import logging
import sys
from contextlib import closing
from pathlib import Path

import pytest

from acumen.errors import Unavailable
from acumen.telemetry import logs
from acumen.telemetry.logs import JsonFormatter, TextFormatter
from acumen_client.calls import Calls
from tests.faults.server import Server
from tests.world import said


def record_of(error: Exception | None = None, message: str = "request %s failed") -> logging.LogRecord:
    try:
        raise_if(error)
    except Exception:  # noqa: BLE001 - any error can be logged
        return logging.LogRecord("acumen.x", logging.ERROR, "x.py", 1, message, ("r1",), sys.exc_info())
    return logging.LogRecord("acumen.x", logging.ERROR, "x.py", 1, message, ("r1",), None)


def raise_if(error: Exception | None) -> None:
    if error is not None:
        raise error


@pytest.fixture
def in_a_request():
    token = logs.work.set(lambda: {"request_id": "r1", "route": "/api/search"})
    yield
    logs.work.reset(token)


@pytest.mark.usefixtures("in_a_request")
def test_a_line_is_json_with_the_request_it_belongs_to():
    line = json.loads(JsonFormatter().format(record_of(message="request %s\nfailed")))

    assert {name: line[name] for name in ("level", "logger", "message", "request_id", "route")} == {
        "level": "error",
        "logger": "acumen.x",
        "message": "request r1\nfailed",
        "request_id": "r1",
        "route": "/api/search",
    }
    assert line["time"].endswith("+00:00")


@pytest.mark.usefixtures("in_a_request")
def test_a_line_of_text_ends_with_what_its_message_does_not_say():
    assert TextFormatter(logs.TEXT).format(record_of()).endswith("acumen.x: request r1 failed [route=/api/search]")


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter(logs.TEXT)])
def test_an_unexpected_error_keeps_its_type_and_place_and_loses_its_words(formatter: logging.Formatter):
    cause = KeyError("canary of a user")
    error = ValueError("canary of a user")
    error.__cause__ = cause

    line = formatter.format(record_of(error))

    assert "canary" not in line
    assert all(word in line for word in ("ValueError", "KeyError", "test_logs.py", "record_of"))


def test_an_error_that_repeats_no_text_keeps_its_words():
    line = json.loads(JsonFormatter().format(record_of(ExceptionGroup("two", [Unavailable("no disk"), KeyError("x")]))))

    assert line["error"] == "Unavailable: no disk; KeyError"


def test_a_server_logs_requests_and_jobs_as_json_without_a_text_of_a_user(tmp_path: Path):
    server = Server(
        tmp_path / "data",
        tmp_path / "log",
        log_format="json",
        access_log="true",
        llm__url="http://127.0.0.1:9/canary",
        llm__attempts=1,
    ).start()
    published = server.call(Calls.publish, said("canary is my word", user="canary-user"))
    with closing(server.caller()) as caller:
        with_id = caller.send("GET", "/canary-path?canary=1", headers={"X-Request-ID": "caller-7"})
    server.stop()

    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    routes = {line["route"]: line for line in lines if line["logger"] == "acumen.access"}
    assert published.ok
    assert (routes["/api/publish_interaction"]["status"], routes["/api/publish_interaction"]["method"]) == (200, "POST")
    assert routes["/api/publish_interaction"]["duration_ms"] > 0
    assert (routes["unmatched"]["request_id"], with_id.headers["x-request-id"]) == ("caller-7", "caller-7")
    assert "canary" not in server.log
