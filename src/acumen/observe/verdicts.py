"""Accept what auditors said, and remember what they found."""

import hashlib
from collections.abc import Sequence

from msgspec.structs import replace

from acumen.deps import Deps
from acumen.errors import Conflict
from acumen.model.operations.operation import Operation, Stored
from acumen.model.operations.verdict import Recurrence, VerdictFinding
from acumen.model.secrets import redact
from acumen.observe.clean import cleaned
from acumen.observe.normalise import normalise
from acumen.observe.operations import New, store
from acumen.storage.store import Tx


async def record(verdict: Operation, findings: Sequence[VerdictFinding], deps: Deps) -> tuple[Stored, list[Recurrence]]:
    """Stored when this returns, with how often each finding was found over all subjects."""
    kept = [replace(one, message=redact(one.message), signature=one.signature or _signature(one)) for one in findings]

    def write(tx: Tx) -> tuple[Stored, list[Recurrence]]:
        (receipt,) = store(tx, [New(cleaned(verdict))])
        if receipt.stored is Stored.CONFLICT:
            raise Conflict(f"op_id {verdict.id!r} is taken by another operation; send this one under a new id.")
        if receipt.stored is Stored.STORED:
            tx.verdicts.add(kept)
        return receipt.stored, tx.verdicts.count_recurrence(sorted({one.signature for one in kept}))

    return await deps.store.write(write)


def _signature(finding: VerdictFinding) -> str:
    """From the structure of the words, so that the same fault is the same wherever it is found."""
    return f"sig_{hashlib.sha256(normalise(finding.message).lower().encode()).hexdigest()[:16]}"
