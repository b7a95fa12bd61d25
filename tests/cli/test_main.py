"""What holds for every command."""

import os
import re
import subprocess

import pytest

from acumen import __version__
from acumen.cli.local_commands import Roles
from acumen.settings import Settings
from acumen_client.wire.shapes import Role
from tests.cli.conftest import ACUMEN, Run

COMMANDS = [
    "serve", "worker", "migrate", "doctor", "demo", "publish", "search", "status", "memory-review", "changes", "rerun",
    "upgrade", "downgrade", "version",
]  # fmt: skip
NESTED = [
    ("keys", "create"), ("keys", "list"), ("keys", "revoke"), ("stats", "injections"), ("operations", "status"),
    ("operations", "cancel"), ("changes", "undo"), ("memory-review", "conflicts"), ("memory-review", "settle"),
]  # fmt: skip


@pytest.mark.parametrize("words", [(name,) for name in COMMANDS] + NESTED, ids=" ".join)
def test_every_command_explains_itself_and_offers_json(run: Run, words: tuple[str, ...]):
    result = run(*words, "--help")

    assert result.code == 0
    assert "--json" in result.out


@pytest.mark.parametrize("words", [(name,) for name in COMMANDS[:-1]] + NESTED, ids=" ".join)
def test_help_has_examples(run: Run, words: tuple[str, ...]):
    result = run(*words, "--help")

    assert f"acumen {' '.join(words)}" in result.out.split("Examples:")[1]


def test_the_version_is_told_in_both_ways(run: Run):
    assert run("version", "--json").json["acumen"] == __version__
    assert __version__ in run("--version").out


def test_an_unknown_command_is_a_wrong_command_line(run: Run):
    assert run("frobnicate").code == 2


def test_an_unreachable_server_is_told_in_one_sentence(run: Run):
    result = run("status", "--url", "http://127.0.0.1:9")

    assert result.code == 1
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert "acumen serve" in result.err


def test_an_unforeseen_failure_is_told_without_a_traceback(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("acumen.cli.status.run", None)

    result = run("status")

    assert result.code == 1
    assert "Traceback" not in result.err
    assert "TypeError" in result.err


def test_the_roles_on_the_command_line_are_those_of_the_wire():
    assert list(Roles.__args__) == [role for role in Role if role is not Role.PUBLIC]


def test_a_shell_can_complete_commands():
    environ = {**os.environ, "COMP_WORDS": "acumen se", "COMP_CWORD": "1", "_ACUMEN_COMPLETE": "complete_bash"}

    done = subprocess.run(ACUMEN, env=environ, capture_output=True, text=True, check=False)

    assert done.stdout.split() == ["serve", "search", "sessions"]


def test_the_completion_script_is_printed():
    environ = {**os.environ, "_ACUMEN_COMPLETE": "source_bash"}

    done = subprocess.run(ACUMEN, env=environ, capture_output=True, text=True, check=True)

    assert "complete -o default -F _acumen_completion acumen" in done.stdout


def test_starting_to_serve_loads_neither_the_client_nor_the_terminal_s_decoration():
    probe = "import sys, acumen.cli.main, acumen.cli.local, acumen.cli.serve; print(*sys.modules)"

    done = subprocess.run([ACUMEN[0], "-c", probe], capture_output=True, text=True, check=True)

    assert {"alembic", "httpx", "onnxruntime", "rich"} & set(done.stdout.split()) == set()


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_help_tells_how_many_jobs_run_at_once_as_the_settings_do(run: Run, command: str):
    told = run(command, "--help").out

    assert re.search(rf"--workers .*\(({Settings().jobs.workers})\)", told)
