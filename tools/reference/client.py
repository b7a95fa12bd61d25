"""The page of the Python client, from its signatures and docstrings."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import acumen_client
from acumen_client import errors
from acumen_client.calls import Calls
from acumen_client.errors import AcumenError
from acumen_client.observe import Observer
from tools.reference.endpoints import CALLED, VERBS, of_verb
from tools.reference.markdown import GENERATED, table

SDK = """\
`pip install acumen-client`; Python 3.9 or newer. [Integrate an agent](../guides/integrate-an-agent.md) shows it at
work.

```python
from acumen_client import Client

with Client() as client:
    print(client.version().server_version)
```

`AsyncClient` and `AsyncSession` have the same methods as coroutines."""
METHODS = """\
One method per endpoint. Its keyword arguments are the fields of the request, its result is the response as a model;
the endpoint's page lists the fields. Failures raise the errors below."""


def page() -> str:
    parts = ["# Python client", GENERATED, SDK]
    for kind in (acumen_client.Client, acumen_client.AsyncClient, acumen_client.Retry, acumen_client.Session, Observer):
        parts += _class(kind)
    parts += ["## Methods of the clients", METHODS]
    for verb in VERBS:
        rows = [
            (f"[`{CALLED[e.name]}()`](endpoints/{verb}.md#{e.name})", f"`{e.answer_model.__name__}`", e.summary)
            for endpoints in of_verb(verb).values()
            for e in endpoints
        ]
        parts += [f"### {verb.capitalize()}", table(("method", "returns", ""), rows)]
    failures = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AcumenError)]
    described = [(f"`{kind.__name__}`", _first_line(kind)) for kind in failures]
    models = [(f"`{name}`", _first_line(_public(name))) for name in acumen_client.__all__ if _is_model(name)]
    parts += ["## Errors", table(("error", "meaning"), described)]
    parts += ["## Models", "Requests take these or plain dictionaries.", table(("model", ""), models)]
    strip = acumen_client.strip_handles
    parts += ["## Functions", f"```text\n{_signature('strip_handles', strip)}\n```", inspect.getdoc(strip) or ""]
    return "\n\n".join(parts)


def _public(name: str) -> Any:
    return getattr(acumen_client, name)


def _is_model(name: str) -> bool:
    kind = _public(name)
    return isinstance(kind, type) and kind.__module__.startswith("acumen_client.wire")


def _class(kind: type) -> Iterator[str]:
    yield f"## {kind.__name__}"
    yield f"```text\n{_signature(kind.__name__, kind)}\n```"
    yield inspect.getdoc(kind) or ""
    methods = {
        name: method for base in reversed(kind.__mro__[:-1]) for name, method in vars(base).items() if base is not Calls
    }
    rows = [
        (f"`{_signature(name, method)}`", " ".join((inspect.getdoc(method) or "").split()))
        for name, method in methods.items()
        if inspect.isfunction(method) and not name.startswith(("_", "wait_")) and inspect.getdoc(method)
    ]
    yield table(("method", ""), rows) if rows else ""


def _signature(name: str, function: Any) -> str:
    """Without `self`, and with short names for types."""
    text = str(inspect.signature(function)).replace("(self, ", "(").replace("(self)", "()")
    text = re.sub(r"'([A-Za-z][^'=]*)'", r"\1", text)
    return name + re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", text).removesuffix(" -> None")


def _first_line(kind: Any) -> str:
    return (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
