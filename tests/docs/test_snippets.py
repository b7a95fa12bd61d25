"""Every code block of the docs runs as printed."""

import contextlib
import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import serving
from tests.docs.snippets import Runner, Snippet, output_below, snippets, without_ids

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs/tutorial.md"
PAGES = [ROOT / "README.md", ROOT / "src/acumen_client/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = ("python", "sh")
SHOWN = ("text", "json", "toml", "yaml", "ini", "nginx")  # data and output; what is run prints or reads it


def _runnable(page: Path) -> list[Snippet]:
    return [snippet for snippet in snippets(page) if snippet.language in RUN and not snippet.not_run]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_names_its_language(page: Path):
    assert [block.line for block in snippets(page) if block.language not in (*RUN, *SHOWN)] == []


@pytest.mark.skipif(shutil.which("curl") is None, reason="the pages call curl, which is not installed")
@pytest.mark.parametrize("page", list(filter(_runnable, PAGES)), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with serving(tmp_path / "data") as server:
        for name in [name for name in os.environ if name.startswith("ACUMEN_")]:
            monkeypatch.delenv(name)
        for name, value in {"ACUMEN_URL": server.url, "ACUMEN_DATA": str(server.data), "COLUMNS": "160"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        with contextlib.closing(Runner(page, server.url, dict(os.environ))) as runner:
            printed = [(snippet, runner.run(snippet)) for snippet in _runnable(page)]

    assert len(printed) == len(_runnable(page))
    for snippet, output in printed:
        shown = snippet.output if snippet.is_transcript else None
        if snippet.language == "python" and page == TUTORIAL:
            shown = output_below(snippet, snippets(page))
        if shown is not None:
            assert without_ids(output) == without_ids(shown)
