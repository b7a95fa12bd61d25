"""What `make dist` builds works in a fresh environment that has the declared packages and nothing else of ours."""

import json
import os
import re
import subprocess
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LARGEST_SOURCE_BYTES = 300_000
MODEL = "src/acumen/llm/minilm/"
ASSETS = ("src/acumen/api/static/swagger/", "src/acumen/web/static/vendor/")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(["make", "dist", f"DIST={folder}"], cwd=ROOT, check=True, capture_output=True)
    return folder


def environment(folder: Path, *wheels: Path) -> Path:
    """A fresh environment with the wheels and the packages they declare, linked from ours: nothing is downloaded."""
    venv.create(folder, symlinks=True)
    packages = next((folder / "lib").glob("python*")) / "site-packages"
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
    ours = {wheel.name.partition("-")[0].replace("_", "-") for wheel in wheels}
    for package in required(wheels, ours):
        for name in {file.parts[0] for file in package.files or [] if ".." not in file.parts}:
            if not (packages / name).exists():
                (packages / name).symlink_to(package.locate_file(name))
    return folder / "bin" / "python"


def required(wheels: tuple[Path, ...], ours: set[str]) -> Iterator[Distribution]:
    """What the wheels declare must be installed; what that declares may be left out by requirements/excludes.in."""
    waiting = [Requirement(line) for wheel in wheels for line in metadata(wheel, "Requires-Dist")]
    declared = {requirement.name for requirement in waiting if applies(requirement, set())}
    done = set(ours)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in done or not applies(requirement, set()):
            continue
        done.add(name)
        try:
            package = distribution(name)
        except PackageNotFoundError:
            assert requirement.name not in declared
            continue
        yield package
        below = [Requirement(line) for line in package.requires or []]
        waiting += [Requirement(each.name) for each in below if applies(each, requirement.extras)]


def applies(requirement: Requirement, extras: set[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def metadata(wheel: Path, field: str) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return re.findall(rf"^{field}: (.*)$", archive.read(name).decode(), re.MULTILINE)


@contextmanager
def serving(python: Path, data: Path) -> Iterator[str]:
    words = [python, "-m", "acumen.cli.main", "serve", "--port", "0", "--json", "--data", data]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=data) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.wait(30)


def test_the_wheels_start_publish_and_search_and_the_client_needs_only_its_own(dist: Path, tmp_path: Path):
    (server_wheel,), (client_wheel,) = dist.glob("acumen-*.whl"), dist.glob("acumen_client-*.whl")
    server = environment(tmp_path / "server", server_wheel, client_wheel)
    client = environment(tmp_path / "client", client_wheel)
    publish = (
        "from acumen_client import Client\n"
        "with Client() as client:\n"
        "    client.publish(user_id='ana', session_id='s', wait_for_response=True,\n"
        "                   interaction_data_list=[{'role': 'User', 'content': 'Always use tabs.'}])\n"
        "    print(client.search(query='tabs or spaces', user_id='ana').context)"
    )

    def run(python: Path, *words: str, **environ: str) -> str:
        done = subprocess.run(
            [python, *words], cwd=tmp_path, env={**os.environ, **environ}, capture_output=True, text=True, check=True
        )
        return done.stdout

    with serving(server, tmp_path) as url:
        context = run(client, "-c", publish, ACUMEN_URL=url)
        found = run(server, "-m", "acumen.cli.main", "search", "tabs or spaces", "--user", "ana", ACUMEN_URL=url)

    assert run(server, "-m", "acumen.cli.main", "--version").startswith("acumen ")
    assert "Always use tabs." in context
    assert "Always use tabs." in found
    assert "ModuleNotFoundError" in run(client, "-c", "try:\n import acumen\nexcept ImportError as e: print(repr(e))")


def test_the_command_has_the_name_of_the_package_as_uvx_needs(dist: Path):
    (wheel,) = dist.glob("acumen-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        entry_points = archive.read(name).decode()

    assert metadata(wheel, "Name") == ["acumen"]
    assert "[console_scripts]\nacumen = acumen.cli.main:main" in entry_points


def test_the_source_distribution_has_code_and_the_model_and_no_data(dist: Path):
    (archive,) = dist.glob("acumen-*.tar.gz")
    with tarfile.open(archive) as files:
        sizes = {member.name.partition("/")[2]: member.size for member in files.getmembers()}

    large = [
        name for name, size in sizes.items() if size > LARGEST_SOURCE_BYTES and not name.startswith((MODEL, *ASSETS))
    ]
    assert large == []
    assert [name for name in sizes if name.startswith(("bench", "tests", "docs")) or name.endswith(".npz")] == []


def test_cleaning_deletes_nothing_that_git_tracks(tmp_path: Path):
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--no-local", "--depth", "1", f"file://{ROOT}", clone], check=True)
    (clone / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())

    subprocess.run(["make", "clean"], cwd=clone, check=True, capture_output=True)

    deleted = subprocess.run(["git", "ls-files", "--deleted"], cwd=clone, check=True, capture_output=True, text=True)
    assert deleted.stdout == ""
