"""JobQueue, as rows: written with the data that causes them, leased by workers of any process."""

from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Millis, OrgId, UserId
from acumen.model.jobs.events import Event, Published, SessionEnded, SessionQuiet
from acumen.model.jobs.job import Job, JobState
from acumen.storage.engine.compiled_statement import CompiledSelect, CompiledStatement, PlainStatement, Row
from acumen.storage.engine.database import Database
from acumen.storage.engine.scope import OrgScope, value_of
from acumen.storage.tables import jobs

# A process that is killed takes innocent jobs with it, so a job may be lost far more often than it may fail.
LOSSES_PER_FAILURE = 20
# As many are looked at when one is.
MOST_LOST = 100
# Both read a user's turns, and must not read the same turns at once.
ABOUT_A_USER = (Published.name, SessionEnded.name)


class JobQueue:
    """One org's jobs."""

    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def add(self, event: Event, at: Millis | None = None) -> None:
        """Folds into the waiting job of the same scope, which then runs at the earlier of the two times."""
        self.add_all([(event, at)])

    def add_all(self, caused: Sequence[tuple[Event, Millis | None]]) -> None:
        """Each with the time at which it is due; None: now. They are inserted when the transaction ends."""
        s = self._scope
        s.new_jobs.extend(s.stamp(_new_job(s.org, event, s.at if at is None else at)) for event, at in caused)

    def write(self) -> None:
        """Inserts what was added. The last statement of a transaction: see the lock order in `scope.py`."""
        s = self._scope
        if s.new_jobs:
            _fold_in(s.db.insert).run(s.conn, sorted(s.new_jobs, key=lambda row: str(row["waiting_key"])))
            s.new_jobs.clear()

    def find_by_scope(self, event: str, scope: str) -> list[Job]:
        return self._those(jobs.c.event == event, jobs.c.scope == scope)

    def find_by_event(self, event: str) -> list[Job]:
        return self._those(jobs.c.event == event)

    def find_by_run(self, run_id: str) -> list[Job]:
        return self._those(jobs.c.scope == run_id)

    def _those(self, *where: sa.ColumnElement[bool]) -> list[Job]:
        return [_job(row) for row in self._scope.all(self._scope.select(jobs).where(*where))]

    def count(self) -> dict[str, dict[str, int]]:
        """By event, then by state."""
        c = jobs.c
        query = self._scope.select(c.event, c.state, sa.func.count())
        counted: dict[str, dict[str, int]] = {}
        for event, state, number in self._scope.all(query.group_by(c.event, c.state)):
            counted.setdefault(event, {})[state] = number
        return counted

    def overdue_since(self) -> Millis | None:
        """Since when the oldest that is due waits; None when none does."""
        c = jobs.c
        due = self._scope.select(c.run_at).where(c.state == JobState.WAITING, c.run_at <= self._scope.at)
        oldest = self._scope.first(due.order_by(c.run_at).limit(1))
        return Millis(oldest.run_at) if oldest else None

    def find_dead_letters(self, limit: int) -> list[Job]:
        c = jobs.c
        query = self._scope.select(jobs).where(c.state == JobState.DEAD)
        return [_job(row) for row in self._scope.all(query.order_by(c.updated_at.desc()).limit(limit))]

    def delete_dead_letters(self, before: Millis) -> int:
        return self._delete(jobs.c.state == JobState.DEAD, jobs.c.updated_at < before)

    def delete_user(self, user: UserId) -> int:
        """What was to be done about a user; the schedule belongs to no user, even one with its name.

        A job that a worker leases or ends at this very moment is left to it: nothing is left of the user for it to do.
        """
        theirs = SessionQuiet.all_of(user)
        # Not by LIKE: SQLite's does not tell Ada from ada.
        of_sessions = sa.func.substr(jobs.c.scope, 1, len(theirs)) == theirs
        return self._delete(
            sa.or_(
                sa.and_(jobs.c.event.in_(ABOUT_A_USER), jobs.c.scope == user),
                sa.and_(jobs.c.event == SessionQuiet.name, of_sessions),
            )
        )

    def _delete(self, *where: sa.ColumnElement[bool]) -> int:
        """Never waits: rows that a worker holds are skipped."""
        free = self._scope.select(jobs.c.job_id).where(*where).with_for_update(skip_locked=True)
        return self._scope.delete_in(jobs.c.job_id, [row.job_id for row in self._scope.all(free)])


class JobLeases:
    """All orgs' jobs, as a worker sees them."""

    def __init__(self, conn: sa.Connection, db: Database, at: Millis) -> None:
        self._conn = conn
        self._db = db
        self._at = at

    def has_due(self) -> bool:
        return bool(_ANY_DUE.all(self._conn, at=self._at))

    def count_all(self) -> list[tuple[str, str, int]]:
        """Events, states and numbers. A waiting job is `scheduled`, `due`, or `retrying` after a failure."""
        c = jobs.c
        waiting = sa.case(
            (c.last_error.is_not(None), "retrying"), (c.run_at <= sa.literal(self._at), "due"), else_="scheduled"
        )
        state = sa.case((c.state == JobState.WAITING, waiting), else_=c.state).label("shown_state")
        counted = self._conn.execute(sa.select(c.event, state, sa.func.count()).group_by(c.event, "shown_state"))
        return [(event, shown, number) for event, shown, number in counted]

    def overdue_since(self) -> Millis | None:
        """Since when the oldest job that is due waits, of any org; None without a backlog."""
        due = sa.select(sa.func.min(jobs.c.run_at)).where(jobs.c.state == JobState.WAITING, jobs.c.run_at <= self._at)
        run_at = self._conn.execute(due).scalar()
        return None if run_at is None else Millis(run_at)

    def next_at(self) -> Millis | None:
        """When the earliest waiting job wants to run."""
        query = sa.select(sa.func.min(jobs.c.run_at)).where(jobs.c.state == JobState.WAITING)
        run_at = self._conn.execute(query).scalar()
        return None if run_at is None else Millis(run_at)

    def claim(self, owner: str, until: Millis, most: int, attempts: int) -> list[Job]:
        """Takes due jobs whose scope no other worker has leased."""
        self._recover_lost(attempts)
        return self._take(_DUE.rows(self._conn, at=self._at, most=most), owner, until)

    def claim_event(self, org: OrgId, event: Event, owner: str, until: Millis) -> list[Job]:
        """The job of this very event, if it is due and not leased."""
        this = {"org": org, "event": event.name, "scope": event.scope}
        return self._take(_THIS_DUE.rows(self._conn, at=self._at, most=1, **this), owner, until)

    def _take(self, due: Sequence[Row], owner: str, until: Millis) -> list[Job]:
        """The first of the jobs that only one worker at a time may run."""
        first: dict[object, Row] = {}
        for row in due:
            first.setdefault(_lane(row), {**row, "state": JobState.RUNNING, "attempts": row["attempts"] + 1})
        leased = {"owner": owner, "until": until, "updated_at": self._at}
        _LEASE.run(self._conn, [{"job": row["job_id"], **leased} for row in first.values()])
        return [_job(SimpleNamespace(**row)) for row in first.values()]

    def renew_leases(self, owner: str, ids: Sequence[int], until: Millis) -> None:
        """Only the named jobs: a job whose end could not be stored must run again."""
        self._conn.execute(
            sa.update(jobs)
            .where(jobs.c.lease_owner == owner, jobs.c.state == JobState.RUNNING, jobs.c.job_id.in_(ids))
            .values(lease_until=until, updated_at=self._at)
        )

    def find_owners(self) -> list[str]:
        """Who holds a lease."""
        query = sa.select(jobs.c.lease_owner).where(jobs.c.state == JobState.RUNNING).distinct()
        return [row.lease_owner for row in self._conn.execute(query)]

    def end_leases(self, owners: Sequence[str]) -> None:
        """Their jobs are lost, and known to be: the next claim need not wait for the leases to run out."""
        held = sa.select(jobs.c.job_id).where(jobs.c.lease_owner.in_(owners), jobs.c.state == JobState.RUNNING)
        ids = [row.job_id for row in self._conn.execute(held.with_for_update(skip_locked=True))]
        self._set(ids, lease_until=0)

    def finish(self, job: Job, owner: str) -> None:
        """What died of the same scope is made good by it: a step does all there is to do."""
        done = {"org": job.org_id, "event": job.event, "scope": job.scope, "job": job.id, "owner": owner}
        _FINISH.run(self._conn, [done])

    def fail(self, job: Job, owner: str, cause: str, retry_at: Millis | None) -> None:
        """Back to waiting until `retry_at`; None dead-letters it."""
        held = self._conn.execute(
            sa.select(jobs.c.job_id).where(jobs.c.job_id == job.id, jobs.c.lease_owner == owner)
        ).first()
        if held is None:
            return
        if retry_at is None:
            self._set([job.id], state=JobState.DEAD, lease_owner=None, last_error=cause)
        else:
            self._wait_again(job.id, cause, retry_at)

    def _recover_lost(self, attempts: int) -> None:
        """A worker that died leaves its jobs to others."""
        lost = _LOST.rows(self._conn, at=self._at, most=MOST_LOST)
        for row in sorted(lost, key=lambda row: _waiting_key(row["org_id"], row["event"], row["scope"])):
            cause = row["last_error"] or "the worker that ran it disappeared"
            if row["attempts"] >= attempts * LOSSES_PER_FAILURE:
                self._set([row["job_id"]], state=JobState.DEAD, lease_owner=None, last_error=cause)
            else:
                self._wait_again(row["job_id"], cause, self._at)

    def _wait_again(self, job_id: int, cause: str, at: Millis) -> None:
        """Folds into a job of the same scope that came to wait meanwhile, and lends it the attempts."""
        job = self._conn.execute(sa.select(jobs).where(jobs.c.job_id == job_id)).one()
        key = _waiting_key(job.org_id, job.event, job.scope)
        same_job = self._conn.execute(sa.select(jobs.c.job_id).where(jobs.c.waiting_key == key)).first()
        if same_job is None:
            waiting = {"state": JobState.WAITING, "waiting_key": key, "lease_owner": None}
            self._set([job_id], **waiting, last_error=cause, run_at=at)
            return
        self._conn.execute(sa.delete(jobs).where(jobs.c.job_id == job_id))
        self._set([same_job.job_id], attempts=job.attempts, last_error=cause, run_at=at)

    def _set(self, ids: Sequence[int], **values: Any) -> None:
        self._conn.execute(sa.update(jobs).where(jobs.c.job_id.in_(ids)).values(updated_at=self._at, **values))


def _lane(row: Row) -> tuple[str, str, str]:
    """What only one worker at a time may be at."""
    return row["org_id"], "a user" if row["event"] in ABOUT_A_USER else row["event"], row["scope"]


def _is(column: sa.ColumnElement[str], *values: str) -> sa.ColumnElement[bool]:
    return column.in_([sa.literal(str(value)) for value in values])


def _due() -> sa.Select[Any]:
    """What waits, is due, and is not in the way of what runs."""
    c, running = jobs.c, jobs.alias("running").c
    busy = sa.exists().where(
        *(running.org_id == c.org_id, running.scope == c.scope, _is(running.state, JobState.RUNNING)),
        sa.or_(running.event == c.event, sa.and_(_is(running.event, *ABOUT_A_USER), _is(c.event, *ABOUT_A_USER))),
    )
    due = sa.select(jobs).where(_is(c.state, JobState.WAITING), c.run_at <= sa.bindparam("at"), sa.not_(busy))
    return due.order_by(c.run_at, c.job_id)


def _lost() -> sa.Select[Any]:
    return sa.select(jobs).where(_is(jobs.c.state, JobState.RUNNING), jobs.c.lease_until < sa.bindparam("at"))


def _held(query: sa.Select[Any]) -> CompiledSelect:
    """The jobs that no other worker holds, up to the limit; locked until COMMIT."""
    return CompiledSelect(
        query.limit(sa.bindparam("most", type_=sa.Integer)).with_for_update(skip_locked=True, of=jobs)
    )


# Asked for every job: built once.
_ANY_DUE = PlainStatement(
    sa.select(sa.literal_column("1")).where(sa.or_(_due().order_by(None).exists(), _lost().exists()))
)
_DUE, _LOST = _held(_due()), _held(_lost())
_THIS = {"org": jobs.c.org_id, "its_event": jobs.c.event, "its_scope": jobs.c.scope}
_THIS_DUE = _held(_due().where(*(column == sa.bindparam(name) for name, column in _THIS.items())))
_LEASE = PlainStatement(
    sa.update(jobs)
    .where(jobs.c.job_id == sa.bindparam("job"))
    .values(
        state=sa.literal(str(JobState.RUNNING)),
        attempts=jobs.c.attempts + sa.literal_column("1"),
        waiting_key=sa.null(),
        lease_owner=sa.bindparam("owner"),
        lease_until=sa.bindparam("until"),
        updated_at=sa.bindparam("its_updated_at"),
    )
)
_FINISH = PlainStatement(
    sa.delete(jobs).where(
        jobs.c.org_id == sa.bindparam("org"),
        jobs.c.event == sa.bindparam("its_event"),
        jobs.c.scope == sa.bindparam("its_scope"),
        sa.or_(
            sa.and_(jobs.c.job_id == sa.bindparam("job"), jobs.c.lease_owner == sa.bindparam("owner")),
            jobs.c.state == sa.literal_column(f"'{JobState.DEAD}'"),
        ),
    )
)


@cache
def _fold_in(insert: Callable[[sa.Table], Any]) -> CompiledStatement:
    new = insert(jobs)
    earlier = sa.case((jobs.c.run_at < new.excluded.run_at, jobs.c.run_at), else_=new.excluded.run_at)
    folded = {"run_at": earlier, "updated_at": new.excluded.updated_at}
    return CompiledStatement(new.on_conflict_do_update(index_elements=["waiting_key"], set_=folded))


def _waiting_key(org: str, event: str, scope: str) -> str:
    return f"{org}\x1f{event}\x1f{scope}"


def _new_job(org: OrgId, event: Event, run_at: Millis) -> dict[str, Any]:
    return {
        "waiting_key": _waiting_key(org, event.name, event.scope),
        "event": event.name,
        "scope": event.scope,
        "payload": event.payload(),
        "state": JobState.WAITING,
        "attempts": 0,
        "run_at": run_at,
    }


def _job(row: Any) -> Job:
    return value_of(Job, row, id=row.job_id, payload=row.payload or {}, state=JobState(row.state))
