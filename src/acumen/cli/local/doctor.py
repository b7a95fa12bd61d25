"""`acumen doctor`: runs every check of the installation."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import asdict

from acumen.cli.errors import sentence
from acumen.cli.local import checks
from acumen.cli.local.checks import Finding
from acumen.cli.local.setup import settings_of
from acumen.cli.options import AsJson, ConfigFile, Data, examples
from acumen.cli.output import as_json_text
from acumen.errors import BadSettings

app = typer.Typer()

COLOURS = {"ok": typer.colors.GREEN, "warn": typer.colors.YELLOW, "fail": typer.colors.RED}
ALWAYS = (checks.python, checks.sqlite, checks.tokens, checks.assets, checks.dashboard, checks.server)
OF_SQLITE = (checks.folder, checks.disk)
OF_POSTGRES = (checks.search,)
OF_SETTINGS = (
    checks.clock,
    checks.database,
    checks.integrity,
    checks.embeddings,
    checks.model,
    checks.port,
    checks.keys,
)

CheckedHost = Annotated[str | None, typer.Option(show_default="127.0.0.1", help="Address to check.")]
CheckedPort = Annotated[int | None, typer.Option(show_default="8061", help="Port to check.")]


@app.command(epilog=examples("acumen doctor", "acumen doctor --port 9000 --data ./memory"))
def doctor(
    host: CheckedHost = None,
    port: CheckedPort = None,
    data: Data = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Check the installation and suggest fixes. Changes nothing; exits with 1 if a check fails."""
    findings = []
    for finding in _findings(data, config, host, port):
        findings.append(finding)
        if not as_json:
            _show(finding)
    failed = sum(finding.level == "fail" for finding in findings)
    if as_json:
        typer.echo(as_json_text({"ok": not failed, "checks": [asdict(finding) for finding in findings]}))
    else:
        typer.echo(f"\n{failed} of {len(findings)} checks failed." if failed else "\nAll checks passed.")
    if failed:
        raise typer.Exit(1)


def _findings(data: Path | None, config: str | None, host: str | None, port: int | None) -> Iterator[Finding]:
    yield from map(_guarded, ALWAYS)
    try:
        settings = settings_of(data, config, host=host, port=port)
    except BadSettings as error:
        fix = "Correct the variable or the file. Checks that need the settings were skipped."
        yield Finding("fail", "Settings", str(error), fix)
        return
    yield Finding("ok", "Settings", "valid")
    for check in (*(OF_POSTGRES if settings.database_url else OF_SQLITE), *OF_SETTINGS):
        yield _guarded(partial(check, settings))


def _guarded(check: Callable[[], Finding]) -> Finding:
    """A check that raises is a finding too."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - any error is reported and the other checks go on
        return Finding("fail", "Check", sentence(error), "This is unexpected; please report it.")


def _show(finding: Finding) -> None:
    level = typer.style(f"{finding.level:4}", fg=COLOURS[finding.level], bold=True)
    typer.echo(f"{level}  {finding.about:14} {finding.says}")
    if finding.fix:
        typer.echo(f"{'':20} → {finding.fix}")
