"""What a form sends: names and their values, of bounded size."""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs

from starlette.requests import Request

from acumen.errors import BadInput, TooLarge, WrongMediaType

# A thousand memories with long names fit several times over.
MOST_BYTES = 1024 * 1024
MOST_FIELDS = 5_000
MEDIA_TYPE = "application/x-www-form-urlencoded"


class Form:
    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values = values

    def get(self, name: str, default: str = "") -> str:
        """The first value, without the spaces around it."""
        found = self._values.get(name)
        return found[0].strip() if found else default

    def all(self, name: str) -> list[str]:
        return list(self._values.get(name, ()))


async def form_of(request: Request) -> Form:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != MEDIA_TYPE:
        raise WrongMediaType("Send the form as a browser does.")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise TooLarge("This form is larger than any of ours.")
    try:
        return Form(parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"))
    except ValueError:
        raise BadInput("The form cannot be read.") from None
