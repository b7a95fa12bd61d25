"""`acumen doctor`: finds what is wrong, says how to fix it, and changes nothing."""

import socket
from functools import partial
from pathlib import Path

import pytest

from acumen.llm.embedding import load_embedder
from tests.cli.conftest import Run, Served


def _levels(result) -> dict[str, str]:
    return {check["about"]: check["level"] for check in result.json["checks"]}


def test_a_fresh_machine_passes_and_stays_untouched(run: Run, tmp_path: Path):
    result = run("doctor", "--json", "--data", str(tmp_path / "new"), "--port", _free_port())

    assert result.code == 0
    assert set(_levels(result).values()) == {"ok"}
    assert not (tmp_path / "new").exists()


def test_a_machine_with_a_running_server_passes(run: Run, server: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACUMEN_URL", server.url)

    result = run("doctor", "--data", str(server.data), "--port", server.url.rsplit(":", 1)[1])

    assert result.code == 0
    assert "is used by a running Acumen" in result.out
    assert "All checks passed." in result.out


def test_each_mistake_is_found_with_its_fix(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "acumen.db").write_text("not a database" * 100)
    monkeypatch.setattr("acumen.cli.local.checks.STATIC", tmp_path)
    monkeypatch.setattr("acumen.cli.local.checks.PAGES", tmp_path)
    monkeypatch.setattr("acumen.cli.local.checks.load_embedder", partial(load_embedder, tmp_path))
    monkeypatch.setenv("ACUMEN_URL", "http://127.0.0.1:9")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        result = run("doctor", "--json", "--data", str(tmp_path), "--port", port)

    levels = _levels(result)
    assert result.code == 1
    assert {levels[about] for about in ("Database", "Embeddings", "Port", "ACUMEN_URL")} == {"fail"}
    assert (levels["Docs page"], levels["Dashboard"]) == ("warn", "warn")
    assert all(check["fix"] for check in result.json["checks"] if check["level"] != "ok")


def test_a_file_in_the_place_of_the_data_folder_is_found(run: Run, tmp_path: Path):
    (tmp_path / "data").write_text("")

    found = run("doctor", "--data", str(tmp_path / "data"))

    assert (found.code, "is a file, not a folder" in found.out) == (1, True)


def test_a_setting_that_does_not_exist_is_found(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACUMEN_PROT", "8061")

    result = run("doctor", "--json")

    assert result.code == 1
    assert _levels(result)["Settings"] == "fail"
    assert "ACUMEN_PROT" in result.out


def test_a_model_that_does_not_answer_is_found_and_is_no_failure(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ACUMEN_LLM_URL", "http://127.0.0.1:9/v1")

    result = run("doctor", "--json", "--data", str(tmp_path), "--port", _free_port())

    (model,) = [check for check in result.json["checks"] if check["about"] == "Model"]
    assert (result.code, model["level"]) == (0, "warn")
    assert "ACUMEN_LLM__URL" in model["fix"]
    assert "rules learn" in model["fix"]


def test_a_key_for_nobody_is_found(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACUMEN_LLM_API_KEY", "sk-for-nobody-0001")

    result = run("doctor", "--json", "--data", str(tmp_path), "--port", _free_port())

    (model,) = [check for check in result.json["checks"] if check["about"] == "Model"]
    assert (result.code, model["level"]) == (1, "fail")
    assert "llm.provider" in model["says"]
    assert "sk-for-nobody" not in result.out


def test_listening_to_all_without_a_key_is_found(run: Run, tmp_path: Path):
    result = run("doctor", "--json", "--data", str(tmp_path), "--host", "0.0.0.0", "--port", _free_port())

    assert _levels(result)["Keys"] == "fail"


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])
