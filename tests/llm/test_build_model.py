"""The embedding model is built once per recipe, and never half."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from acumen.llm.vocabulary import MODEL_DIRECTORY

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_model.py"


def build(script: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Run the script where uv cannot be found, so that nothing can be fetched."""
    environment = {name: value for name, value in os.environ.items() if name not in {"UV", "PATH"}} | {"PATH": ""}
    command = [sys.executable, str(script), "--out", str(out)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_model_of_the_same_recipe_is_not_built_again() -> None:
    before = (MODEL_DIRECTORY / "model.onnx").stat().st_mtime_ns

    finished = build(SCRIPT, MODEL_DIRECTORY)

    assert finished.returncode == 0, finished.stderr
    assert (MODEL_DIRECTORY / "model.onnx").stat().st_mtime_ns == before


def test_a_changed_recipe_asks_for_a_new_model(tmp_path: Path) -> None:
    shutil.copytree(SCRIPT.parent, tmp_path / "scripts")
    with (tmp_path / "scripts" / "minilm" / "calibration.txt").open("a") as sentences:
        sentences.write("One more sentence.\n")

    finished = build(tmp_path / "scripts" / "build_model.py", MODEL_DIRECTORY)

    assert finished.returncode != 0
    assert "`uv` is needed" in finished.stderr


def test_a_build_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    finished = build(SCRIPT, tmp_path / "model")

    assert finished.returncode != 0
    assert list((tmp_path / "model").iterdir()) == []


def test_the_weights_carry_their_licence() -> None:
    assert "license: apache-2.0" in (MODEL_DIRECTORY / "model-card.md").read_text(encoding="utf-8")
