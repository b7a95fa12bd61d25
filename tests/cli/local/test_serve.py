"""`acumen serve`: starts, says so, refuses what it must, stops in order."""

import signal
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import ACUMEN, PATIENCE_SECONDS, Run, Served, serving


def test_a_server_that_says_it_is_ready_is_healthy_and_has_docs(server: Served):
    health = httpx.get(f"{server.url}/health").json()

    assert health["status"] == "healthy"
    assert httpx.get(f"{server.url}/docs").status_code == 200
    assert (server.data / "acumen.db").exists()


def test_the_ready_line_names_url_data_and_docs_and_ctrl_c_ends_it_in_order(tmp_path: Path):
    words = [*ACUMEN, "serve", "--port", "0", "--data", str(tmp_path)]

    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE_SECONDS)

    assert code == 0
    assert "http://127.0.0.1:" in line
    assert "/docs" in line
    assert "/ui" in line
    assert str(tmp_path) in line


def test_sigterm_drains_and_keeps_what_was_acknowledged(tmp_path: Path):
    with serving(tmp_path) as served, httpx.Client(base_url=served.url) as client:
        turn = {"role": "User", "content": "Always use tabs."}
        body = {"user_id": "ana", "session_id": "s", "interaction_data_list": [turn]}
        client.post("/api/publish_interaction", json=body).raise_for_status()
        served.process.send_signal(signal.SIGTERM)
        code = served.process.wait(PATIENCE_SECONDS)

    with serving(tmp_path) as served:
        status = httpx.get(f"{served.url}/api/status").json()

    assert code == 0
    assert [one["count"] for one in status["memories"] if one["kind"] == "interaction"] == [1]


def test_other_machines_are_refused_while_there_is_no_key(run: Run, tmp_path: Path):
    result = run("serve", "--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path))

    assert result.code == 1
    assert "acumen keys create" in result.err


def test_a_busy_port_is_told(run: Run, tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        result = run("serve", "--port", str(port), "--data", str(tmp_path))

    assert result.code == 1
    assert f"Port {port}" in result.err


def test_an_unknown_setting_is_named(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACUMEN_METER__ENABELD", "false")

    result = run("serve")

    assert result.code == 1
    assert "meter.enabeld" in result.err
    assert result.err.count("\n") == 1


def test_a_settings_file_is_read_and_its_mistakes_are_told(run: Run, tmp_path: Path):
    file = tmp_path / "acumen.toml"
    file.write_text("port = 'eight'\n")

    result = run("serve", "--config", str(file))

    assert result.code == 1
    assert "port" in result.err


def test_a_database_that_is_none_is_told(run: Run, tmp_path: Path):
    (tmp_path / "acumen.db").write_text("this is a letter to my aunt, and not a database at all" * 20)

    result = run("serve", "--port", "0", "--data", str(tmp_path))

    assert result.code == 1
    assert "not a database" in result.err


def test_a_folder_that_cannot_be_made_is_told(run: Run, tmp_path: Path):
    (tmp_path / "file").touch()

    result = run("serve", "--port", "0", "--data", str(tmp_path / "file" / "below"))

    assert result.code == 1
    assert "data folder" in result.err


def test_a_postgres_that_does_not_answer_is_told(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACUMEN_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")

    result = run("serve", "--port", "0")

    assert result.code == 1
    assert "Connection refused" in result.err
    assert result.err.count("\n") == 1
