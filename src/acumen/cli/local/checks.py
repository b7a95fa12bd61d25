"""The checks of `acumen doctor`: each returns what it found and how to fix it."""

import asyncio
import errno
import os
import shutil
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct

from acumen import operate, web
from acumen.api.openapi import STATIC
from acumen.auth.authenticator import is_loopback
from acumen.cli.errors import sentence
from acumen.cli.output import size
from acumen.errors import AcumenError, BadSettings, ModelMissing, ModelUnavailable, ModelUnusable
from acumen.llm.embedding import load_embedder
from acumen.llm.ping import ping
from acumen.llm.tokens import count_tokens
from acumen.meter.system_status import LEAST_FREE_BYTES
from acumen.model.plural import counted
from acumen.settings import Settings
from acumen_client.client import DEFAULT_URL, Client, Retry
from acumen_client.errors import AcumenError as ClientError
from acumen_client.errors import NotAuthenticated
from acumen_client.wire.system import ReadinessResponse

OLDEST_PYTHON = (3, 11)
# The first without a bug that can corrupt a database in WAL mode.
OLDEST_SQLITE = (3, 51, 3)
COMFORTABLE_FREE_BYTES = 1024**3
PAGES = Path(web.__file__).parent / "static"
SCRIPTS = ("vendor/htmx.min.js", "vendor/uPlot.iife.js", "vendor/uPlot.min.css")
ASSETS = ("docs.html", "swagger/swagger-ui-bundle.js", "swagger/swagger-ui.css")
# A clock that shows an earlier time is wrong.
RELEASED = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
TIMEOUT_SECONDS = 3.0
# A server whose disk does not answer says so after ten seconds.
READY_SECONDS = 15.0
# Includes importing the model library; a model on a small machine is slow.
MODEL_TIMEOUT_SECONDS = 30.0
SEE_DATABASE = "See Database above."
REINSTALL = "Run `make install` in the source folder, or install the wheel again."


class Finding(Struct, frozen=True):
    level: Literal["ok", "warn", "fail"]
    about: str
    says: str
    fix: str = ""


def python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Finding("fail", "Python", f"{version} is too old", "Install Python 3.11 or newer, then `make install`.")
    return Finding("ok", "Python", version)


def clock(settings: Settings) -> Finding:
    now = time.time()
    shown = datetime.fromtimestamp(now).astimezone().isoformat(timespec="seconds")
    fix = "Set the clock of this machine: memories are dated by it."
    if now < RELEASED:
        return Finding("fail", "Clock", f"{shown} is before the release of this program", fix)
    wal = settings.sqlite_path.with_name(f"{settings.sqlite_path.name}-wal")
    written = max((path.stat().st_mtime for path in (settings.sqlite_path, wal) if path.exists()), default=0.0)
    if not settings.database_url and written > now + 60:
        return Finding("warn", "Clock", f"{shown} is before the last write to the database", fix)
    return Finding("ok", "Clock", shown)


# --- the data folder ----------------------------------------------------------------------------------------------


def folder(settings: Settings) -> Finding:
    """Creates a temporary file where the database will be, and syncs it to the disk."""
    if settings.data_dir.exists() and not settings.data_dir.is_dir():
        fix = "Move the file away, or choose another folder with --data."
        return Finding("fail", "Data folder", f"{settings.data_dir} is a file, not a folder", fix)
    place = _existing(settings.data_dir)
    try:
        with tempfile.TemporaryFile(dir=place) as probe:
            probe.write(b"acumen doctor")
            probe.flush()
            _sync(probe.fileno())
    except OSError as error:
        if error.errno == errno.EIO:
            fix = "The disk is failing: restore a backup on another one (`acumen restore`). Writes are refused."
            return Finding("fail", "Data folder", f"{settings.data_dir} cannot be synced: {error.strerror}", fix)
        fix = "Make it writable for this user (chown, chmod), or choose another folder with --data."
        return Finding("fail", "Data folder", f"{settings.data_dir} is not writable: {error.strerror}", fix)
    if place != settings.data_dir:
        return Finding("ok", "Data folder", f"{settings.data_dir} will be created on first start")
    return Finding("ok", "Data folder", f"{settings.data_dir} is writable")


def _sync(file: int) -> None:
    os.fsync(file)
    if hasattr(os, "fdatasync"):  # as SQLite does where it can
        os.fdatasync(file)


def disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(_existing(settings.data_dir)).free
    shown, fix = f"{size(free)} free", "Free some space, or choose a folder on another disk with --data."
    if free < LEAST_FREE_BYTES:
        return Finding("fail", "Disk", shown, fix)
    if free < COMFORTABLE_FREE_BYTES:
        return Finding("warn", "Disk", shown, fix)
    return Finding("ok", "Disk", shown)


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


# --- the database -------------------------------------------------------------------------------------------------


def sqlite() -> Finding:
    """The SQLite of our package, not that of the machine."""
    with tempfile.TemporaryDirectory() as place:
        name, _ = operate.versions(Settings(data=Path(place)))
    version = name.removeprefix("SQLite ")
    if tuple(map(int, version.split("."))) < OLDEST_SQLITE:
        text = f"{version} can corrupt a database; {'.'.join(map(str, OLDEST_SQLITE))} does not"
        return Finding("fail", "SQLite", text, "Install pysqlite3 0.6 or newer.")
    return Finding("ok", "SQLite", version)


def database(settings: Settings) -> Finding:
    if not operate.database_exists(settings):
        return Finding("ok", "Database", "none yet; will be created on first start")
    try:
        version, at = operate.versions(settings)
    except Exception as error:  # noqa: BLE001 - a database can fail in every way a driver knows
        fix = (
            "Check that Postgres is running and that the URL is correct."
            if settings.database_url
            else "Stop the server and restore a backup: `acumen restore FILE --overwrite`."
        )
        return Finding("fail", "Database", sentence(error), fix)
    return _schema(at, f"{version}, schema {at or 'none'}", settings)


def search(settings: Settings) -> Finding:
    """Which engine searches scopes that are too large for memory."""
    try:
        advice = operate.search_advice(settings)
    except Exception:  # noqa: BLE001 - a database can fail in every way a driver knows
        return Finding("warn", "Search", "not checked", SEE_DATABASE)
    if advice:
        return Finding("warn", "Search", "large scopes are searched in memory", f"{advice[0].upper()}{advice[1:]}.")
    return Finding("ok", "Search", operate.SEARCH_ENGINE)


def _schema(at: str | None, text: str, settings: Settings) -> Finding:
    if at == operate.NEWEST_SCHEMA:
        return Finding("ok", "Database", f"{text}, the newest")
    if at is not None and at > operate.NEWEST_SCHEMA:
        return Finding("fail", "Database", f"{text}, newer than this version of Acumen knows", "Use a newer Acumen.")
    if settings.database_url:
        return Finding("fail", "Database", f"{text}, expected {operate.NEWEST_SCHEMA}", "Run `acumen migrate`.")
    return Finding("ok", "Database", f"{text}; the next start upgrades it to {operate.NEWEST_SCHEMA}")


def integrity(settings: Settings) -> Finding:
    if not operate.database_exists(settings):
        return Finding("ok", "Integrity", "nothing to check yet")
    try:
        problems = operate.problems(settings)
    except Exception as error:  # noqa: BLE001 - a database can fail in every way a driver knows
        return Finding("warn", "Integrity", f"cannot be checked: {sentence(error)}", SEE_DATABASE)
    if problems:
        fix = "Stop the server and run `acumen restore FILE --overwrite`, or try `sqlite3 acumen.db .recover`."
        return Finding("fail", "Integrity", f"{counted(len(problems), 'problem')}: {problems[0]}", fix)
    return Finding("ok", "Integrity", "no problems found")


# --- what is in the package ------------------------------------------------------------------------------------------


def embeddings(settings: Settings) -> Finding:
    """Embeds three sentences; the two similar ones must be closer to each other than to the third."""
    if not settings.recall.embeddings:
        fix = "Set ACUMEN_RECALL__EMBEDDINGS=true."
        return Finding("warn", "Embeddings", "off: keyword search only", fix)
    try:
        embedder = load_embedder()
        cat, kitten, tax = embedder.embed(["The cat sleeps.", "A kitten is napping.", "Taxes are due in April."])
    except ModelMissing as error:
        return Finding("fail", "Embeddings", str(error), REINSTALL)
    if not float(cat @ kitten) > float(cat @ tax):
        return Finding("fail", "Embeddings", f"{embedder.name} returns wrong similarities", REINSTALL)
    return Finding("ok", "Embeddings", f"{embedder.name} works, {embedder.dims} dimensions")


def model(settings: Settings) -> Finding:
    """Sends one small prompt. Without an answer, rules learn, so that is only a warning."""
    try:
        answer = asyncio.run(ping(settings.llm, MODEL_TIMEOUT_SECONDS))
    except BadSettings as error:
        return Finding("fail", "Model", str(error), "Correct the [llm] settings; see docs/guides/use-a-model.md.")
    except ModelUnavailable as error:
        fix = f"{_model_fix(error)} Until then, rules learn."
        return Finding("warn", "Model", str(error), fix)
    if answer is None:
        return Finding("ok", "Model", "No model configured (rule-based)")
    return Finding("ok", "Model", f"{answer} answers")


def _model_fix(error: ModelUnavailable) -> str:
    if isinstance(error, ModelUnusable):
        return "It answers, but not with valid JSON: choose another model with ACUMEN_LLM__MODEL."
    if "refused" in str(error):
        return "Check ACUMEN_LLM__API_KEY and ACUMEN_LLM__MODEL."
    return "Check ACUMEN_LLM__URL (it usually ends in /v1) and that its server is running."


def tokens() -> Finding:
    try:
        count = count_tokens("hello world")
    except Exception as error:  # noqa: BLE001 - a library that is missing or broken, in any way
        return Finding("fail", "Token counter", sentence(error), REINSTALL)
    if count != 2:
        return Finding("fail", "Token counter", f"counts {count} tokens in two words", REINSTALL)
    return Finding("ok", "Token counter", "works")


def assets() -> Finding:
    missing = [name for name in ASSETS if not (STATIC / name).is_file()]
    if missing:
        return Finding("warn", "Docs page", f"{' and '.join(missing)} missing: /docs is empty", REINSTALL)
    return Finding("ok", "Docs page", "files present")


def dashboard() -> Finding:
    missing = [name for name in SCRIPTS if not (PAGES / name).is_file()]
    if missing:
        text = f"{' and '.join(missing)} missing: /ui shows pages, but actions do not work"
        return Finding("warn", "Dashboard", text, REINSTALL)
    return Finding("ok", "Dashboard", "files present")


# --- network --------------------------------------------------------------------------------------------------------


def port(settings: Settings) -> Finding:
    host, number = settings.host, settings.port
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, number))
            listener.listen()
    except OSError as error:
        return _used_by(settings, error)
    return Finding("ok", "Port", f"{number} on {host} is free")


def _used_by(settings: Settings, error: OSError) -> Finding:
    """A port in use is fine if Acumen uses it."""
    host = settings.host if is_loopback(settings.host) else "127.0.0.1"
    url = f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"
    try:
        with _client(url) as client:
            welcome = client.welcome()
    except ClientError:
        text = f"{settings.port} on {settings.host}: {error.strerror or error}"
        return Finding("fail", "Port", text, "Choose another with --port or ACUMEN_PORT.")
    if welcome.service != "acumen":
        return Finding("fail", "Port", f"{settings.port} is used by {welcome.service}", "Choose another with --port.")
    text = f"{settings.port} is used by a running Acumen {welcome.version}"
    if failed := _failed_checks(url):
        return Finding("fail", "Port", f"{text}, which is not healthy: {'; '.join(failed)}", "See its log.")
    return Finding("ok", "Port", text)


def _failed_checks(url: str) -> list[str]:
    """The checks that a running server needs and fails; its answer is then a 503."""
    try:
        with urllib.request.urlopen(f"{url}/health/ready", timeout=READY_SECONDS) as reply:  # noqa: S310 - http, as above
            body = reply.read()
    except urllib.error.HTTPError as error:
        body = error.read()
    except OSError as error:
        return [sentence(error)]
    checks = ReadinessResponse.model_validate_json(body).checks
    return [f"{name}: {check.reason}" for name, check in checks.items() if check.required and check.status == "failed"]


def keys(settings: Settings) -> Finding:
    try:
        exist = operate.database_exists(settings) and operate.any_key_exists(settings)
    except Exception as error:  # noqa: BLE001 - a database can fail in every way a driver knows
        return Finding("warn", "Keys", f"cannot be read: {sentence(error)}", SEE_DATABASE)
    if exist:
        return Finding("ok", "Keys", "present: every caller needs one")
    if not is_loopback(settings.host):
        fix = "Create one with `acumen keys create NAME`, or listen on 127.0.0.1."
        return Finding("fail", "Keys", f"none, and listening on {settings.host} requires one", fix)
    text = "none: only programs on this machine may call, as admin; keys that clients send are ignored"
    return Finding("ok", "Keys", text)


def server() -> Finding:
    """The server that commands such as `publish` call."""
    url = os.environ.get("ACUMEN_URL", "")
    if not url:
        return Finding("ok", "ACUMEN_URL", f"not set: commands call {DEFAULT_URL}")
    try:
        with _client(url) as client:
            identity = client.whoami()
    except NotAuthenticated:
        fix = "Set ACUMEN_KEY; `acumen keys create NAME` creates a key."
        return Finding("fail", "ACUMEN_URL", f"{url} requires a valid API key", fix)
    except (ClientError, AcumenError) as error:
        fix = "Start the server, or correct ACUMEN_URL."
        return Finding("fail", "ACUMEN_URL", sentence(error), fix)
    return Finding("ok", "ACUMEN_URL", f"{url} answers: org {identity.org_id}, role {identity.role}")


def _client(url: str) -> Client:
    return Client(url, timeout=TIMEOUT_SECONDS, retry=Retry(attempts=1))
