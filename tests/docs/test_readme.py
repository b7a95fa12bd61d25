"""The README's first lesson is what really happens."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import serving
from tests.world import Org

README = (Path(__file__).parents[2] / "README.md").read_text()


async def test_the_curl_example_teaches_and_shows_exactly_what_the_readme_says(org: Org):
    published, asked = (json.loads(body) for body in re.findall(r"-d '(\{.*?\})'", README, re.DOTALL)[:2])
    await org.sdk.publish(**published)
    await org.learn()
    found = await org.sdk.search(**asked)

    assert _undated(found.context) == _shown()
    assert len(found.profiles) == len(found.user_playbooks) == 1


def test_the_python_example_prints_the_same_on_a_server_that_knows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    example = next(code for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "talk.finish" in code)

    with serving(tmp_path) as server:
        monkeypatch.setenv("ACUMEN_URL", server.url)
        exec(compile(example, "README.md", "exec"), {})

    assert _undated(capsys.readouterr().out.strip()) == _shown()


def _undated(context: str) -> str:
    """Without what differs from day to day and from server to server."""
    return re.sub(r"\[([mt])\d+\]", r"[\1]", re.sub(r"\d{4}-\d\d-\d\d", "DATE", context))


def _shown() -> str:
    shown = re.search(r"```text\n(<acumen-context>.*?</acumen-context>)\n```", README, re.DOTALL)
    assert shown is not None
    return _undated(shown[1])
