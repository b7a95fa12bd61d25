"""The client runs on Python 3.9."""

import ast
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import acumen_client

PACKAGE = Path(acumen_client.__file__).parent
ROOT = Path(__file__).parents[2]
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "compat.py")

# Names that the standard library got after 3.9; `compat` or typing_extensions have them.
NEWER = {
    "contextlib": {"aclosing", "chdir"},
    "datetime": {"UTC"},
    "enum": {"StrEnum", "verify", "member", "nonmember"},
    "itertools": {"pairwise", "batched"},
    "types": {"UnionType", "NoneType", "EllipsisType"},
    "typing": {
        *("Concatenate", "LiteralString", "Never", "NotRequired", "ParamSpec", "Required", "Self", "TypeAlias"),
        *("TypeGuard", "TypeVarTuple", "Unpack", "assert_never", "assert_type", "dataclass_transform", "override"),
    },
}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_uses_nothing_newer_than_python_39(path: Path):
    tree = ast.parse(path.read_text(), feature_version=(3, 9))

    newer = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in NEWER.get(node.module or "", ())
    ]

    assert newer == []


def test_every_endpoint_works_on_python_39(tmp_path: Path):
    python = _python39()
    uv = str(ROOT / "tools" / "uv")
    interpreter = tmp_path / "venv" / "bin" / "python"
    _run(uv, "venv", "--quiet", "--python", python, str(tmp_path / "venv"))
    _run(uv, "pip", "install", "--quiet", "--python", str(interpreter), "httpx", "pydantic", "typing-extensions")
    program = (
        "import inspect, acumen_client.observe\n"
        "from acumen_client import Client\n"
        "from acumen_client.calls import ENDPOINTS\n"
        "for endpoint in ENDPOINTS:\n"
        "    inspect.signature(endpoint)\n"
        "    endpoint.request_model.model_json_schema(), endpoint.answer_model.model_json_schema()\n"
        "print(len(ENDPOINTS), Client('http://acumen.test').search.__name__)\n"
    )

    printed = _run(str(interpreter), "-c", program, PYTHONPATH=str(PACKAGE.parent))

    assert printed.endswith("search\n")


def _python39() -> str:
    places = sorted(Path.home().glob(".pyenv/versions/3.9.*/bin/python"))
    on_path = shutil.which("python3.9")
    for python in (*map(str, places), *([on_path] if on_path else [])):
        if subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip("this machine has no Python 3.9")


def _run(*command: str, **environment: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout
