"""News of jobs between processes on Postgres: NOTIFY after a commit, LISTEN on a connection of its own.

Not in the transaction that adds the job: Postgres commits transactions that notify one after the other, each with its
own wait for the disk. News that is lost is no loss, since workers also look from time to time.
"""

import logging
import threading
from collections.abc import Callable

import sqlalchemy as sa

log = logging.getLogger(__name__)

CHANNEL = "acumen_jobs"
ANNOUNCE = f"SELECT pg_notify('{CHANNEL}', '')"
RECONNECT_SECONDS = 2.0
# How long a listener that is closed may still wait.
WAIT_SECONDS = 0.5
# Finds a connection whose other end is gone without a word.
KEEPALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


class JobListener:
    """Calls `heard`, from a thread of its own, whenever there may be new jobs; connects again when it is cut off."""

    def __init__(self, url: sa.URL, name: str, heard: Callable[[], object]) -> None:
        self._engine = sa.create_engine(
            url,
            poolclass=sa.NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={"connect_timeout": 5, "application_name": name, **KEEPALIVE},
        )
        self._heard = heard
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._listen_until_closed, name="job-news", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _listen_until_closed(self) -> None:
        failures = (sa.exc.DBAPIError, self._engine.dialect.loaded_dbapi.Error)
        while not self._closed.is_set():
            try:
                self._listen()
            except failures as error:
                log.warning("no news of jobs, so workers look from time to time only: %s", error)
                self._closed.wait(RECONNECT_SECONDS)

    def _listen(self) -> None:
        with self._engine.connect() as conn:
            conn.exec_driver_sql(f"LISTEN {CHANNEL}")
            self._heard()  # what was added before
            connection = conn.connection.dbapi_connection
            while not self._closed.is_set():
                for _ in connection.notifies(timeout=WAIT_SECONDS, stop_after=1):  # type: ignore[union-attr]
                    self._heard()
