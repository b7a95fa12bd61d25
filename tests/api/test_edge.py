"""What is taken in and how failures are told, the same for every endpoint."""

import gzip
import json
import zlib

import pytest

from tests.api.calls import BODIES, BY_NAME, NOBODYS, call_of
from tests.world import Org, once, said

pytestmark = once

JSON = {"Content-Type": "application/json"}
MEGABYTE = 1024 * 1024


async def test_every_failure_has_the_same_shape(org: Org):
    replies = [
        await org.send("POST", "/api/search", {}),
        await org.send("GET", "/api/learning_status?request_id=unknown"),
        await org.send("GET", "/nowhere"),
        await org.send("PATCH", "/api/search"),
        await org.http.post("/api/search", content=b"{", headers=JSON),
        await org.http.post("/api/search", content=b"x", headers={"Content-Type": "text/plain"}),
        await org.http.get("/api/whoami", headers={"Authorization": "Bearer wrong"}),
    ]

    assert [reply.status_code for reply in replies] == [422, 404, 404, 405, 422, 415, 401]
    for reply in replies:
        assert set(reply.json()) == {"detail", "code", "request_id"}, reply.url
        assert all(reply.json().values()), reply.url


async def test_every_reply_carries_protective_headers(org: Org):
    for path in ("/", "/api/whoami", "/nowhere", "/docs", "/openapi.json"):
        headers = (await org.send("GET", path)).headers

        assert headers["X-Content-Type-Options"] == "nosniff", path
        assert headers["X-Frame-Options"] == "DENY", path
        assert headers["Referrer-Policy"] == "no-referrer", path
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], path


async def test_a_callers_request_id_is_kept_if_it_can_stand_in_a_log(org: Org):
    fine = await org.http.get("/api/whoami", headers={"X-Request-ID": "abc-123"})
    forged = await org.http.get("/api/whoami", headers={"X-Request-ID": "a b\tERROR forged"})

    assert fine.headers["X-Request-ID"] == "abc-123"
    assert "forged" not in forged.headers["X-Request-ID"]


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonp"]
)
async def test_a_body_that_does_not_say_it_is_json_is_refused(org: Org, media: str):
    """A page elsewhere can make a browser send such a body without asking first."""
    before = await org.rows()

    reply = await org.http.post(
        "/api/publish_interaction", content=json.dumps(said("hello")), headers={"Content-Type": media}
    )
    deletion = await org.http.request(
        "DELETE", "/api/delete_all_profiles", content="x", headers={"Content-Type": media}
    )

    assert (reply.status_code, deletion.status_code) == (415, 415)
    assert await org.rows() == before


async def test_json_may_name_its_charset(org: Org):
    reply = await org.http.post(
        "/api/search", content=b'{"query": "x"}', headers={"Content-Type": "Application/JSON; charset=utf-8"}
    )

    assert reply.status_code == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"nonsense", b"[]", b"null", b'"text"', b"7", b"NaN", b'{"query": NaN}', b"\xff\xfe", b'{"a": "\xff"}',
     b'{"query": "\\ud800"}', b'{"query": "\\u0000"}', b"[" * 100_000, b'{"a":' * 10_000, b'{"query": 1e999}'],
    ids=lambda body: repr(body[:20]),
)  # fmt: skip
async def test_a_body_that_makes_no_sense_is_refused(org: Org, body: bytes):
    for path in ("/api/search", "/api/publish_interaction", "/api/set_config", "/api/add_user_profile"):
        reply = await org.http.post(path, content=body, headers=JSON)

        assert reply.status_code == 422, (path, reply.text)
        assert reply.json()["detail"]


async def test_a_body_of_more_than_ten_mebibytes_is_refused(org: Org):
    fits = json.dumps({"query": "x", "colour": "x" * (10 * MEGABYTE - 40)}).encode()
    too_much = fits + b" " * 100

    async def in_pieces():
        for start in range(0, len(too_much), MEGABYTE):
            yield too_much[start : start + MEGABYTE]

    taken = await org.http.post("/api/search", content=fits, headers=JSON)
    refused = await org.http.post("/api/search", content=too_much, headers=JSON)
    unannounced = await org.http.post("/api/search", content=in_pieces(), headers=JSON)

    assert taken.status_code == 422  # read, and found to have a field that nobody knows
    assert (refused.status_code, unannounced.status_code) == (413, 413)
    assert refused.json()["code"] == "too_large"


async def test_a_packed_body_is_unpacked(org: Org):
    packed = gzip.compress(json.dumps(said("hello from a gzip")).encode())

    reply = await org.http.post(
        "/api/publish_interaction", content=packed, headers={**JSON, "Content-Encoding": "gzip"}
    )

    assert reply.status_code == 200
    (turn,) = (await org.sdk.interactions(user_id="ada")).interactions
    assert turn.content == "hello from a gzip"


async def test_a_bomb_is_not_unpacked(org: Org):
    bomb = gzip.compress(b" " * (50 * MEGABYTE), 1)
    assert len(bomb) < MEGABYTE

    reply = await org.http.post("/api/search", content=bomb, headers={**JSON, "Content-Encoding": "gzip"})

    assert reply.status_code == 413


@pytest.mark.parametrize(
    "encoding, body, status",
    [
        ("gzip", b"not a gzip", 422),
        ("gzip", gzip.compress(b'{"query": "x"}', mtime=0)[:-12], 422),
        ("br", b"x", 415),
        ("gzip, gzip", gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0), 415),
        ("deflate", zlib.compress(b'{"query": "x"}'), 415),
    ],
    ids=str,
)
async def test_a_body_packed_in_a_way_we_cannot_unpack_is_refused(org: Org, encoding: str, body: bytes, status: int):
    reply = await org.http.post("/api/search", content=body, headers={**JSON, "Content-Encoding": encoding})

    assert reply.status_code == status


async def test_a_length_that_makes_no_sense_is_not_believed(org: Org):
    for length in ("x", "-1"):
        headers = {**JSON, "Content-Length": length}
        reply = await org.http.post("/api/search", content=b'{"query": "x"}', headers=headers)

        assert reply.status_code == 200, length


async def test_long_input_is_not_repeated_in_the_failure(org: Org):
    reply = await org.send("POST", "/api/search", {"query": "x", "top_k": "y" * 100_000})

    assert reply.status_code == 422
    assert len(reply.text) < 1_000


# An update of the configuration has no fields of its own.
@pytest.mark.parametrize("name", sorted(BODIES.keys() - {"update_config"}))
async def test_null_is_accepted_for_every_field_that_may_be_left_out(org: Org, name: str):
    endpoint = BY_NAME[name]
    body, _ = call_of(name, NOBODYS)
    shape = endpoint.request_model.model_fields
    options = [field for field in shape if not shape[field].is_required() and field not in endpoint.query_fields]

    reply = await org.send(endpoint.method, endpoint.path, {**dict.fromkeys(options), **(body or {})})

    assert reply.status_code in (200, 202, 404), reply.text


async def test_a_method_that_is_not_allowed_is_told_with_those_that_are(org: Org):
    reply = await org.send("GET", "/api/search")

    assert (reply.status_code, reply.json()["code"]) == (405, "method_not_allowed")
    assert reply.json()["detail"] == "GET is not allowed on /api/search; use POST."


@pytest.mark.parametrize(
    "content, told",
    [
        (b"nope", "The body is not valid JSON: unexpected character at line 1, column 2."),
        (b"[]", "The body must be a JSON object."),
        (b'{"query": "tea", "user": "ada"}', "Unknown field `user`; did you mean `user_id`?"),
    ],
)
async def test_a_wrong_body_is_told_in_a_sentence(org: Org, content: bytes, told: str):
    reply = await org.http.post("/api/search", content=content, headers=JSON)

    assert (reply.status_code, reply.json()["detail"]) == (422, told)
