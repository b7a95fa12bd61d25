"""Review thresholds of an org; every change is in the audit log."""

from collections.abc import Mapping
from typing import Any

from acumen.deps import Deps
from acumen.errors import Conflict
from acumen.model.config import REVIEW
from acumen.model.review.action import Action, ActionId, ActionKind
from acumen.review.audit_log import fresh_action
from acumen.storage.store import Tx

CHANGED = "thresholds"


async def change(thresholds: Mapping[str, float], actor: str, deps: Deps) -> Action:
    """Thresholds that are not named use the server's default. The action has no id when nothing changes."""
    at = deps.now()

    def store(tx: Tx) -> Action:
        before = _set(tx, thresholds)
        if before == thresholds:
            return Action(ActionId(""), ActionKind.CONFIGURE, actor, at)
        params = {CHANGED: {"before": before, "after": dict(thresholds)}}
        action = Action(fresh_action(), ActionKind.CONFIGURE, actor, at, params=params)
        tx.actions.add(action)
        return action

    return await deps.store.write(store)


def restore(tx: Tx, action: Action) -> Mapping[str, Any]:
    """Undoes a change of thresholds; returns the change, empty if the action was another."""
    if CHANGED not in action.params:
        return {}
    before, after = action.params[CHANGED]["before"], action.params[CHANGED]["after"]
    if _set(tx, before) != after:
        raise Conflict("The thresholds were changed again since. Undo the newer change first.")
    return {CHANGED: {"before": after, "after": before}}


def _set(tx: Tx, thresholds: Mapping[str, float]) -> dict[str, float]:
    """Returns what was set before."""
    stored = tx.orgs.get_config()
    config = stored.config or {}
    before = {name: value for name, value in (config.get(REVIEW) or {}).items() if value is not None}
    if before != thresholds:
        tx.orgs.set_config({**config, REVIEW: dict(thresholds)}, stored.version)
    return before
