"""The numbers from which on a memory deserves a look, as an org sets them; every change stands in the log."""

from collections.abc import Mapping
from typing import Any

from acumen.deps import Deps
from acumen.errors import Conflict
from acumen.model.config import REVIEW
from acumen.model.ids import fresh_id
from acumen.model.review.action import Action, ActionId, ActionKind
from acumen.storage.store import Tx

CHANGED = "thresholds"


async def change(own: Mapping[str, float], actor: str, deps: Deps) -> Action:
    """From now on these; what an org does not name is the server's own. Without an id when nothing changes."""
    at = deps.now()

    def store(tx: Tx) -> Action:
        told = {CHANGED: {"before": _set(tx, own), "after": dict(own)}}
        if told[CHANGED]["before"] == own:
            return Action(ActionId(""), ActionKind.CONFIGURE, actor, at)
        action = Action(ActionId(fresh_id("act")), ActionKind.CONFIGURE, actor, at, params=told)
        tx.actions.add(action)
        return action

    return await deps.store.write(store)


def put_back(tx: Tx, done: Action) -> Mapping[str, Any]:
    """Undoes it, if it was such a change; what was changed by that."""
    if CHANGED not in done.params:
        return {}
    before, after = done.params[CHANGED]["before"], done.params[CHANGED]["after"]
    if _set(tx, before) != after:
        raise Conflict("A newer change stands in the way: the thresholds were set otherwise since.")
    return {CHANGED: {"before": after, "after": before}}


def _set(tx: Tx, own: Mapping[str, float]) -> dict[str, float]:
    """What was set before."""
    stored = tx.orgs.get_config()
    config = stored.config or {}
    before = {name: value for name, value in (config.get(REVIEW) or {}).items() if value is not None}
    if before != own:
        tx.orgs.set_config({**config, REVIEW: dict(own)}, stored.version)
    return before
