"""The quickstarts of the README do what they say."""

import json
import re
from pathlib import Path

import pytest

from acumen.cli.main import main
from acumen.llm.tokens import count_tokens
from tests.cli.conftest import serving
from tests.world import Org

README = (Path(__file__).parents[2] / "README.md").read_text()


async def test_the_curl_example_teaches_and_shows_exactly_what_the_readme_says(org: Org):
    conversation, search = (json.loads(body) for body in re.findall(r"-d '(\{.*?\})'", README, re.DOTALL)[:2])
    published = await org.sdk.publish(**conversation)
    await org.learn()
    answer = await org.sdk.search(**search)

    learned = await org.sdk.learning_status(request_id=published.request_id)
    assert learned.status == "done"
    assert _undated(answer.context) == _documented_context()
    assert f"the\none above has {count_tokens(_printed_context())}." in README
    assert len((await org.sdk.profiles(user_id="ada")).user_profiles) == 1
    assert len((await org.sdk.user_playbooks(user_id="ada")).user_playbooks) == 1


async def test_the_standing_part_reaches_a_search_for_something_else(org: Org):
    conversation = json.loads(next(iter(re.findall(r"-d '(\{.*?\})'", README, re.DOTALL))))
    await org.sdk.publish(**conversation)
    await org.learn()

    answer = await org.sdk.search(query="write a birthday card", user_id="ada", max_tokens=300)

    assert _undated(answer.standing) in _documented_context()
    assert "I prefer short answers." in answer.standing


def test_the_python_example_prints_the_same_on_a_server_that_knows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    example = next(code for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "session.finish" in code)

    with serving(tmp_path) as server:
        monkeypatch.setenv("ACUMEN_URL", server.url)
        exec(compile(example, "README.md", "exec"), {})

    assert _undated(capsys.readouterr().out.strip()) == _documented_context()


def test_the_demo_prints_what_the_readme_shows_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    sample = re.search(r"\(parts of a real run\)</summary>\n\n```text\n(.*?)```", README, re.DOTALL)
    assert sample is not None
    monkeypatch.delenv("COLUMNS", raising=False)

    with pytest.raises(SystemExit):
        main(["demo", "--data", str(tmp_path / "demo")])

    printed = iter(_same_everywhere(capsys.readouterr().out))
    missing = [line for line in _same_everywhere(sample[1]) if line not in printed]  # in this order
    assert missing == []


def _same_everywhere(output: str) -> list[str]:
    """Without quoted turns and token counts, for vectors differ a little by processor, and without ages."""
    lines = re.sub(r"\d+ (?=tokens of context)|(?<=last changed )\d+", "", _undated(output)).splitlines()
    return [line for line in lines if not re.match(r" +(?:DATE$|\[t\] )", line)]


def _undated(context: str) -> str:
    """Without what differs from day to day and from server to server."""
    without_dates = re.sub(r"\d{4}-\d\d-\d\d|\b\d\d [A-Z][a-z]{2}(?= \d\d:\d\d)", "DATE", context)
    return re.sub(r"\[([mt])\d+\]", r"[\1]", without_dates)


def _documented_context() -> str:
    return _undated(_printed_context())


def _printed_context() -> str:
    context = re.search(r"```text\n(<acumen-context>.*?</acumen-context>)\n```", README, re.DOTALL)
    assert context is not None
    return context[1]
