"""The quick look finds every secret that the long one finds."""

from hypothesis import given
from hypothesis import strategies as st

from acumen.model.secrets import redact
from acumen.observe.clean import _redacted

PIECES = [
    "password is hunter22",
    "4111 1111 1111 1111",
    "123-45-6789",
    "sk-live-abcdefghij0123456789",
    "AKIAABCDEFGHIJKLMNOP",
    "my pin: 4711",
    "postgres://u:p@h/x",
    "Bearer abcdefghijklmnopqrst",
    "eyJabcdefghij.abcdefghij",
    "-----BEGIN RSA PRIVATE KEY-----abc",
    "verification code is 123456",
    "plain words",
    " ",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=5).map(" ".join))
def test_the_quick_look_misses_nothing(text: str):
    assert _redacted(text) == redact(text)
