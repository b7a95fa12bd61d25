"""`acumen version`."""

import json
import platform

import typer

from acumen import __version__
from acumen.cli.options import AsJson

app = typer.Typer()


@app.command()
def version(as_json: AsJson = False) -> None:
    """Print the version."""
    versions = {"acumen": __version__, "python": platform.python_version()}
    typer.echo(json.dumps(versions) if as_json else f"acumen {versions['acumen']} (Python {versions['python']})")
