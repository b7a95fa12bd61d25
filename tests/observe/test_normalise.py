"""What stays the same when a failure happens again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.observe.normalise import normalise, place

SAME = [
    ("HTTP 404 for https://a.example/x/1", "HTTP 404 for <url>"),
    ("HTTP 500 for https://a.example/x/1", "HTTP 500 for <url>"),
    ("session 3f2b8c1e-1111-4222-8333-abcdefabcdef gone", "session <id> gone"),
    ("took 12.5ms, limit 10s", "took <num>, limit <num>"),
    ("no answer within 30 s, 50000 rows wanted", "no answer within <num>, <num> rows wanted"),
    ("no answer within 30s, 50000 rows wanted", "no answer within <num>, <num> rows wanted"),
    ("waited 12ms, 13ms, 15ms", "waited <num>,"),
    ("mail to ada@example.org bounced", "mail to <mail> bounced"),
    ("cannot open '/home/ada/x.txt'", "cannot open <str>"),
    ("cannot open /home/ada/x.txt now", "cannot open <path> now"),
    (r"cannot open C:\Users\ada\x.txt", "cannot open <path>"),
    ("at 2026-03-01T10:00:00Z", "at <time>"),
    ("node 10.0.0.7:8080 is down", "node <ip> is down"),
    ("object at 0x7f3a2b1c", "object at <hex>"),
    ("commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "commit <hex>"),
    ("size=67108864 code:500 status=404", "size=<num> code:500 status=404"),
    ("[Errno 2] no file", "[Errno 2] no file"),
    ("ids [1, 2, 3] unknown", "ids [<num>, unknown"),
    ("blk_-1608999687919862906", "blk_<num>"),
    ("req_9aZx83kdPq1 failed", "req_<num> failed"),
    ("bit sparing on R02-M1-N0-C:J12-U11 bit 5", "bit sparing on <id> bit <num>"),
    ("from 00:1b:21:3c:9d:f8 via eth1", "from <ip> via eth<num>"),
    ("to proxy.example.edu.hk:5070 HTTPS", "to <ip> HTTPS"),
    ("class org.apache.hadoop.Mapper is gone", "class org.apache.hadoop.Mapper is gone"),
    ("ready=true,policy=3,mode=false", "ready=<bool>,policy=<num>,mode=<bool>"),
    ("from:com.android.phone", "from:<name>"),
    ("cause:org.acme.BadException", "cause:org.acme.BadException"),
    ("sent 2048 bytes (2.0 KB), lifetime <1 sec", "sent <num> bytes, lifetime <num>"),
    ("at Mon Jun 20 03:40:01 2005", "at <time> <num> <time> <num>"),
    ("Launching attempt_1445_0020_m_000007_0 now", "Launching attempt_<id> now"),
    ("Launching attempt_1445_0020_r_000007_0 now", "Launching attempt_<id> now"),
    ("(acpi_id[0x1c] lapic_id[0xaa] enabled)", "(acpi_id[<hex>] lapic_id[<hex>] enabled)"),
    ("(estimated size 5.2 B, free 530.0 MB)", "(estimated size <num>, free <num>)"),
    ("[IB][mad_recv][/lib/mad.c:7]Sending LID = 3", "[IB] [mad_recv] [<path>] Sending LID = <num>"),
    ("isScreenOn true", "isScreenOn <bool>"),
    ("started com.tencent.mm/.ui.LauncherUI", "started <name>"),
    ("by com.android.wm.State.destroySurface:71", "by com.android.wm.State.destroySurface:<num>"),
    ("abnormal code: 75", "abnormal code: <num>"),
    ("exit code 75", "exit code 75"),
    ("", ""),
    ("   \n\n ", ""),
]


@pytest.mark.parametrize("text,words", SAME)
def test_parameters_give_way_to_their_names(text: str, words: str):
    assert normalise(text) == words


TRACES = {
    "python": 'Traceback (most recent call last):\n  File "/a/b.py", line 3, in outer\n    inner()\n'
    "  File \"/a/c.py\", line 9, in inner\n    x[k]\nKeyError: 'k'",
    "java": "java.lang.IllegalStateException: Queue full\n\tat com.acme.Queue.add(Queue.java:7)\n\tat M.run(M.java:1)",
    "javascript": "TypeError: x is not a function\n    at renderRow (/app/a.js:3:9)\n    at main (/app/b.js:1:1)",
    "go": "panic: boom\n\ngoroutine 7 [running]:\nmain.pick(0x1, 0x2)\n\t/a/b.go:7 +0x1d",
    "rust": "thread 'main' panicked at src/main.rs:4:5:\nalready borrowed\nnote: run with a backtrace",
    "c#": "Unhandled exception. System.FormatException: bad input\n   at Acme.Parser.Read(String t) in C:\\x.cs:line 3",
    "ruby": "app/models/user.rb:12:in `save': name is missing (ArgumentError)\n\tfrom app/x.rb:3:in `run'",
}
COMES_DOWN_TO = {
    "python": "KeyError: <str> in inner",
    "java": "java.lang.IllegalStateException: Queue full in com.acme.Queue.add",
    "javascript": "TypeError: x is not a function in renderRow",
    "go": "panic: boom in main.pick",
    "rust": "already borrowed",
    "c#": "Unhandled exception. System.FormatException: bad input in Acme.Parser.Read",
    "ruby": "name is missing (ArgumentError) in save",
}


@pytest.mark.parametrize("language", TRACES)
def test_a_stack_trace_comes_down_to_what_went_wrong_and_where(language: str):
    assert normalise(TRACES[language]) == COMES_DOWN_TO[language]


@given(st.text(max_size=400))
def test_any_text_can_be_normalised_and_has_no_line_breaks(text: str):
    words = normalise(text)

    assert words == " ".join(words.split())


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_numbers_do_not_matter(one: int, other: int):
    assert normalise(f"row {one} of batch is bad") == normalise(f"row {other} of batch is bad")


def test_an_endpoint_is_one_place_whatever_ids_are_in_it():
    assert place("/users/17/files") == place("/users/18/files") == "/users/<num>/files"
    assert [place(name) for name in ("tool7", "/v1/oauth2/keys", "s3_upload")] == [
        "tool7",
        "/v1/oauth2/keys",
        "s3_upload",
    ]


# Text that makes careless patterns go back and forth for minutes: that these tests end is what they show.
@pytest.mark.parametrize(
    "piece", ["a", "1", "/", "a.b-", "://", "=a", "'", "\n", 'File "', "(1", "1:", "@a.", "::", "\\x"]
)
def test_no_text_takes_for_ever(piece: str):
    assert len(normalise(piece * (100_000 // len(piece)))) <= 100_000
