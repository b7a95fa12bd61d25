"""Messages that agents meet, each labelled with the template it was made from.

Parameters are made at random from a seed, so the set is as large as one likes and always the same. Templates that look
alike but mean different things stand beside each other on purpose: to merge them is what must not happen.
"""

import re
from collections.abc import Callable, Iterator
from random import Random

from msgspec import Struct

_NAMES = "ana bob carla dmitri elif farid grace hugo ines jonas kim lena".split()
_TOOLS = "read_file write_file search_web run_tests query_db send_mail deploy fetch_url list_issues".split()
_WORDS = "invoice ticket order customer report branch commit bucket table index queue topic".split()
_FIELDS = "path query limit user_id region amount start_date end_date currency name".split()


def _hex(random: Random, digits: int) -> str:
    return f"{random.getrandbits(4 * digits):0{digits}x}"


def _uuid(random: Random) -> str:
    return "-".join(_hex(random, digits) for digits in (8, 4, 4, 4, 12))


def _id(random: Random) -> str:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    return "".join(random.choice(letters) for _ in range(10)) + str(random.randrange(10))


def _path(random: Random) -> str:
    return "/" + "/".join(random.choice(_WORDS) for _ in range(random.randrange(2, 5))) + f"/{_hex(random, 4)}.py"


def _time(random: Random) -> str:
    day, hour, minute, second = (random.randrange(1, limit) for limit in (28, 24, 60, 60))
    return f"2026-{random.randrange(1, 13):02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"


PLACES: dict[str, Callable[[Random], str]] = {
    "n": lambda random: str(random.randrange(1, 10 ** random.randrange(1, 7))),
    "f": lambda random: f"{random.random() * 100:.{random.randrange(1, 4)}f}",
    "ms": lambda random: f"{random.randrange(1, 90_000)}ms",
    "uuid": _uuid,
    "id": _id,
    "hex": lambda random: f"0x{_hex(random, 8)}",
    "sha": lambda random: _hex(random, 40),
    "ip": lambda random: ".".join(str(random.randrange(1, 255)) for _ in range(4)),
    "url": lambda random: (
        f"https://{random.choice(_WORDS)}.example.com/{random.choice(_WORDS)}/{random.randrange(999)}"
    ),
    "path": _path,
    "time": _time,
    "mail": lambda random: f"{random.choice(_NAMES)}{random.randrange(99)}@example.org",
    "name": lambda random: random.choice(_NAMES),
    "tool": lambda random: random.choice(_TOOLS),
    "word": lambda random: random.choice(_WORDS),
    "field": lambda random: random.choice(_FIELDS),
}

MESSAGES = """
HTTP 404 Not Found for {url}
HTTP 500 Internal Server Error for {url}
HTTP 403 Forbidden for {url}
HTTP 429 Too Many Requests, retry after {n} seconds
Rate limit reached for organization {id} on tokens per min: limit {n}, used {n}, requested {n}
Request timed out after {ms} while calling {url}
Read timed out. (read timeout={n})
Connection refused to {ip}:{n}
Connection reset by peer {ip}
Connection to {ip} closed before message completed
Could not resolve host: {word}.example.com
certificate has expired for host {ip} at {time}
This model's maximum context length is {n} tokens, however you requested {n} tokens
Expected property name enclosed in double quotes: line {n} column {n} (char {n})
Expecting value: line {n} column {n} (char {n})
Unterminated string starting at: line {n} column {n} (char {n})
Invalid arguments: missing required property '{field}'
Invalid arguments: unexpected property '{field}'
Tool call {id} was cancelled by the user after {ms}
Session {uuid} not found
Session {uuid} has expired at {time}
Permission denied: '{path}'
No such file or directory: '{path}'
File too large: '{path}' has {n} bytes, limit is {n} bytes
disk quota exceeded for user {name} on volume {hex}
duplicate key value violates unique constraint "orders_pkey" DETAIL: Key (id)=({n}) already exists.
deadlock detected DETAIL: Process {n} waits for ShareLock on transaction {n}; blocked by process {n}.
canceling statement due to statement timeout after {ms}
relation "{word}_{n}" does not exist at character {n}
could not serialize access due to concurrent update of row {n}
Worker {n} exited with code 137 after {n} seconds
Worker {n} exited with code 1 after {n} seconds
Job {uuid} failed on attempt {n} of {n}
Checksum mismatch: expected {sha} got {sha}
Invalid signature for token {id} issued at {time}
token expired at {time}, now is {time}
User {mail} is not a member of workspace {uuid}
Payment {id} declined by issuer: insufficient funds, amount {f} EUR
Payment {id} declined by issuer: card expired, amount {f} EUR
Cannot merge branch {word}-{n}: {n} conflicts in {path}
git push rejected: remote contains work that you do not have, commit {sha}
Command failed with exit code {n}: npm ERR! missing script
pod {word}-{hex} evicted: node {ip} was low on memory, using {n}Mi
OOMKilled: container {id} exceeded {n}Mi
Temperature sensor {n} reads {f} C, above limit {f} C
Queue {word} is full: {n} messages waiting, limit {n}
Message {uuid} rejected: schema version {n} is not supported
Assertion failed in test_{word}_{n}: got {n} instead of {n}
Element #{word}-{n} is not clickable at point ({n}, {n})
Navigation to {url} was interrupted by another navigation
Embedding dimension mismatch: index has {n}, vector has {n}
The model produced no tool call in {n} attempts
Output was cut off at {n} tokens before the answer was complete
Budget of {f} USD exceeded by run {uuid}
Lock on {path} is held by process {n} since {time}
Backup {id} is {n} hours old, older than {n} hours
""".strip().splitlines()

TRACES = {
    "python-key": 'Traceback (most recent call last):\n  File "{path}", line {n}, in main\n    run()\n'
    "  File \"{path}\", line {n}, in load_row\n    return row[key]\nKeyError: '{field}'",
    "python-none": 'Traceback (most recent call last):\n  File "{path}", line {n}, in handle\n    reply.text\n'
    "AttributeError: 'NoneType' object has no attribute 'text'",
    "python-chained": 'Traceback (most recent call last):\n  File "{path}", line {n}, in fetch\n    get()\n'
    "ConnectionError: {ip} refused\n\nDuring handling of the above exception, another exception occurred:\n\n"
    'Traceback (most recent call last):\n  File "{path}", line {n}, in retry\n    raise GaveUp(n)\n'
    "GaveUp: after {n} tries",
    "java-null": 'Exception in thread "worker-{n}" java.lang.NullPointerException: Cannot invoke "Order.getId()" '
    'because "order" is null\n\tat com.acme.Orders.bill(Orders.java:{n})\n\tat com.acme.Main.run(Main.java:{n})',
    "java-state": "java.lang.IllegalStateException: Queue full\n\tat com.acme.Queue.add(Queue.java:{n})\n"
    "\tat com.acme.Orders.bill(Orders.java:{n})",
    "js-type": "TypeError: Cannot read properties of undefined (reading '{field}')\n"
    "    at renderRow ({path}:{n}:{n})\n    at Array.map (<anonymous>)",
    "js-fetch": "Error: connect ECONNREFUSED {ip}:{n}\n    at TCPConnectWrap.afterConnect (node:net:{n}:{n})",
    "go-index": "panic: runtime error: index out of range [{n}] with length {n}\n\ngoroutine {n} [running]:\n"
    "main.pick({hex}, {hex})\n\t{path}:{n} +{hex}",
    "go-nil": "panic: runtime error: invalid memory address or nil pointer dereference\n"
    "[signal SIGSEGV: segmentation violation code={hex} addr={hex}]\n\ngoroutine {n} [running]:\n"
    "main.(*Server).Serve({hex})\n\t{path}:{n} +{hex}",
    "rust-unwrap": "thread 'main' panicked at src/main.rs:{n}:{n}:\ncalled `Option::unwrap()` on a `None` value\n"
    "note: run with `RUST_BACKTRACE=1`",
    "rust-borrow": "thread 'tokio-{n}' panicked at src/cell.rs:{n}:{n}:\nalready borrowed: BorrowMutError",
    "csharp-format": "Unhandled exception. System.FormatException: Input string was not in a correct format.\n"
    "   at Acme.Parser.Read(String text) in {path}:line {n}\n   at Acme.Program.Main()",
}

_PLACE = re.compile(r"\{(\w+)\}")


class Labelled(Struct, frozen=True):
    label: str
    message: str


def templates() -> dict[str, str]:
    return {**{template: template for template in MESSAGES}, **TRACES}


def filled(template: str, random: Random) -> str:
    return _PLACE.sub(lambda found: PLACES[found[1]](random) if found[1] in PLACES else found[0], template)


def labelled(count: int, seed: int = 0) -> Iterator[Labelled]:
    """In random order; few templates are frequent and many are rare, as in life."""
    random = Random(seed)
    known = list(templates().items())
    random.shuffle(known)
    weights = [1 / (place + 5) for place in range(len(known))]
    for label, template in random.choices(known, weights, k=count):
        yield Labelled(label, filled(template, random))
