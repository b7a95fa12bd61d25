"""Cookies: what is ours, and what is not."""

from hypothesis import given
from hypothesis import strategies as st

from acumen.auth.headers import Scope
from acumen.model.ids import Millis
from acumen.model.times import HOUR_MS
from acumen.settings import Web
from acumen.web.session import Sessions, cookie_of

AT = Millis(1_800_000_000_000)


def _scope(**headers: str) -> Scope:
    given = {"host": "127.0.0.1:8061", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return {"headers": [(name.encode(), value.encode()) for name, value in given.items()]}


def test_a_cookie_names_its_key_until_its_time_is_over():
    sessions = Sessions(Web(session_hours=2))

    cookie = sessions.open("key_1", AT)

    assert sessions.key_of(cookie, Millis(AT + HOUR_MS)) == "key_1"
    assert sessions.key_of(cookie, Millis(AT + 2 * HOUR_MS)) is None


def test_a_cookie_of_another_server_is_not_ours():
    assert Sessions(Web()).key_of(Sessions(Web()).open("key_1", AT), AT) is None


def test_servers_that_share_a_secret_share_their_cookies():
    cookie = Sessions(Web(secret="a secret of ours")).open("key_1", AT)

    assert Sessions(Web(secret="a secret of ours")).key_of(cookie, AT) == "key_1"


@given(st.text(max_size=80))
def test_no_other_text_is_a_cookie_of_ours(text: str):
    assert Sessions(Web()).key_of(text, AT) is None


def test_a_changed_cookie_is_none():
    sessions = Sessions(Web())
    said, _, signature = sessions.open("key_1", AT).rpartition(".")

    assert sessions.key_of(f"{said.replace('key_1', 'key_2')}.{signature}", AT) is None


def test_our_cookie_is_found_among_others():
    assert cookie_of(_scope(cookie="theme=dark; acumen_session=abc.def; x=1")) == "abc.def"
