"""What a newcomer can get wrong, each as one check that says what it found and how to put it right."""

import asyncio
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec import Struct

from acumen import web
from acumen.api.openapi import STATIC
from acumen.api.system import LEAST_FREE_BYTES
from acumen.auth.authenticator import is_loopback
from acumen.cli.failures import sentence
from acumen.cli.local import database_exists
from acumen.cli.output import size
from acumen.errors import AcumenError, BadSettings, ModelMissing, ModelUnavailable, ModelUnusable
from acumen.llm.embedding import load_embedder
from acumen.llm.ping import ping
from acumen.llm.tokens import count_tokens
from acumen.settings import Settings
from acumen.storage.accounts.api_keys import any_exist
from acumen.storage.engine import migrate
from acumen.storage.engine.database import Database
from acumen.storage.store import connect
from acumen_client.client import Client, Retry
from acumen_client.errors import AcumenError as ClientError

T = TypeVar("T")

OLDEST_PYTHON = (3, 11)
# The first without the bug that could damage a database in WAL mode.
OLDEST_SQLITE = (3, 51, 3)
COMFORTABLE_FREE_BYTES = 1024**3
PAGES = Path(web.__file__).parent / "static"
SCRIPTS = ("vendor/htmx.min.js", "vendor/uPlot.iife.js", "vendor/uPlot.min.css")
ASSETS = ("docs.html", "swagger/swagger-ui-bundle.js", "swagger/swagger-ui.css")
# Nobody can run this before it was written; a clock that says so is wrong.
WRITTEN = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
PATIENCE_SECONDS = 3.0
# Loading the library takes some of it, and a model on a small machine the rest.
MODEL_PATIENCE_SECONDS = 30.0
SEE_DATABASE = "See Database above."
REINSTALL = "Run `make install` in the source folder, or install the wheel again."


class Finding(Struct, frozen=True):
    """`fix` tells what to do, where there is something to do."""

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
    said = datetime.fromtimestamp(now).astimezone().isoformat(timespec="seconds")
    fix = "Set the machine's clock: memories are dated by it."
    if now < WRITTEN:
        return Finding("fail", "Clock", f"{said} lies before this program was written", fix)
    wal = settings.sqlite_path.with_name(f"{settings.sqlite_path.name}-wal")
    written = max((path.stat().st_mtime for path in (settings.sqlite_path, wal) if path.exists()), default=0.0)
    if not settings.database_url and written > now + 60:
        return Finding("warn", "Clock", f"{said} lies before the last write to the database", fix)
    return Finding("ok", "Clock", said)


# --- the data folder ----------------------------------------------------------------------------------------------


def folder(settings: Settings) -> Finding:
    """Tries it: makes a file where the database will lie."""
    place = _existing(settings.data_dir)
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as wrong:
        fix = "Give this user the right to write there (chown, chmod), or choose another with --data."
        return Finding("fail", "Data folder", f"{settings.data_dir} cannot be written: {wrong.strerror}", fix)
    if place != settings.data_dir:
        return Finding("ok", "Data folder", f"{settings.data_dir} will be made at the first start")
    return Finding("ok", "Data folder", f"{settings.data_dir} can be written")


def disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(_existing(settings.data_dir)).free
    said, fix = f"{size(free)} free", "Free some space, or choose a folder on another disk with --data."
    if free < LEAST_FREE_BYTES:
        return Finding("fail", "Disk", said, fix)
    if free < COMFORTABLE_FREE_BYTES:
        return Finding("warn", "Disk", said, fix)
    return Finding("ok", "Disk", said)


def _existing(path: Path) -> Path:
    return next(each for each in (path, *path.parents) if each.is_dir())


# --- the database -------------------------------------------------------------------------------------------------


def sqlite() -> Finding:
    """Of the SQLite we bring along, whatever the machine's own may be."""
    with tempfile.TemporaryDirectory() as place:
        found = _asked(Settings(data=Path(place)), lambda conn, db: db.version(conn))
    version = found.removeprefix("SQLite ")
    if tuple(map(int, version.split("."))) < OLDEST_SQLITE:
        said = f"{version} can damage a database; {'.'.join(map(str, OLDEST_SQLITE))} does not"
        return Finding("fail", "SQLite", said, "Install pysqlite3 0.6 or newer.")
    return Finding("ok", "SQLite", version)


def database(settings: Settings) -> Finding:
    if not database_exists(settings):
        return Finding("ok", "Database", "none yet; the first start makes it")
    try:
        version, at = _asked(settings, lambda conn, db: (db.version(conn), migrate.current(conn)))
    except Exception as wrong:  # noqa: BLE001 - a database can fail in every way a driver knows
        fix = "Is the server running, and the URL right?" if settings.database_url else "Restore it from a backup."
        return Finding("fail", "Database", sentence(wrong), fix)
    return _schema(at, f"{version}, schema {at or 'none'}", settings)


def _schema(at: str | None, said: str, settings: Settings) -> Finding:
    if at == migrate.HEAD:
        return Finding("ok", "Database", f"{said}, the newest")
    if at is not None and at > migrate.HEAD:
        return Finding("fail", "Database", f"{said}, newer than this Acumen knows", "Use a newer Acumen.")
    if settings.database_url:
        return Finding("fail", "Database", f"{said}, expected {migrate.HEAD}", "Run `acumen migrate`.")
    return Finding("ok", "Database", f"{said}; the next start brings it to {migrate.HEAD}")


def integrity(settings: Settings) -> Finding:
    if not database_exists(settings):
        return Finding("ok", "Integrity", "nothing to check yet")
    try:
        problems = _asked(settings, lambda conn, db: db.problems(conn))
    except Exception as wrong:  # noqa: BLE001 - a database can fail in every way a driver knows
        return Finding("warn", "Integrity", f"cannot be checked: {sentence(wrong)}", SEE_DATABASE)
    if problems:
        fix = "Stop the server and restore a backup, or try `sqlite3 acumen.db .recover`."
        return Finding("fail", "Integrity", f"{len(problems)} problem(s): {problems[0]}", fix)
    return Finding("ok", "Integrity", "no problem found")


def _asked(settings: Settings, ask: Callable[[Any, Database], T]) -> T:
    found = connect(settings)
    try:
        return asyncio.run(found.read(lambda conn: ask(conn, found)))
    finally:
        found.close()


# --- what the program brings along --------------------------------------------------------------------------------


def embeddings(settings: Settings) -> Finding:
    """Embeds three sentences and sees whether the two alike are nearer to each other than to the third."""
    if not settings.recall.embeddings:
        fix = "Set ACUMEN_RECALL__EMBEDDINGS=true."
        return Finding("warn", "Embeddings", "switched off: search goes by words only", fix)
    try:
        embedder = load_embedder()
        cat, kitten, tax = embedder.embed(["The cat sleeps.", "A kitten is napping.", "Taxes are due in April."])
    except ModelMissing as wrong:
        return Finding("fail", "Embeddings", str(wrong), REINSTALL)
    if not float(cat @ kitten) > float(cat @ tax):
        return Finding("fail", "Embeddings", f"{embedder.name} takes a cat for a tax", REINSTALL)
    return Finding("ok", "Embeddings", f"{embedder.name} works, {embedder.dims} dimensions")


def model(settings: Settings) -> Finding:
    """Asks it one small question. Learning goes on by rules when it does not answer, so that is no failure."""
    try:
        answered = asyncio.run(ping(settings.llm, MODEL_PATIENCE_SECONDS))
    except BadSettings as wrong:
        return Finding("fail", "Model", str(wrong), "Correct the [llm] settings; docs/guides/use-a-model.md tells how.")
    except ModelUnavailable as wrong:
        fix = f"{_model_fix(wrong)} Until then Acumen learns by rules."
        return Finding("warn", "Model", str(wrong), fix)
    if answered is None:
        return Finding("ok", "Model", "none configured: Acumen learns by rules")
    return Finding("ok", "Model", f"{answered} answers")


def _model_fix(wrong: ModelUnavailable) -> str:
    if isinstance(wrong, ModelUnusable):
        return "It answers, but not in JSON of a given shape: choose another with ACUMEN_LLM__MODEL."
    if "refused" in str(wrong):
        return "See whether ACUMEN_LLM__API_KEY and ACUMEN_LLM__MODEL are right."
    return "See whether ACUMEN_LLM__URL is right (it usually ends in /v1) and the server behind it runs."


def tokens() -> Finding:
    try:
        counted = count_tokens("hello world")
    except Exception as wrong:  # noqa: BLE001 - a library that is missing or broken, in whatever way
        return Finding("fail", "Token counter", sentence(wrong), REINSTALL)
    if counted != 2:
        return Finding("fail", "Token counter", f"counts {counted} tokens in two words", REINSTALL)
    return Finding("ok", "Token counter", "works")


def assets() -> Finding:
    missing = [name for name in ASSETS if not (STATIC / name).is_file()]
    if missing:
        return Finding("warn", "Docs page", f"{' and '.join(missing)} missing: /docs stays empty", REINSTALL)
    return Finding("ok", "Docs page", "its files are present")


def dashboard() -> Finding:
    missing = [name for name in SCRIPTS if not (PAGES / name).is_file()]
    if missing:
        told = f"{' and '.join(missing)} missing: /ui shows pages but cannot act on them"
        return Finding("warn", "Dashboard", told, REINSTALL)
    return Finding("ok", "Dashboard", "its files are present")


# --- who can reach it ---------------------------------------------------------------------------------------------


def port(settings: Settings) -> Finding:
    host, number = settings.host, settings.port
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, number))
            tried.listen()
    except OSError as wrong:
        return _served_by_whom(settings, wrong)
    return Finding("ok", "Port", f"{number} on {host} is free")


def _served_by_whom(settings: Settings, wrong: OSError) -> Finding:
    host = settings.host if is_loopback(settings.host) else "127.0.0.1"
    url = f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"
    try:
        with _client(url) as client:
            found = client.welcome()
    except ClientError:
        said = f"{settings.port} on {settings.host}: {wrong.strerror or wrong}"
        return Finding("fail", "Port", said, "Choose another with --port or ACUMEN_PORT.")
    if found.service != "acumen":
        return Finding("fail", "Port", f"{settings.port} is served by {found.service}", "Choose another with --port.")
    return Finding("ok", "Port", f"{settings.port} is served by Acumen {found.version} already")


def keys(settings: Settings) -> Finding:
    try:
        exist = database_exists(settings) and _asked(settings, lambda conn, _db: _any_key(conn))
    except Exception as wrong:  # noqa: BLE001 - a database can fail in every way a driver knows
        return Finding("warn", "Keys", f"cannot be read: {sentence(wrong)}", SEE_DATABASE)
    if exist:
        return Finding("ok", "Keys", "there are keys: only callers who show one are answered")
    if not is_loopback(settings.host):
        fix = "Make one with `acumen keys create NAME`, or listen on 127.0.0.1."
        return Finding("fail", "Keys", f"none, so listening on {settings.host} is refused", fix)
    return Finding("ok", "Keys", "none: only programs on this machine are answered")


def _any_key(conn: Any) -> bool:
    return migrate.current(conn) is not None and any_exist(conn)


def server() -> Finding:
    """The one that the client commands would talk to."""
    url = os.environ.get("ACUMEN_URL", "")
    if not url:
        return Finding("ok", "ACUMEN_URL", "not set: `publish`, `search` and the like ask this machine")
    try:
        with _client(url) as client:
            found = client.whoami()
    except (ClientError, AcumenError) as wrong:
        fix = "Start the server, correct ACUMEN_URL, or set ACUMEN_KEY."
        return Finding("fail", "ACUMEN_URL", sentence(wrong), fix)
    return Finding("ok", "ACUMEN_URL", f"{url} answers: org {found.org_id}, role {found.role}")


def _client(url: str) -> Client:
    return Client(url, timeout=PATIENCE_SECONDS, retry=Retry(attempts=1))
