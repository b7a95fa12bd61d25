"""The nginx configuration of the docs, in front of a real server."""

import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.faults.server import Server, free_port, wait_until
from tests.world import said

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/operate/reverse-proxy.md").read_text()
NGINX, OPENSSL = shutil.which("nginx") or "/usr/sbin/nginx", shutil.which("openssl")

pytestmark = pytest.mark.skipif(
    not Path(NGINX).exists() or OPENSSL is None, reason="nginx or openssl is not installed on this machine"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    running = Server(folder / "data", folder / "log", jobs__workers=0).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def proxy(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    certificate, key = folder / "acumen.pem", folder / "acumen.key"
    made = [OPENSSL, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate]
    names = ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*made, *names], check=True, capture_output=True)
    (site,) = re.findall(r"```nginx\n(.*?)```", PAGE, re.DOTALL)
    for written, here in (
        ("127.0.0.1:8061", f"127.0.0.1:{server.port}"),
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("acumen.example", "localhost"),
        ("/etc/ssl", str(folder)),
    ):
        assert written in site
        site = site.replace(written, here)
    temporary = " ".join(f"{kind}_temp_path {folder};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\nevents {{}}\n"
        f"http {{ access_log off; {temporary}\n{site} }}"
    )
    running = subprocess.Popen([NGINX, "-c", folder / "nginx.conf", "-p", folder, "-e", folder / "error.log"])
    trusted = ssl.create_default_context(cafile=str(certificate))
    with httpx.Client(base_url=f"https://localhost:{port}", verify=trusted) as client:
        wait_until(lambda: _answers(client), 20, "nginx to answer")
        yield client
    running.terminate()
    running.wait(20)


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/health/live").status_code == 200
    except httpx.TransportError:
        return False


def test_without_a_key_nobody_is_answered_through_the_proxy_and_with_one_the_dashboard_works(
    server: Server, proxy: httpx.Client
):
    keyless = proxy.get("/api/whoami").status_code
    with closing(server.caller()) as caller:
        made = caller.send("POST", "/api/keys", b'{"name": "admin", "role": "admin"}')
    secret = made.json["secret"]
    bearer = {"Authorization": f"Bearer {secret}"}
    wait_until(lambda: proxy.get("/api/whoami", headers=bearer).status_code == 200, 10, "the key to be known")

    published = proxy.post("/api/publish_interaction", json=said("I live in Paris"), headers=bearer)
    token = re.search(r'name="token" value="([^"]*)"', proxy.get("/ui/login").text)[1]
    form = {"key": secret, "token": token}
    origin = {"Origin": str(proxy.base_url).rstrip("/")}
    signed_in = proxy.post("/ui/login", data=form, headers=origin)

    assert (keyless, published.status_code) == (401, 200)
    assert re.fullmatch(r"[0-9a-f]{32}", published.headers["x-request-id"])
    assert signed_in.status_code == 303, signed_in.text
    assert "Secure" in signed_in.headers["set-cookie"]
    assert proxy.get("/ui").status_code == 200


def test_metrics_are_not_for_everyone_and_bodies_have_a_limit(proxy: httpx.Client):
    large = proxy.post("/api/search", content=b"x" * (10 * 1024 * 1024 + 1))

    assert proxy.get("/metrics").status_code == 403
    assert large.status_code == 413
