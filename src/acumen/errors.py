"""Every failure a caller can act on.

AcumenError
├── BadInput             invalid input; the message names the field
├── NotAuthenticated     no key, or an unknown one
├── NotAllowed           the role of the key is not sufficient
├── NotFound             does not exist in this org
├── Conflict             conflicts with what is stored
│   └── OperationInTheWay  another run is active; the error names it
├── TooLarge             the request body is too large
├── WrongMediaType       the body is not JSON
├── Unavailable          temporary; the same call may succeed later
│   └── StorageFull      the disk is full; reads still work
├── BadSettings          the process cannot start with these settings
├── ModelMissing         the embedding model is not installed; search works without it
└── ModelUnavailable     no answer from the language model; rules are used instead
    ├── ModelFailed      unreachable, refused, or timed out
    ├── ModelUnusable    answered, but not in the required shape
    ├── ModelResting     failed repeatedly, so it is paused (circuit breaker)
    └── ModelOverBudget  the org's daily tokens are used up
"""


class AcumenError(Exception):
    """Something went wrong."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class BadInput(AcumenError):
    """Invalid input."""


class NotAuthenticated(AcumenError):
    """Authentication required: send `Authorization: Bearer <key>`."""


class NotAllowed(AcumenError):
    """The role of the key is not sufficient."""


class NotFound(AcumenError):
    """Not found."""


class Conflict(AcumenError):
    """Conflict with what is stored."""


class OperationInTheWay(Conflict):
    """Another run is active."""

    def __init__(self, message: str, operation_id: str) -> None:
        super().__init__(message)
        self.operation_id = operation_id


class TooLarge(AcumenError):
    """The request body is too large."""


class WrongMediaType(AcumenError):
    """Send the body as JSON, with `Content-Type: application/json`."""


class Unavailable(AcumenError):
    """The server cannot do this right now; try again shortly."""


class StorageFull(Unavailable):
    """The disk is full: nothing was stored. Free some space and send it again; reads still work."""


class BadSettings(AcumenError):
    """Invalid settings."""


class ModelMissing(AcumenError):
    """The embedding model is not installed."""


class ModelUnavailable(AcumenError):
    """The language model does not answer."""


class ModelFailed(ModelUnavailable):
    """The language model could not be reached, refused, or timed out."""


class ModelUnusable(ModelUnavailable):
    """The language model answered, but not in the required shape."""


class ModelResting(ModelUnavailable):
    """The language model failed repeatedly and is paused for a while (circuit breaker)."""


class ModelOverBudget(ModelUnavailable):
    """The daily tokens of this organisation are used up."""
