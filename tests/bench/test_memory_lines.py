"""The bench lines about memory, run quickly over a small data set of the public sets' shape."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ANSWERS = {
    *(f"{method}, {budget} tokens" for budget in ("300", "1,000") for method in ("context", "turns, learning off")),
    *(f"sentences, plain ranking, {budget} tokens" for budget in ("300", "1,000")),
    *(f"context above the best baseline, {budget} tokens" for budget in ("300", "1,000")),
    "contexts that miss",
}
FIGURES = {
    "answers-locomo": ANSWERS,
    "answers-longmemeval": ANSWERS,
    "stale": {
        f"newest value {how}, {budget} tokens"
        for budget in ("300", "1,000")
        for how in ("shown", "first", "first, with its date")
    },
    "losses": {
        "memories made",
        "memories ended",
        "ended without explicit cause",
        "gold turns hidden from search",
        "turns hidden from search",
        "endings to read",
    },
    "worth-reading": {"memories per user, p50", "memories to read"},
    "standing": {"preferences shown, 1,500 tokens", "preferences shown, 300 tokens"},
    "requests": {"memories before the requests", "facts lost", "memories made"},
    "search-context": {"this version, p50", "this version, p95"},
    "learning-cpu": {"this version: CPU per user turn", "this version: CPU per user turn, extractors off"},
}
NEED_DATA = ("answers-locomo", "losses", "stale", "worth-reading", "search-context", "learning-cpu")

LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "I repaired the old harmonium in the barn."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "I spent the week in Tromsø with my aunt."},
            ],
        },
        "qa": [
            {"question": "Where was Ben with his aunt?", "evidence": ["D1:2"], "category": 4, "answer": "Tromsø"},
            {"question": "What did Ada repair?", "evidence": ["D1:1"], "category": 4, "answer": "a harmonium"},
        ],
    }
]
LOCOMO_KEYS = {"conv-1:0": {"need": ["troms"], "category": 4}, "conv-1:1": {"need": ["harmonium"], "category": 4}}
LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question_type": "knowledge-update",
        "question": "How many pages of the atlas did I restore?",
        "haystack_dates": ["2023/06/02 (Fri) 09:00", "2023/05/20 (Sat) 02:21"],
        "haystack_sessions": [
            [{"role": "user", "content": "I have restored 40 pages of the atlas now.", "has_answer": True}],
            [
                {"role": "user", "content": "I restored 12 pages of the atlas so far."},
                {"role": "assistant", "content": "That is a good start."},
            ],
        ],
    }
]
LONGMEMEVAL_KEYS = {"q1": {"need": ["40 pages"], "old": ["12 pages"]}, "q2": {"abstain": True}}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name, items, keys in (
        ("locomo-1-5", LOCOMO, LOCOMO_KEYS),
        ("longmemeval-s-40", LONGMEMEVAL, LONGMEMEVAL_KEYS),
    ):
        with gzip.open(folder / f"{name}.json.gz", "wt", encoding="utf-8") as stream:
            json.dump(items, stream)
        (folder / f"{name}-keys.json").write_text(json.dumps(keys))
    return folder


@pytest.fixture(scope="module")
def lines(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a quick run over these lines writes."""
    folder = tmp_path_factory.mktemp("bench")
    completed = _bench(*FIGURES, "--out", str(folder / "figures.json"), data=data, cache=folder)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    figures: dict[str, Any] = json.loads((folder / "figures.json").read_text())["lines"]
    return figures


@pytest.mark.parametrize("line", FIGURES)
def test_a_line_about_memory_yields_its_figures(line: str, lines: dict[str, Any]) -> None:
    assert {figure["name"] for figure in lines[line]["figures"]} >= FIGURES[line]


def test_without_the_data_sets_their_lines_are_skipped(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"

    completed = _bench(*NEED_DATA, "--out", str(out), data=tmp_path, cache=tmp_path)

    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert completed.stdout.count("skipped") == len(NEED_DATA)
    assert not any(line["figures"] for line in json.loads(out.read_text())["lines"].values())


def test_dated_turns_of_a_server_that_does_not_learn_bear_the_answers(lines: dict[str, Any]) -> None:
    for line in ("answers-locomo", "answers-longmemeval"):
        shares = {figure["name"]: figure["value"] for figure in lines[line]["figures"]}
        assert shares["turns, learning off, 300 tokens"] == 1


def _bench(*arguments: str, data: Path, cache: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bench", "--quick", *arguments]
    environ = {**os.environ, "ACUMEN_BENCH_DATA": str(data), "ACUMEN_BENCH_CACHE": str(cache)}
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=600, check=False)
