"""Two configurations of an org into one: what a caller changed, and the secrets that it was shown masked."""

from collections.abc import Sequence
from typing import Any

from acumen_client.wire.config import ONE_AND_MANY, Config, ConfigUpdate, NamedExtractor


def agreed(config: Config, stored: Config) -> Config:
    """The single field and the list made equal, where a caller may have changed either.

    A caller that knows only the single field changes the first and keeps the others. A caller that sends both has
    changed the one that differs from what is stored. Raises `ValueError` when both differ, and from each other, or
    when an extractor would wait for more than it reads at a time.
    """
    values = config.model_dump()
    for one, many in ONE_AND_MANY.items():
        if many not in config.model_fields_set or values[many] is None:
            values[many] = _with_first(values[one], getattr(stored, many))
        elif one in config.model_fields_set:
            values[one], values[many] = _settled(one, many, values, stored.model_dump())
    settled = Config.model_validate(values)
    for many in ONE_AND_MANY.values():
        _refuse_long_strides(many, settled)
    return settled


def _refuse_long_strides(field: str, config: Config) -> None:
    """Only what is newly set is refused: what was stored before can still be read."""
    for place, one in enumerate(getattr(config, field)):
        window, stride = one.window_size_override or config.window_size, one.stride_size_override
        if stride is not None and stride > window:
            name = repr(one.extractor_name[:64]) if one.extractor_name else f"number {place + 1}"
            raise ValueError(
                f"{field}: stride_size_override of extractor {name} must not exceed its window of {window}"
            )


def _with_first(first: Any, stored: Sequence[NamedExtractor]) -> list[Any]:
    return [] if first is None else [first, *(one.model_dump() for one in stored[1:])]


def _settled(one: str, many: str, values: dict[str, Any], stored: dict[str, Any]) -> tuple[Any, list[Any]]:
    only, listed = values[one], values[many]
    first = listed[0] if listed else None
    if only == first:
        return only, listed
    if listed == stored[many]:
        return only, [] if only is None else [only, *listed[1:]]
    if only == stored[one]:
        return first, listed
    raise ValueError(f"{one} and the first of {many} differ: send only one of the two")


def updated(config: Config, update: ConfigUpdate) -> Config:
    """The configuration afterwards, checked as a whole. A new preset sets window and stride again."""
    kept = config.model_dump()
    for one, many in ONE_AND_MANY.items():
        if many in update.changes and one not in update.changes:
            del kept[one]
        elif one in update.changes and many not in update.changes:
            kept[many] = _with_first(update.changes[one], getattr(config, many))
    if update.changes.get("extraction_preset") is not None:
        kept = {name: value for name, value in kept.items() if name not in {"window_size", "stride_size"}}
    return Config.model_validate({**kept, **update.changes})


# --- secrets -------------------------------------------------------------------------------------------------------


# What a reader sees in place of a secret, and may send back to leave the secret as it is.
MASK = "********"

_SECRET_FIELDS = frozenset(
    {"api_key", "key", "read_key", "db_url", "read_db_url", "webhook_auth_header", "hmac_secrets"}
)


def masked(config: Config) -> Config:
    """The configuration as anyone may see it."""
    return Config.model_validate(_hide(config.model_dump()))


def shown(config: Config) -> Config:
    """Masked, and with the many only where there is more than one: older clients know only one."""
    values = masked(config)
    return values.model_copy(update={many: None for many in ONE_AND_MANY.values() if len(getattr(values, many)) <= 1})


def _hide(value: Any, *, secret: bool = False) -> Any:
    if isinstance(value, dict):
        return {name: _hide(inner, secret=name in _SECRET_FIELDS) for name, inner in value.items()}
    if isinstance(value, list):
        return [_hide(inner, secret=secret) for inner in value]
    return MASK if secret and isinstance(value, str) and value else value


class KeyMoved(Exception):
    """A masked key with another address than the one it was stored with."""


def unmasked(config: Config, stored: Config) -> Config:
    """The configuration with every mask replaced by the secret stored in the same place.

    A mask with no secret behind it stays, for there is nothing to put in its place. KeyMoved when the address that a
    secret is for has changed: a caller that may not read a secret may not have it sent elsewhere either.
    """
    return Config.model_validate(_restore(config.model_dump(), stored.model_dump()))


_ADDRESSES = ("api_base", "endpoint", "url")


def _restore(value: Any, stored: Any) -> Any:
    if isinstance(value, dict):
        known = stored if isinstance(stored, dict) else {}
        if known and MASK in value.values() and any(value.get(name) != known.get(name) for name in _ADDRESSES):
            raise KeyMoved("The address has changed: give its key again, not masked.")
        return {name: _restore(inner, known.get(name)) for name, inner in value.items()}
    if isinstance(value, list):
        known_items = stored if isinstance(stored, list) else []
        return [_restore(item, known_items[i] if i < len(known_items) else None) for i, item in enumerate(value)]
    return stored if value == MASK and isinstance(stored, str) else value
