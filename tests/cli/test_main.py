"""What holds for every command."""

import os
import re
import subprocess

import pytest

from acumen import __version__
from acumen.cli.local.keys import RoleName
from acumen.cli.main import COMMANDS, LazyCommands
from acumen.settings import Settings
from acumen_client.wire.shapes import Role
from tests.cli.conftest import ACUMEN, Run

NAMES = [name for section in COMMANDS.values() for name in section]
WITHOUT_JSON = {"outcomes"}  # which prints JSON lines


def every_command() -> list[tuple[str, ...]]:
    """Each command and subcommand, as it is typed."""
    typed: list[tuple[str, ...]] = []
    for name, command in LazyCommands().items():
        below = getattr(command, "commands", {})
        typed += [(name, subcommand) for subcommand in below]
        if not below or command.invoke_without_command:
            typed.append((name,))
    return typed


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_every_command_has_help_with_examples_and_offers_json(run: Run, words: tuple[str, ...]):
    result = run(*words, "--help")

    assert result.code == 0
    assert words == ("version",) or f"acumen {' '.join(words)}" in result.out.split("Examples:")[1]
    assert words[0] in WITHOUT_JSON or "--json" in result.out


@pytest.mark.parametrize("name", NAMES)
def test_the_line_of_a_command_in_the_help_begins_its_own_help(run: Run, name: str):
    (summary,) = [section[name][1] for section in COMMANDS.values() if name in section]

    own = " ".join(run(name, "--help").out.split())

    assert summary.rstrip(".") in own


@pytest.mark.parametrize(
    "former, name",
    [
        (("upgrade", "--help"), "pending memories current"),
        (("downgrade", "--help"), "archived memories current"),
        (("operations", "status", "--help"), "progress of the last run"),
        (("lessons", "approve", "--help"), "Approve lessons."),
    ],
    ids=lambda words: " ".join(words[:-1]) if isinstance(words, tuple) else None,
)
def test_former_names_work_and_are_not_listed(run: Run, former: tuple[str, ...], name: str):
    assert name in " ".join(run(*former).out.split())
    assert f"\n  {former[0]} " not in run("--help").out


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


def test_an_unforeseen_failure_is_told_without_a_traceback(ask: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("acumen.cli.remote.status._show", None)

    result = ask("status")

    assert result.code == 1
    assert "Traceback" not in result.err
    assert "TypeError" in result.err


def test_the_roles_on_the_command_line_are_those_of_the_wire():
    assert list(RoleName.__args__) == [role for role in Role if role is not Role.PUBLIC]


def test_a_shell_can_complete_commands():
    environ = {**os.environ, "COMP_WORDS": "acumen se", "COMP_CWORD": "1", "_ACUMEN_COMPLETE": "complete_bash"}

    done = subprocess.run(ACUMEN, env=environ, capture_output=True, text=True, check=False)

    assert done.stdout.split() == ["serve", "search", "sessions"]


def test_the_completion_script_is_printed():
    environ = {**os.environ, "_ACUMEN_COMPLETE": "source_bash"}

    done = subprocess.run(ACUMEN, env=environ, capture_output=True, text=True, check=True)

    assert "complete -o default -F _acumen_completion acumen" in done.stdout


def test_starting_to_serve_loads_neither_the_client_nor_the_terminal_s_decoration():
    probe = "import sys, acumen.cli.main, acumen.cli.local.serve; print(*sys.modules)"

    done = subprocess.run([ACUMEN[0], "-c", probe], capture_output=True, text=True, check=True)

    assert {"alembic", "httpx", "onnxruntime", "rich"} & set(done.stdout.split()) == set()


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_help_tells_how_many_jobs_run_at_once_as_the_settings_do(run: Run, command: str):
    told = run(command, "--help").out

    assert re.search(rf"--workers .*\(({Settings().jobs.workers})\)", told)
