"""`acumen doctor`: checks everything a newcomer can get wrong, and says how to put it right."""

from collections.abc import Callable, Iterator
from pathlib import Path

import typer
from msgspec.structs import asdict

from acumen.cli import checks
from acumen.cli.checks import Finding
from acumen.cli.failures import sentence
from acumen.cli.local import settings_of
from acumen.cli.output import as_json_text
from acumen.errors import BadSettings
from acumen.settings import Settings

COLOURS = {"ok": typer.colors.GREEN, "warn": typer.colors.YELLOW, "fail": typer.colors.RED}
ALWAYS = (checks.python, checks.sqlite, checks.tokens, checks.assets, checks.dashboard, checks.server)
OF_SQLITE = (checks.folder, checks.disk)
OF_SETTINGS = (
    checks.clock,
    checks.database,
    checks.integrity,
    checks.embeddings,
    checks.model,
    checks.port,
    checks.keys,
)


def run(data: Path | None, config: str | None, host: str | None, port: int | None, *, as_json: bool) -> None:
    """Leaves with 1 when anything failed."""
    found = []
    for finding in _findings(data, config, host, port):
        found.append(finding)
        if not as_json:
            _tell(finding)
    failed = sum(finding.level == "fail" for finding in found)
    if as_json:
        typer.echo(as_json_text({"ok": not failed, "checks": [asdict(finding) for finding in found]}))
    else:
        typer.echo(f"\n{failed} of {len(found)} checks failed." if failed else "\nAll is well.")
    if failed:
        raise typer.Exit(1)


def _findings(data: Path | None, config: str | None, host: str | None, port: int | None) -> Iterator[Finding]:
    yield from (_guarded(check) for check in ALWAYS)
    try:
        settings = settings_of(data, config, host=host, port=port)
    except BadSettings as wrong:
        fix = "Correct the variable or the file; what depends on the settings is not checked."
        yield Finding("fail", "Settings", str(wrong), fix)
        return
    yield Finding("ok", "Settings", "all of them are known and make sense")
    for check in (*(() if settings.database_url else OF_SQLITE), *OF_SETTINGS):
        yield _guarded(_with(check, settings))


def _with(check: Callable[[Settings], Finding], settings: Settings) -> Callable[[], Finding]:
    return lambda: check(settings)


def _guarded(check: Callable[[], Finding]) -> Finding:
    """A check that breaks has found something too."""
    try:
        return check()
    except Exception as wrong:  # noqa: BLE001 - whatever it is, the person is told and the other checks go on
        return Finding("fail", "Check", sentence(wrong), "This is unexpected; please report it.")


def _tell(finding: Finding) -> None:
    level = typer.style(f"{finding.level:4}", fg=COLOURS[finding.level], bold=True)
    typer.echo(f"{level}  {finding.about:14} {finding.says}")
    if finding.fix:
        typer.echo(f"{'':20} → {finding.fix}")
