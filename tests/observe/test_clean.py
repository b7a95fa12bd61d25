"""Secrets leave an operation before it is stored; what has none is left as it is."""

import pytest

from acumen.model.ids import Millis
from acumen.model.operations.operation import Operation, OperationId, OperationKind, OperationStatus
from acumen.observe.clean import cleaned

SECRETS = [
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
]


def an_operation(said: str) -> Operation:
    where = {"error_message": said, "input_summary": said, "output_summary": said}
    deep = {"arguments": {"x": [{"y": said}]}, "attributes": {"z": said}}
    about = (OperationId("op"), "mcp", OperationKind.OPERATION, "read", OperationStatus.ERROR, Millis(0), "hash")
    return Operation(*about, **where, **deep)


@pytest.mark.parametrize("secret", SECRETS)
def test_no_field_keeps_a_secret(secret: str):
    kept = str(cleaned(an_operation(f"plain words, {secret} and more")))

    assert secret not in kept
    assert kept.count("[redacted") == 5
    assert kept.count("plain words") == 5


def test_what_has_no_secret_is_the_very_same():
    operation = an_operation("Good morning, one question before the meeting about the order")

    assert cleaned(operation) is operation


def test_what_is_called_a_secret_is_one_whatever_it_looks_like():
    called = {"password": 1234, "cookies": ["sid=abc"], "credentials": {"pw": "x"}, "token": "short"}
    plain = {"max_tokens": 100, "token_count": 3, "has_password": True, "api_key": None}

    kept = cleaned(an_operation("x")._replace(arguments={**called, **plain})).arguments

    assert kept == dict.fromkeys(called, "[redacted]") | plain
