"""The headers of a request, read once."""

from starlette.requests import Request

# Under this name the scope of a request keeps them.
_READ = "acumen.headers"


def headers_of(request: Request) -> dict[str, str]:
    """By their names in small letters; of those sent twice, the first."""
    read: dict[str, str] | None = request.scope.get(_READ)
    if read is None:
        sent = reversed(request.scope["headers"])
        read = request.scope[_READ] = {name.decode("latin-1"): value.decode("latin-1") for name, value in sent}
    return read
