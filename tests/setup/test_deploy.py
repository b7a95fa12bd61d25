"""What is in deploy/ passes the linters of each format, and what it names exists."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from acumen.cli.main import COMMANDS
from acumen.settings import load
from acumen_client.calls import ENDPOINTS
from tests.faults.server import Server

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
UNIT = DEPLOY / "acumen.service"
MANIFESTS = [
    document
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text())
]
PODS = [document["spec"]["template"]["spec"] for document in MANIFESTS if "template" in document["spec"]]
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
OURS = {name: service for name, service in COMPOSE["services"].items() if service["image"] == "acumen"}
YAML_RULES = "{extends: default, rules: {line-length: {max: 120}, document-start: disable}}"
BIN = Path(sys.executable).parent


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def test_hadolint_finds_nothing_in_the_containerfile():
    found = run(BIN / "hadolint", DEPLOY / "Containerfile")

    assert (found.returncode, found.stdout) == (0, "")


def test_yamllint_finds_nothing():
    found = run(BIN / "yamllint", "--strict", "-d", YAML_RULES, DEPLOY)

    assert (found.returncode, found.stdout) == (0, "")


@pytest.mark.parametrize(
    "document", MANIFESTS, ids=lambda document: f"{document['kind']}-{document['metadata']['name']}"
)
def test_manifests_fit_the_schema_of_kubernetes(document: dict[str, Any]):
    kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine has no systemd")
def test_systemd_accepts_the_unit_and_finds_it_confined(tmp_path: Path):
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/acumen/bin/acumen", str(BIN / "acumen")))

    verified = run("systemd-analyze", "verify", unit)
    confined = run("systemd-analyze", "security", "--offline=yes", "--threshold=20", unit)  # 2.0 of 10

    assert (verified.returncode, verified.stderr) == (0, "")
    assert confined.returncode == 0, confined.stdout


def test_every_program_is_unprivileged_and_cannot_write_to_its_image():
    for pod in PODS:
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert not container["securityContext"]["allowPrivilegeEscalation"]
    for service in OURS.values():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert re.search(r"^USER 10001:10001$", CONTAINERFILE, re.MULTILINE)


def test_secrets_are_references():
    for pod in PODS:
        values = {env["name"]: env.get("value") for env in pod["containers"][0]["env"]}
        assert {name for name, value in values.items() if value is not None} <= {"ACUMEN_JOBS__WORKERS"}
    text = (DEPLOY / "compose.yaml").read_text()
    assert set(re.findall(r"\$\{(\w+)", text)) == {"POSTGRES_PASSWORD", "WEB_SECRET"}


def _commands() -> Iterator[str]:
    yield from (pod["containers"][0]["args"][0] for pod in PODS)
    yield from (service["command"][0] for service in OURS.values())
    yield re.search(r"^ExecStart=\S+/acumen (\w+)$", UNIT.read_text(), re.MULTILINE)[1]
    yield json.loads(re.search(r"^CMD (.+)$", CONTAINERFILE, re.MULTILINE)[1])[0]


def test_every_command_and_every_probe_exists():
    paths = {
        probe["httpGet"]["path"]
        for pod in PODS
        for name, probe in pod["containers"][0].items()
        if name.endswith("Probe")
    }

    assert set(_commands()) <= set(COMMANDS["Server"])
    assert paths == {"/health/live", "/health/ready"}
    assert paths <= {endpoint.path for endpoint in ENDPOINTS}


def test_every_variable_is_a_setting():
    texts = [path.read_text() for path in DEPLOY.rglob("*") if path.is_file()]
    names = {name for text in texts for name in re.findall(r"\bACUMEN_[A-Z_]+", text)}
    values = {"ACUMEN_JOBS__WORKERS": "0", "ACUMEN_LOG_FORMAT": "json", "ACUMEN_TELEMETRY__METRICS_TOKEN": "t" * 16}

    load({name: values.get(name, "postgresql://x") for name in names})

    assert len(names) >= 7


def test_the_health_check_of_the_image_tells_a_running_server_from_a_stopped_one(tmp_path: Path):
    server = Server(tmp_path / "data", tmp_path / "log", jobs__workers=0).start()
    words = json.loads(re.search(r"^    CMD (\[.+\])$", CONTAINERFILE, re.MULTILINE)[1])
    check = [sys.executable, *(word.replace("8061", str(server.port)) for word in words[1:])]

    running = run(*check)
    server.stop()
    stopped = run(*check)

    assert (running.returncode, stopped.returncode) == (0, 1), shlex.join(check)
