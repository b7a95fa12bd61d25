"""Forms of limited size."""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs

from starlette.requests import Request

from acumen.errors import BadInput, TooLarge, WrongMediaType

# A selection of a thousand memories with long ids fits several times.
MOST_BYTES = 1024 * 1024
MOST_FIELDS = 5_000
MEDIA_TYPE = "application/x-www-form-urlencoded"


class Form:
    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values = values

    def get(self, name: str, default: str = "") -> str:
        """The first value, stripped."""
        values = self._values.get(name)
        return values[0].strip() if values else default

    def all(self, name: str) -> list[str]:
        return list(self._values.get(name, ()))


async def form_of(request: Request) -> Form:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != MEDIA_TYPE:
        raise WrongMediaType(f"Send the form as {MEDIA_TYPE}.")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise TooLarge(f"The form is larger than {MOST_BYTES:,} bytes.")
    try:
        return Form(parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"))
    except ValueError:
        raise BadInput("The form is not valid.") from None
