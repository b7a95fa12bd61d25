"""Generates memories again from earlier turns: a rerun over all of them, or a manual run over the last window."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from acumen.deps import Deps
from acumen.errors import BadInput
from acumen.learn import memories
from acumen.learn.extract.windows import LOOK_AHEAD, Ahead, Due, WindowCache, due, look_ahead, may_read
from acumen.learn.pipeline import ExtractorRun, ExtractorsFailed, read_all
from acumen.learn.runs.runs import Cancelled, carry, end_lost
from acumen.model.config import Extractor, OrgConfig
from acumen.model.conversation import versions_meant
from acumen.model.ids import Kind, Millis, UserId
from acumen.model.jobs.events import GenerationAsked
from acumen.model.jobs.run import Run, RunId, RunState
from acumen.model.memories.base import Status
from acumen.model.memories.search import Filter
from acumen.storage.conversations.bookmarks import of_run
from acumen.storage.conversations.request_users import RequestFilter
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

REPLACED = Because("a new rerun generates it again")
INCOMPLETE = Because("the rerun that generated it did not end")


class Mode(StrEnum):
    RERUN = "rerun"  # all turns; the memories wait as PENDING for an upgrade
    MANUAL = "manual"  # each user's last window; the memories are CURRENT


class GenerationRequest(Struct, frozen=True):
    """Which turns are read by which extractors; None means any. Times are those of arrival, in milliseconds."""

    mode: Mode
    user_id: UserId | None = None
    source: str | None = None
    agent_version: str | None = None
    since: Millis | None = None
    until: Millis | None = None
    extractors: tuple[str, ...] | None = None

    @property
    def subject(self) -> str:
        """One rerun at a time, and one manual run for each user or for all."""
        return "" if self.mode is Mode.RERUN else f"{self.mode}:{self.user_id or ''}"

    @property
    def turns(self) -> RequestFilter:
        versions = None if self.agent_version is None else versions_meant(self.agent_version)
        return RequestFilter(self.user_id, self.source, versions, self.since, self.until)


class Service(Struct, frozen=True):
    """One kind of generation; runs are watched and cancelled by its name."""

    name: str
    kind: Kind
    extractors: Callable[[OrgConfig], tuple[Extractor, ...]]

    def chosen(self, request: GenerationRequest, config: OrgConfig) -> tuple[Extractor, ...]:
        """The named ones, or all of the org's; manual ones only in a manual run."""
        configured = self.extractors(config)
        unknown = set(request.extractors or ()) - {extractor.name for extractor in configured}
        if unknown:
            names = ", ".join(extractor.name for extractor in configured) or "none"
            raise BadInput(f"There is no extractor {min(unknown)!r}; the org has: {names}.")
        if request.extractors is not None:
            return tuple(extractor for extractor in configured if extractor.name in request.extractors)
        return tuple(extractor for extractor in configured if request.mode is Mode.MANUAL or not extractor.manual)


PROFILES = Service("profile_generation", Kind.PROFILE, lambda config: config.profile_extractors)
PLAYBOOKS = Service("playbook_generation", Kind.USER_PLAYBOOK, lambda config: config.playbook_extractors)
SERVICES = {service.name: service for service in (PROFILES, PLAYBOOKS)}


class _Generation(Struct, frozen=True):
    service: Service
    request: GenerationRequest
    extractors: tuple[Extractor, ...]

    @staticmethod
    def of(run: Run, deps: Deps) -> "_Generation":
        service, request = SERVICES[run.service], convert(dict(run.request), GenerationRequest)
        return _Generation(service, request, service.chosen(request, deps.config))

    def extractor_run(self, run_id: RunId, user: UserId, extractor: Extractor) -> ExtractorRun:
        bookmark, request = of_run(run_id, extractor.bookmark), self.request

        def following(tx: Tx, _windows: WindowCache) -> Due | None:
            run = tx.runs.get(run_id)
            if run is None or run.cancel_asked:
                raise Cancelled
            last_id = tx.bookmarks.get(user, bookmark)
            if request.mode is Mode.RERUN:
                ahead = look_ahead(tx, user, last_id, extractor, request.turns.admits)
            else:  # the last window, once
                ahead = None if last_id else _last_window(tx, user, extractor, request.turns)
            at = ahead.last_request.created_at if ahead and ahead.last_request else run.created_at
            return None if ahead is None else due(tx, user, last_id, ahead, extractor, at)

        status = Status.PENDING if request.mode is Mode.RERUN else Status.CURRENT
        return ExtractorRun(
            *(self.service.kind, user, extractor, bookmark, following, status),
            count=lambda tx, counts: tx.run_items.add_counts(run_id, user, counts),
        )

    def discard(self, tx: Tx, users: Sequence[UserId], because: Because) -> None:
        """Deletes what reruns generated for these users, and what it superseded within the rerun."""
        rows = tx.by_kind[self.service.kind]
        covered = set(users)
        pending = rows.find_owners(Filter(statuses=(Status.PENDING,), user_id=users[0] if len(users) == 1 else None))
        ids = [memory_id for memory_id, owner in pending.items() if owner in covered and owner]
        if self.request.extractors is not None or self.request.agent_version is not None:
            ids = [memory_id for memory_id, memory in rows.get_many(ids).items() if self._made(memory)]
        tx.memories.delete_outdated(self.service.kind, [*ids, *rows.find_superseded_by(ids)], because)

    def _made(self, memory: Any) -> bool:
        """Facts carry the names of their extractors, lessons the name of theirs and the version of their agent."""
        extractors = {extractor.name for extractor in self.extractors}
        if isinstance(named := getattr(memory, "extractors", None), list):
            return not extractors.isdisjoint(named)
        versions = self.request.turns.agent_versions
        return memories.extractor_of(memory) in extractors and (versions is None or memory.agent_version in versions)


def _last_window(tx: Tx, user: UserId, extractor: Extractor, turns: RequestFilter) -> Ahead | None:
    newest = tx.conversations.find_newest(user, LOOK_AHEAD)
    requests = tx.conversations.get_requests(list({turn.request_id for turn in newest}))
    mine = [turn for turn in newest if may_read(requests.get(turn.request_id), extractor, turns.admits)]
    return Ahead(mine[-extractor.window :], mine[-1].id, requests) if mine else None


async def start(service: Service, request: GenerationRequest, deps: Deps) -> Run:
    """Runs in the background. Memories that an earlier rerun left pending are deleted."""
    generation = _Generation(service, request, service.chosen(request, deps.config))

    def store(tx: Tx) -> Run:
        users = tx.request_users.find(request.turns)
        end_lost(tx, service.name)
        run = tx.runs.start(service.name, request.subject, asdict(request), users)
        if not users:
            return tx.runs.finish(run.id, RunState.COMPLETED, {})
        if request.mode is Mode.RERUN:
            generation.discard(tx, users, REPLACED)
        tx.jobs.add(GenerationAsked(run.id))
        return run

    return await deps.store.write(store)


async def carry_out(event: GenerationAsked, deps: Deps) -> None:
    await carry(event.run_id, _generate, deps)


async def _generate(run: Run, user: str, deps: Deps) -> Mapping[str, int]:
    """All windows of one user. Each is written with the run's own bookmark, so none is read twice."""
    generation = _Generation.of(run, deps)

    def drop_incomplete(tx: Tx) -> None:
        generation.discard(tx, [UserId(user)], INCOMPLETE)
        tx.run_items.reset_counts(run.id, user)

    # The caller has asked for it, so the gate is not asked whether a window is worth reading.
    ungated = replace(deps, config=replace(deps.config, skip_gate=True))
    try:
        runs = [generation.extractor_run(run.id, UserId(user), extractor) for extractor in generation.extractors]
        await read_all(runs, ungated)
    except (Cancelled, ExtractorsFailed):
        if generation.request.mode is Mode.RERUN:  # an incomplete set of memories must not replace a complete one
            await deps.store.write(drop_incomplete)
        raise
    return await deps.store.read(lambda tx: tx.run_items.get_counts(run.id, user))
