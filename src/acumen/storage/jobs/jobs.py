"""JobQueue, as rows: written with the data that causes them, leased by workers of any process."""

from collections.abc import Callable, Collection, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa
from msgspec import Struct, field

from acumen.model.ids import Millis, OrgId, UserId
from acumen.model.jobs.events import (
    EVENT_NAMES,
    SEPARATOR,
    Event,
    Published,
    Recovered,
    SessionEnded,
    SessionQuiet,
)
from acumen.model.jobs.job import Job, JobState
from acumen.model.jobs.lag import LearningLag
from acumen.model.times import MINUTE_MS
from acumen.storage.engine.compiled_statement import CompiledSelect, CompiledStatement, PlainStatement, Row
from acumen.storage.engine.database import Database
from acumen.storage.engine.scope import OrgScope, in_batches, value_of
from acumen.storage.jobs.learning_rate import count_learned, expire_learned, learning_lag
from acumen.storage.tables import jobs

# A process that is killed takes innocent jobs with it, so a job may be lost far more often than it may fail.
LOSSES_PER_FAILURE = 20
# As many are looked at when one is.
MOST_LOST = 100
# What was scheduled becomes ready in batches, so that no claim waits long for it.
MOST_MADE_READY = 1_000
# A worker forgets where it was in each org rather than grow without bound.
MOST_ORGS_REMEMBERED = 10_000
# Clocks of several machines may differ by this much.
AHEAD_MS = MINUTE_MS
# Both read a user's turns, and must not read the same turns at once.
ABOUT_A_USER = (Published.name, SessionEnded.name)


class JobQueue:
    """One org's jobs."""

    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def add(self, event: Event, at: Millis | None = None, turns: int = 0) -> None:
        """Folds into the waiting job of the same scope, which then runs at the earlier of the two times.

        `at`: when it is due; None: now. `turns` are published with it. It is inserted when the transaction ends.
        """
        s = self._scope
        ready = at is None or at <= s.at
        s.new_jobs.append(s.stamp(_new_job(s.org, event, s.at if at is None else at, turns, ready=ready)))

    def add_all(self, caused: Sequence[tuple[Event, Millis | None]]) -> None:
        for event, at in caused:
            self.add(event, at)

    def write(self) -> None:
        """Inserts what was added. The last statement of a transaction: see the lock order in `scope.py`."""
        s = self._scope
        if s.new_jobs:
            _fold_in(s.db.insert).run(s.conn, _folded(s.new_jobs))
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
        return _oldest_due(self._scope.conn, self._scope.at, c.org_id == self._scope.org)

    def get_lag(self) -> LearningLag:
        """Of learning."""
        s = self._scope
        return learning_lag(s.conn, s.at, s.org).get(s.org, LearningLag())

    def expire_learned(self) -> None:
        expire_learned(self._scope.conn, self._scope.org, self._scope.at)

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

    def delete_sessions(self, sessions: Collection[str]) -> int:
        """What was to be learned from recoveries in these sessions."""
        c = jobs.c
        scopes = self._scope.all(self._scope.select(c.scope).where(c.event == Recovered.name))
        theirs = [row.scope for row in scopes if row.scope.partition(SEPARATOR)[0] in sessions]
        return sum(self._delete(c.event == Recovered.name, c.scope.in_(batch)) for batch in in_batches(theirs))

    def _delete(self, *where: sa.ColumnElement[bool]) -> int:
        """Never waits: rows that a worker holds are skipped."""
        free = self._scope.select(jobs.c.job_id).where(*where).with_for_update(skip_locked=True)
        return self._scope.delete_in(jobs.c.job_id, [row.job_id for row in self._scope.all(free)])


class Rotation(Struct):
    """Whose turn it is: the org of which a job was claimed last, and in each org the user."""

    org: str = ""
    users: dict[str, str] = field(default_factory=dict)

    def trim(self) -> None:
        if len(self.users) > MOST_ORGS_REMEMBERED:
            self.users.clear()


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
        return _oldest_due(self._conn, self._at)

    def get_lags(self) -> dict[OrgId, LearningLag]:
        """Of learning, by org."""
        return learning_lag(self._conn, self._at)

    def is_ahead(self) -> bool:
        """Whether a job was last touched at a time that is still to come: by a clock that has been set back since."""
        query = sa.select(jobs.c.job_id).where(jobs.c.updated_at > self._at + AHEAD_MS).limit(1)
        return self._conn.execute(query).first() is not None

    def bring_back(self) -> int:
        """Such jobs are due, and their leases end, as long from now as they were from then. Returns how many."""
        c, ahead = jobs.c, jobs.c.updated_at - self._at
        moved = {"run_at": c.run_at - ahead, "lease_until": c.lease_until - ahead, "updated_at": self._at}
        return self._conn.execute(sa.update(jobs).where(c.updated_at > self._at + AHEAD_MS).values(**moved)).rowcount

    def next_at(self) -> Millis | None:
        """When the earliest waiting job wants to run."""
        query = sa.select(sa.func.min(jobs.c.run_at)).where(jobs.c.state == JobState.WAITING)
        run_at = self._conn.execute(query).scalar()
        return None if run_at is None else Millis(run_at)

    def claim(self, owner: str, until: Millis, most: int, attempts: int, rotation: Rotation | None = None) -> list[Job]:
        """Takes due jobs whose scope no other worker has leased: of each org in turn, there of each user in turn."""
        self._recover_lost(attempts)
        self._make_ready()
        rotation, claimed = rotation or Rotation(), list[Job]()
        while len(claimed) < most and (row := self._next(rotation)):
            claimed.append(self._lease(row, owner, until))
        return claimed

    def _make_ready(self) -> None:
        due = _SCHEDULED_DUE.rows(self._conn, at=self._at, most=MOST_MADE_READY)
        if due:
            self._set([row["job_id"] for row in due], ready=1)

    def _next(self, rotation: Rotation) -> Row | None:
        """A job of the first org after the last one that has one to give; None: no org has."""
        without: set[str] = set()
        while (org := self._next_org(rotation.org)) is not None and org not in without:
            rotation.org = org
            row = self._free_job(org, rotation.users.get(org))
            if row is not None:
                rotation.users[org] = row["user_id"]
                return row
            without.add(org)
            rotation.users.pop(org, None)
        return None

    def _next_org(self, last: str) -> str | None:
        following = _NEXT_ORG.first(self._conn, last=last) or _NEXT_ORG.first(self._conn, last="")
        return None if following is None else str(following[0])

    def _free_job(self, org: str, last: str | None) -> Row | None:
        """The oldest of the next user; of the first one again after the last."""
        rows: Sequence[Row] = ()
        if last is not None:
            rows = _JOB_OF_NEXT_USER.rows(self._conn, org=org, last=last, most=1)
        rows = rows or _JOB_OF_FIRST_USER.rows(self._conn, org=org, most=1)
        return rows[0] if rows else None

    def claim_event(self, org: OrgId, event: Event, owner: str, until: Millis) -> list[Job]:
        """The job of this very event, if it is due and not leased."""
        this = {"org": org, "event": event.name, "scope": event.scope}
        free = _THIS_DUE.rows(self._conn, at=self._at, most=1, **this)
        return [self._lease(row, owner, until) for row in free]

    def _lease(self, row: Row, owner: str, until: Millis) -> Job:
        _LEASE.run(self._conn, [{"job": row["job_id"], "owner": owner, "until": until, "updated_at": self._at}])
        leased = {**row, "state": JobState.RUNNING, "attempts": row["attempts"] + 1}
        return _job(SimpleNamespace(**leased))

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
        if _FINISH.run(self._conn, [done]) and job.turns:
            count_learned(self._conn, self._db, job.org_id, job.turns, self._at)

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
            self._set([job_id], **waiting, last_error=cause, **self._due_at(at))
            return
        self._conn.execute(sa.delete(jobs).where(jobs.c.job_id == job_id))
        turns = jobs.c.turns + job.turns
        self._set([same_job.job_id], attempts=job.attempts, last_error=cause, turns=turns, **self._due_at(at))

    def _due_at(self, at: Millis) -> dict[str, Any]:
        return {"run_at": at, "ready": int(at <= self._at)}

    def _set(self, ids: Sequence[int], **values: Any) -> None:
        self._conn.execute(sa.update(jobs).where(jobs.c.job_id.in_(ids)).values(updated_at=self._at, **values))


def _oldest_due(conn: sa.Connection, at: Millis, *where: sa.ColumnElement[bool]) -> Millis | None:
    c = jobs.c
    due = sa.select(sa.func.min(c.run_at)).where(c.state == JobState.WAITING, c.run_at <= at, *where)
    # By the index: what is ready and what is scheduled are two ranges of it.
    oldest = [conn.execute(due.where(c.ready == ready)).scalar() for ready in (1, 0)]
    return min((Millis(run_at) for run_at in oldest if run_at is not None), default=None)


def _is(column: sa.ColumnElement[str], *values: str) -> sa.ColumnElement[bool]:
    return column.in_([sa.literal(str(value)) for value in values])


def _scheduled_due() -> sa.Select[Any]:
    c = jobs.c
    scheduled = sa.select(c.job_id).where(_is(c.state, JobState.WAITING), c.ready == sa.literal_column("0"))
    return scheduled.where(c.run_at <= sa.bindparam("at")).order_by(c.run_at)


def _ready() -> sa.Select[Any]:
    """What is due, user after user. The clock is not asked again: set back, it would hold up what was due before."""
    c = jobs.c
    of_org = _free().where(c.ready == sa.literal_column("1"), c.org_id == sa.bindparam("org"))
    return of_org.order_by(c.user_id, c.run_at)


def _free() -> sa.Select[Any]:
    """What waits, is known to this version, and is not in the way of what runs."""
    c, running = jobs.c, jobs.alias("running").c
    busy = sa.exists().where(
        *(running.org_id == c.org_id, running.scope == c.scope, _is(running.state, JobState.RUNNING)),
        sa.or_(running.event == c.event, sa.and_(_is(running.event, *ABOUT_A_USER), _is(c.event, *ABOUT_A_USER))),
    )
    known = _is(c.event, *EVENT_NAMES)
    return sa.select(jobs).where(_is(c.state, JobState.WAITING), known, sa.not_(busy))


def _lost() -> sa.Select[Any]:
    return sa.select(jobs).where(_is(jobs.c.state, JobState.RUNNING), jobs.c.lease_until < sa.bindparam("at"))


def _held(query: sa.Select[Any]) -> CompiledSelect:
    """The jobs that no other worker holds, up to the limit; locked until COMMIT."""
    return CompiledSelect(
        query.limit(sa.bindparam("most", type_=sa.Integer)).with_for_update(skip_locked=True, of=jobs)
    )


# Asked for every job: built once.
_ANY_DUE = PlainStatement(
    sa.select(sa.literal_column("1")).where(
        sa.or_(
            _free().where(jobs.c.ready == sa.literal_column("1")).exists(),
            _scheduled_due().order_by(None).exists(),
            _lost().exists(),
        )
    )
)
_LOST, _SCHEDULED_DUE = _held(_lost()), _held(_scheduled_due())
_JOB_OF_FIRST_USER = _held(_ready())
_JOB_OF_NEXT_USER = _held(_ready().where(jobs.c.user_id > sa.bindparam("last")))
_NEXT_ORG = PlainStatement(
    sa.select(jobs.c.org_id)
    .where(jobs.c.ready == sa.literal_column("1"), jobs.c.org_id > sa.bindparam("last"))
    .order_by(jobs.c.org_id)
    .limit(sa.literal_column("1"))
)
_THIS = {"org": jobs.c.org_id, "its_event": jobs.c.event, "its_scope": jobs.c.scope}
_THIS_DUE = _held(
    _free().where(
        jobs.c.run_at <= sa.bindparam("at"), *(column == sa.bindparam(name) for name, column in _THIS.items())
    )
)
_LEASE = PlainStatement(
    sa.update(jobs)
    .where(jobs.c.job_id == sa.bindparam("job"))
    .values(
        state=sa.literal(str(JobState.RUNNING)),
        attempts=jobs.c.attempts + sa.literal_column("1"),
        waiting_key=sa.null(),
        ready=sa.literal_column("0"),
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


def _folded(new: Sequence[Row]) -> list[Row]:
    """One of each waiting key, at the earliest of its times, sorted by the key."""
    by_key: dict[str, Row] = {}
    for row in new:
        first = by_key.setdefault(row["waiting_key"], row)
        first["run_at"] = min(first["run_at"], row["run_at"])
    return [by_key[key] for key in sorted(by_key)]


@cache
def _fold_in(insert: Callable[[sa.Table], Any]) -> CompiledStatement:
    new = insert(jobs)
    earlier = sa.case((jobs.c.run_at < new.excluded.run_at, jobs.c.run_at), else_=new.excluded.run_at)
    folded = {
        "run_at": earlier,
        "ready": sa.case((jobs.c.ready == sa.literal_column("1"), jobs.c.ready), else_=new.excluded.ready),
        "turns": jobs.c.turns + new.excluded.turns,
        "updated_at": new.excluded.updated_at,
    }
    return CompiledStatement(new.on_conflict_do_update(index_elements=["waiting_key"], set_=folded))


def _waiting_key(org: str, event: str, scope: str) -> str:
    return f"{org}\x1f{event}\x1f{scope}"


def _new_job(org: OrgId, event: Event, run_at: Millis, turns: int, *, ready: bool) -> dict[str, Any]:
    return {
        "waiting_key": _waiting_key(org, event.name, event.scope),
        "event": event.name,
        "scope": event.scope,
        "payload": event.payload(),
        "state": JobState.WAITING,
        "attempts": 0,
        "run_at": run_at,
        "user_id": getattr(event, "user_id", ""),
        "ready": int(ready),
        "turns": turns,
    }


def _job(row: Any) -> Job:
    return value_of(Job, row, id=row.job_id, payload=row.payload or {}, state=JobState(row.state))
