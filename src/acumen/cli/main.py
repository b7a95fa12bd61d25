"""`acumen`: the table of commands. A command's module is imported when it is called, so that none waits for others."""

import gc
import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from acumen.cli.metavars import format_parameters

TAGLINE = "The learning layer for AI agents: observe, learn, recall, meter, review."

# Section, then command: its module, and its line in `acumen --help`.
COMMANDS = {
    "Server": {
        "serve": ("local.serve", "Run the server: API, dashboard and background jobs."),
        "worker": ("local.worker", "Run background jobs only, on Postgres."),
        "migrate": ("local.migrate", "Upgrade the database schema, or move a store to another database."),
        "backup": ("local.backup", "Back up the SQLite database while the server runs."),
        "restore": ("local.restore", "Restore a backup while the server is stopped."),
        "keys": ("local.keys", "Create, list and revoke API keys."),
        "doctor": ("local.doctor", "Check the installation and suggest fixes."),
        "status": ("remote.status", "Show jobs, dead letters, storage and memory counts."),
        "demo": ("demo.player", "Play a day of agent work and show the result."),
        "version": ("version", "Print the version."),
    },
    "Agents": {
        "publish": ("remote.publish_search", "Publish turns of a conversation."),
        "search": ("remote.publish_search", "Search memories and print the context for a prompt."),
        "sessions": ("remote.sessions", "List the latest sessions and their outcomes."),
        "outcome": ("remote.sessions", "Report the outcome of a session."),
    },
    "Memories": {
        "memory-review": ("remote.review", "List memories that need review, act on them, undo."),
        "changes": ("remote.changes", "List changes to memories, or undo one."),
        "shared-lessons": ("remote.shared_lessons", "List, approve or reject lessons shared by all users."),
        "aggregate": ("remote.shared_lessons", "Merge similar user playbooks into shared lessons."),
        "rerun": ("remote.runs", "Rebuild memories from conversation history."),
        "versions": ("remote.runs", "Activate rebuilt memories, or roll back."),
        "runs": ("remote.runs", "Show or cancel background runs."),
        "stats": ("remote.usage", "Show what injected memories cost."),
        "explain": ("remote.usage", "Show a past search: query, results, injected context."),
    },
    "Operations": {
        "tail": ("remote.operations", "Show tool calls live."),
        "failures": ("remote.operations", "List failure groups, or show one."),
        "proposals": ("remote.proposals", "List lessons proposed from tool calls; approve, edit or reject."),
        "outcomes": ("remote.operations", "Export outcomes, verdicts and evaluations as JSON lines."),
        "purge": ("remote.operations", "Delete operations and everything derived from them."),
    },
}
# Former names, which still work.
ALIASES = {
    "lessons": ("remote.shared_lessons", "shared-lessons"),
    "operations": ("remote.runs", "runs"),
    "upgrade": ("remote.runs", "upgrade"),
    "downgrade": ("remote.runs", "downgrade"),
}


class LazyCommands(Mapping[str, Any]):
    """Commands by name; looking one up imports its module. Iteration yields only the commands shown in the help."""

    def __init__(self) -> None:
        self._modules = {name: module for section in COMMANDS.values() for name, (module, _) in section.items()}

    def __getitem__(self, name: str) -> Any:
        module, command_name = ALIASES.get(name) or (self._modules[name], name)
        gc.disable()  # imports leave no garbage; looking for it takes a tenth of the start of `serve`
        commands = import_module(f"acumen.cli.{module}").app
        gc.enable()
        commands.rich_markup_mode = None
        commands._add_completion = False  # noqa: SLF001 - an option of the root only
        command = typer.main.get_command(commands)
        command = command.commands[command_name] if isinstance(command, TyperGroup) else command
        format_parameters(command)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class LazyGroup(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = LazyCommands()  # type: ignore[assignment]

    def invoke(self, ctx: Any) -> Any:
        """Runs the command; the message of a wrong choice does not name the class of the error."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise

    def format_commands(self, _context: Any, formatter: Any) -> None:
        """The help of the whole program, written from the table: it imports no command."""
        for section, commands in COMMANDS.items():
            with formatter.section(section):
                formatter.write_dl([(f"{name:14}", summary) for name, (_, summary) in commands.items()])


app = typer.Typer(
    name="acumen",
    cls=LazyGroup,
    help=TAGLINE,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if requested:
        from acumen.cli.version import version  # noqa: PLC0415 - as every command

        version()
        raise typer.Exit


@app.callback()
def acumen(
    _requested: Annotated[bool, typer.Option("--version", callback=_version, help="Print the version.")] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Ends the process: 0 is success, 1 a failure reported on stderr, 2 a wrong command line."""
    # Searches run in parallel; a matrix product that uses all cores would slow down the others.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Failures are reported below; only `serve` and `worker` write a log as well.
    logging.getLogger("acumen").addHandler(logging.NullHandler())
    try:
        app(arguments, prog_name="acumen")
    except Exception as failure:  # noqa: BLE001 - a traceback is of no use at a terminal
        _report(failure, as_json="--json" in (sys.argv if arguments is None else arguments))
        raise SystemExit(1) from None


def _report(failure: Exception, *, as_json: bool) -> None:
    from acumen.cli.errors import sentence  # noqa: PLC0415 - imports every error of server and client

    if os.environ.get("ACUMEN_LOG_LEVEL") == "debug":
        logging.getLogger().error("the command failed", exc_info=failure)
    text = sentence(failure)
    typer.echo(json.dumps({"error": text}, ensure_ascii=False) if as_json else f"acumen: {text}", err=True)


if __name__ == "__main__":
    main()
