"""Every failure a caller can act on.

AcumenError
├── BadInput             what was sent cannot be used; the message names the field
├── NotAuthenticated     no key, or a key we do not know
├── NotAllowed           the key's role does not reach this far
├── NotFound             the thing named does not exist for this org
├── Conflict             it contradicts what is stored
│   └── OperationInTheWay  another operation does; the error names it
├── TooLarge             more than we accept in one piece
├── WrongMediaType       the body is not JSON
├── Unavailable          cannot answer now; the same call may succeed later
│   └── StorageFull      the disk has no room; reads go on
├── BadSettings          the process cannot start as configured
├── ModelMissing         the embedding model is not installed; search goes on without it
└── ModelUnavailable     no answer from the language model; the rules go on without it
    ├── ModelFailed      it could not be reached, refused, or took too long
    ├── ModelUnusable    it answered, but never in the shape that was asked for
    ├── ModelResting     it failed so often of late that it is not asked for a while
    └── ModelOverBudget  the org's tokens of the day are spent
"""


class AcumenError(Exception):
    """Something went wrong."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class BadInput(AcumenError):
    """What was sent cannot be used."""


class NotAuthenticated(AcumenError):
    """Authentication required: send `Authorization: Bearer <key>`."""


class NotAllowed(AcumenError):
    """The key may not do that."""


class NotFound(AcumenError):
    """There is no such thing."""


class Conflict(AcumenError):
    """It contradicts what is stored."""


class OperationInTheWay(Conflict):
    """Another operation stands in the way."""

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
    """The disk is full: nothing was stored. Free some space and send it again; reads go on."""


class BadSettings(AcumenError):
    """The settings cannot be used."""


class ModelMissing(AcumenError):
    """The embedding model is not installed."""


class ModelUnavailable(AcumenError):
    """The language model gives no answer."""


class ModelFailed(ModelUnavailable):
    """The language model could not be reached, refused, or took too long."""


class ModelUnusable(ModelUnavailable):
    """The language model answered, but not in the shape that was asked for."""


class ModelResting(ModelUnavailable):
    """The language model failed so often of late that it is left alone for a while."""


class ModelOverBudget(ModelUnavailable):
    """The tokens that this organisation may spend in a day are spent."""
