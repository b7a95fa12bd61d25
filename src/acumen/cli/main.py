"""`acumen`: assembles the commands, and tells every failure in one sentence."""

import json
import logging
import os
import platform
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from acumen import __version__
from acumen.cli import (
    change_commands,
    client_commands,
    learn_commands,
    local_commands,
    operation_commands,
    review_commands,
)
from acumen.cli.options import AsJson

app = typer.Typer(
    name="acumen",
    help="The learning layer beside AI agents: observe, learn, recall, meter, review.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(local_commands.app)
app.add_typer(client_commands.app)
app.add_typer(review_commands.app)
app.add_typer(change_commands.app)
app.add_typer(learn_commands.app)
app.add_typer(operation_commands.app)


@app.command()
def version(as_json: AsJson = False) -> None:
    """Tell the version."""
    if as_json:
        typer.echo(f'{{"acumen": "{__version__}", "python": "{platform.python_version()}"}}')
    else:
        typer.echo(f"acumen {__version__} (Python {platform.python_version()})")


def _version(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


@app.callback()
def acumen(
    _asked: Annotated[bool, typer.Option("--version", callback=_version, help="Tell the version.")] = False,
) -> None:
    """The learning layer beside AI agents: observe, learn, recall, meter, review."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Ends the process: 0 is success, 1 is a failure told on stderr, 2 a command line that cannot be understood."""
    # Searches run side by side; a matrix product that spreads over all cores would slow its neighbours.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # What goes wrong is told below; only `serve` and `worker` keep a log as well.
    logging.getLogger("acumen").addHandler(logging.NullHandler())
    try:
        app(arguments, prog_name="acumen")
    except Exception as failure:  # noqa: BLE001 - nobody at a terminal wants a traceback
        _tell(failure, as_json="--json" in (sys.argv if arguments is None else arguments))
        raise SystemExit(1) from None


def _tell(failure: Exception, *, as_json: bool) -> None:
    from acumen.cli.failures import sentence  # noqa: PLC0415 - only a failure needs to know all failures

    if os.environ.get("ACUMEN_LOG_LEVEL") == "debug":
        logging.getLogger().error("the command failed", exc_info=failure)
    told = sentence(failure)
    typer.echo(json.dumps({"error": told}, ensure_ascii=False) if as_json else f"acumen: {told}", err=True)


if __name__ == "__main__":
    main()
