"""Forms: which are ours, and which are not."""

import pytest

from acumen.auth.headers import Scope
from acumen.errors import NotAllowed
from acumen.settings import Web
from acumen.web.csrf import check_csrf, from_own_page
from acumen.web.session import Sessions


def _scope(**headers: str) -> Scope:
    given = {"host": "127.0.0.1:8061", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return {"headers": [(name.encode(), value.encode()) for name, value in given.items()]}


@pytest.mark.parametrize(
    "headers,own",
    [
        ({"origin": "http://127.0.0.1:8061"}, True),
        ({"sec_fetch_site": "same-origin"}, True),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "http://127.0.0.1:9000"}, False),
        ({"origin": "null", "sec_fetch_site": "same-origin"}, False),
        ({"sec_fetch_site": "cross-site"}, False),
        ({}, False),
    ],
)
def test_only_the_browsers_own_word_makes_a_form_ours(headers: dict[str, str], own: bool):
    assert from_own_page(_scope(**headers)) is own


def test_a_form_needs_the_token_of_its_own_session():
    sessions = Sessions(Web())
    scope = _scope(origin="http://127.0.0.1:8061")

    check_csrf(scope, sessions, "mine", sessions.csrf_token("mine"))

    with pytest.raises(NotAllowed):
        check_csrf(scope, sessions, "mine", sessions.csrf_token("another's"))
