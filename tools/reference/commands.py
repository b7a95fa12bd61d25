"""The page of the command line, from the tree of commands."""

from collections.abc import Iterator
from typing import Any, get_args

from acumen.cli.main import COMMANDS, LazyCommands
from tools.reference.markdown import GENERATED, table

SHARED_OPTIONS = ("--url", "--key", "--json")
HIDDEN_OPTIONS = ("--help", "--install-completion", "--show-completion")
CLI = """\
`acumen --help` and `acumen COMMAND --help` show the same. Commands end with 0 on success, 1 on failure, 2 on a wrong
command line.

Commands that call a server take `--url` (`ACUMEN_URL`, default `http://127.0.0.1:8061`) and `--key` (`ACUMEN_KEY`).
With `--json` a command prints JSON instead of text; failures are then JSON on stderr."""


def page() -> str:
    parts = ["# Command line", GENERATED, CLI]
    commands = LazyCommands()
    for section, named in COMMANDS.items():
        parts += [f"## {section}", *(part for name in named for part in _command(f"acumen {name}", commands[name]))]
    return "\n\n".join(parts)


def _command(name: str, command: Any) -> Iterator[str]:
    yield f"### {name}"
    yield " ".join((command.help or "").split("\f")[0].split())
    shown = [p for p in command.params if not (set(p.opts) & {*SHARED_OPTIONS, *HIDDEN_OPTIONS})]
    rows = [(_spelled(p), _cli_default(p), _meaning(p)) for p in shown]
    yield table(("option", "default", "meaning"), rows) if rows else ""
    shared = [f"`{option}`" for option in SHARED_OPTIONS if any(option in p.opts for p in command.params)]
    yield f"Also takes {', '.join(shared)}." if shared else ""
    epilog = [line.strip() for line in (command.epilog or "").splitlines() if line.strip() not in ("\b", "Examples:")]
    examples = [line for line in epilog if "acumen " in line]
    yield "```text\n" + "\n".join(examples) + "\n```" if examples else ""
    yield " ".join(line for line in epilog if line not in examples).strip()
    if hasattr(command, "commands"):
        for inner in command.commands.values():
            yield from _command(f"{name} {inner.name}", inner)


def _spelled(parameter: Any) -> str:
    value = parameter.metavar or parameter.name.upper()
    if parameter.param_type_name == "argument":
        return f"`{value}`"
    options = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return f"`{options}`" if parameter.is_flag else f"`{options} {value}`"


def _meaning(parameter: Any) -> str:
    """Its help, and the values that it takes."""
    choices = get_args(parameter.type_descriptor.annotation)
    words = ", ".join(f"`{choice}`" for choice in choices if isinstance(choice, str))
    return " ".join(filter(None, [parameter.help or "", f"One of {words}." if words else ""]))


def _cli_default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    shown = getattr(parameter, "show_default", None)
    default = shown if isinstance(shown, str) else parameter.default
    variable = f"{parameter.envvar}, " if parameter.envvar else ""
    if default is None or default is False or default == "" or callable(default):
        return variable.removesuffix(", ")
    return variable + ("on" if default is True else f"`{default}`")
