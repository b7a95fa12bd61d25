"""Accept verdicts of auditors, and count how often a finding recurs."""

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
from acumen.observe.operations import SentOperation, store
from acumen.storage.store import Tx


async def record(verdict: Operation, findings: Sequence[VerdictFinding], deps: Deps) -> tuple[Stored, list[Recurrence]]:
    """Committed when this returns; returns how often each finding recurs over all subjects."""
    cleaned_findings = [
        replace(finding, message=redact(finding.message), signature=finding.signature or _signature(finding))
        for finding in findings
    ]

    def write(tx: Tx) -> tuple[Stored, list[Recurrence]]:
        (receipt,) = store(tx, [SentOperation(cleaned(verdict))])
        if receipt.stored is Stored.CONFLICT:
            raise Conflict(f"op_id {verdict.id!r} is used by another operation; send a new op_id.")
        if receipt.stored is Stored.STORED:
            tx.verdicts.add(cleaned_findings)
        return receipt.stored, _recurrence(tx, cleaned_findings)

    return await deps.store.write_shared(write)


async def history(
    subject: str | None, signature: str | None, limit: int, deps: Deps
) -> tuple[list[VerdictFinding], list[Recurrence]]:
    """Findings about a subject, or with a signature, and how often they recur."""

    def read(tx: Tx) -> tuple[list[VerdictFinding], list[Recurrence]]:
        if subject is not None:
            findings = tx.verdicts.find_by_subject(subject, limit)
            return findings, _recurrence(tx, findings)
        return tx.verdicts.find_by_signature(signature or "", limit), tx.verdicts.count_recurrence([signature or ""])

    return await deps.store.read(read)


def _recurrence(tx: Tx, findings: Sequence[VerdictFinding]) -> list[Recurrence]:
    return tx.verdicts.count_recurrence(sorted({finding.signature for finding in findings}))


def _signature(finding: VerdictFinding) -> str:
    """From the normalised message, so that the same fault has the same signature everywhere."""
    return f"sig_{hashlib.sha256(normalise(finding.message).lower().encode()).hexdigest()[:16]}"
