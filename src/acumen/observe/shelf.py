"""The shelf that grouping looks on, in a transaction."""

from collections.abc import Sequence

from acumen.observe.grouping import VERSION, Candidate, Signature
from acumen.storage.failures import Failures, NewGroup


class StoredShelf:
    """Asks once for all keys; a bucket that gets a new group is held until COMMIT."""

    def __init__(self, failures: Failures, keys: Sequence[str]) -> None:
        self._failures = failures
        self._known = failures.by_keys(list(dict.fromkeys(keys)))

    def by_key(self, key: str) -> str | None:
        return self._known.get(key)

    def hold(self, signature: Signature) -> str | None:
        """From here on the bucket is ours; somebody may have filled it while we waited."""
        self._failures.hold_bucket(signature.bucket)
        found = self._failures.by_keys([signature.key])
        self._known.update(found)
        return found.get(signature.key)

    def at_leaf(self, leaf: str) -> list[Candidate]:
        return [Candidate(kept.group_id, kept.template) for kept in self._failures.at_leaf(leaf)]

    def room_in(self, bucket: str) -> int:
        return self._failures.count_in(bucket)

    def add(self, group_id: str, signature: Signature, template: str) -> None:
        leaf = None if signature.exact else signature.leaf
        self._failures.make(
            NewGroup(
                id=group_id,
                version=VERSION,
                source=signature.source,
                endpoint=signature.endpoint,
                error_type=signature.error_type,
                bucket=signature.bucket,
                leaf=leaf,
                template=template,
            )
        )

    def widen(self, group_id: str, template: str) -> None:
        self._failures.widen(group_id, template)

    def remember(self, key: str, group_id: str) -> None:
        self._known[key] = group_id
        self._failures.remember(key, group_id)
