"""What an endpoint is: how it is reached, what it takes, what it answers, and who may ask."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature, cleandoc, signature
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    Protocol,
    TypedDict,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    overload,
)
from urllib.parse import quote

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import ParamSpec, Self, Unpack

from acumen_client.errors import BadInput, in_words
from acumen_client.wire.shapes import InQuery, Nothing, NullsSent, Role

if TYPE_CHECKING:
    from acumen_client.client import AsyncClient, Client

P = ParamSpec("P")
A = TypeVar("A", bound=BaseModel)

Method = Literal["GET", "POST", "PUT", "DELETE"]
Where = Literal["body", "query"]


class _Signature:
    """The signature of an endpoint as a method, made when it is read. The class `Endpoint` keeps its own."""

    def __get__(self, endpoint: Endpoint[..., Any] | None, owner: type) -> Signature:
        if endpoint is None:
            raise AttributeError("__signature__")
        itself = Parameter("self", Parameter.POSITIONAL_ONLY)
        return Signature([itself, *_parameters(endpoint)], return_annotation=endpoint.answer_model)


def _parameters(endpoint: Endpoint[..., Any]) -> Iterable[Parameter]:
    if endpoint.shape is not None:
        return signature(endpoint.request).parameters.values()
    fields = endpoint.request_model.model_fields.items()
    return [
        Parameter(name, Parameter.KEYWORD_ONLY, default=_default(field), annotation=_plain(field.annotation))
        for name, field in fields
    ]


def _default(field: FieldInfo) -> Any:
    """Shown as `...` where it is made for each request."""
    if field.is_required():
        return Parameter.empty
    if field.default_factory is None:
        return field.default
    return [] if field.default_factory is list else ...


def _plain(annotation: Any) -> Any:
    """A type without its constraints: `Annotated[str, ...]` is shown as `str`."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _plain(arguments[0])
    if not arguments or origin is Literal:
        return annotation
    plain = tuple(_plain(argument) for argument in arguments)
    return Union[plain] if origin is Union else origin[plain]


def _function(endpoint: Any, owner: type) -> Any:
    def method(client: Any, /, *args: Any, **kwargs: Any) -> Any:
        return endpoint(client, *args, **kwargs)

    method.__name__ = endpoint.__name__
    method.__qualname__ = f"{owner.__qualname__}.{endpoint.__name__}"
    method.__module__ = owner.__module__
    method.__doc__ = endpoint.__doc__
    method.__signature__ = endpoint.__signature__  # type: ignore[attr-defined]
    return method


@dataclass(frozen=True)
class Endpoint(Generic[P, A]):
    """One endpoint. `request` builds the request, and so lends its parameters to the clients' method."""

    name: str
    method: Method
    path: str
    request: Callable[P, BaseModel]
    answer_model: type[A]
    role: Role
    summary: str
    # The shape of the request, where `request` is not itself that shape.
    shape: type[BaseModel] | None = None
    # Where the parameters travel; fields marked `InQuery` always go in the query string.
    where: Where = "body"
    # Whether sending it twice is the same as sending it once.
    repeatable: bool = True
    # What a success is answered with: 202 where the work is only begun.
    status: Literal[200, 202] = 200

    __signature__ = _Signature()

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, A]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Awaitable[A]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Any:
        """As a method of a client: its parameters are the fields of the request, its result is the answer.

        Of a client class it is a function, for `help()`; `Calls` itself lists the endpoints.
        """
        if client is None:
            return self if self.__name__ in vars(owner) else _function(self, owner)  # type: ignore[attr-defined]
        return MethodType(self, client)

    def __call__(self, client: Client | AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> A | Awaitable[A]:
        return client.send(self, self.built(*args, **kwargs))

    def __set_name__(self, owner: type, name: str) -> None:
        """`help()` and `inspect` read these, as they do of any method."""
        for attribute, value in (
            ("__name__", name),
            ("__qualname__", f"{owner.__qualname__}.{name}"),
            ("__module__", owner.__module__),
            ("__doc__", self.description),
        ):
            object.__setattr__(self, attribute, value)

    @property
    def description(self) -> str:
        """The summary, what the request says of itself, and how the endpoint is reached."""
        about = vars(self.request_model).get("__doc__") if not self.takes_nothing else None
        access = "Needs no key." if self.role is Role.PUBLIC else f"Needs a key with role {self.role} or higher."
        return "\n\n".join(
            filter(None, [self.summary, about and cleandoc(about), f"{self.method} {self.path}. {access}"])
        )

    def built(self, *args: P.args, **kwargs: P.kwargs) -> BaseModel:
        """The request, or `BadInput` before anything is sent. Its fields may come as one dictionary, too."""
        fields: Any = args[0] if len(args) == 1 and isinstance(args[0], Mapping) and self.shape is None else None
        try:
            return self.request(*args, **kwargs) if fields is None else self.request_model(**fields, **kwargs)
        except ValidationError as wrong:
            raise BadInput(in_words(wrong, shape=self.request_model), code="bad_input") from wrong

    @property
    def request_model(self) -> type[BaseModel]:
        return self.shape or cast("type[BaseModel]", self.request)

    @property
    def takes_nothing(self) -> bool:
        return self.request_model is Nothing

    @property
    def reads_body(self) -> bool:
        return self.where == "body" and not self.takes_nothing

    @property
    def exclude_none(self) -> bool:
        """Whether the reply leaves null fields out."""
        return not issubclass(self.answer_model, NullsSent)

    @property
    def path_fields(self) -> frozenset[str]:
        """Names of the fields that stand in the path, as `{name}`."""
        return _in_path(self.path)

    @property
    def query_fields(self) -> frozenset[str]:
        """Names of the fields that travel in the query string."""
        marked = self.request_model.model_fields if self.where == "query" else _in_query(self.request_model)
        return frozenset(marked) - self.path_fields

    def path_of(self, request: BaseModel) -> str:
        """The path of a request, with the fields that stand in it."""
        said = {name: quote(str(getattr(request, name)), safe="") for name in self.path_fields}
        return self.path.format_map(said)

    def query_of(self, request: BaseModel) -> dict[str, Any]:
        """The query parameters of a request: only what was set, for a server has the same defaults."""
        said = request.model_dump(mode="json", include=set(self.query_fields), exclude_defaults=True, exclude_none=True)
        return {name: str(value).lower() if isinstance(value, bool) else value for name, value in said.items()}

    def body_of(self, request: BaseModel) -> Any:
        """The JSON body of a request, or None where it has none."""
        if self.where == "query" or self.takes_nothing:
            return None
        return request.model_dump(mode="json", exclude=set(self.query_fields))

    def parse(self, query: Mapping[str, str], body: Any, path: Mapping[str, str] | None = None) -> BaseModel:
        """The request that a server received. Raises pydantic's `ValidationError`.

        Query parameters that this endpoint does not have are refused where it reads the query, ignored where it
        reads the body. A body that it does not have is refused: a caller that sends one to `delete_all_…` means fewer.
        """
        if self.takes_nothing:
            return Nothing.model_validate({} if body is None else body)
        if self.where == "query":
            Nothing.model_validate({} if body is None else body)
            return self.request_model.model_validate({**query, **(path or {})})
        marked = {name: query[name] for name in self.query_fields if name in query}
        return self.request_model.model_validate({**body, **marked} if marked and isinstance(body, dict) else body)

    def dump(self, answer: BaseModel) -> bytes:
        """The reply as JSON."""
        return answer.model_dump_json(exclude_none=self.exclude_none, by_alias=True).encode()


@cache
def _in_path(path: str) -> frozenset[str]:
    return frozenset(re.findall(r"\{(\w+)\}", path))


@cache
def _in_query(shape: type[BaseModel]) -> frozenset[str]:
    marked = (name for name, field in shape.model_fields.items() if any(isinstance(m, InQuery) for m in field.metadata))
    return frozenset(marked)


class More(TypedDict, total=False):
    """What only some endpoints say of themselves; see `Endpoint`."""

    method: Method
    path: str
    shape: type[BaseModel]
    where: Where
    repeatable: bool
    status: Literal[200, 202]


class Shapes(Protocol):
    """An endpoint whose shapes are not set yet."""

    def __call__(self, request: Callable[P, BaseModel], answer: type[A], /) -> Endpoint[P, A]: ...


def post(name: str, role: Role, summary: str, **more: Unpack[More]) -> Shapes:
    """An endpoint at `/api/NAME` that reads a body."""
    return _endpoint(name, role, summary, {"method": "POST", "path": f"/api/{name}", **more})


def put(name: str, role: Role, summary: str, **more: Unpack[More]) -> Shapes:
    """An endpoint at `/api/NAME` that reads a body with the changes."""
    return _endpoint(name, role, summary, {"method": "PUT", "path": f"/api/{name}", **more})


def delete(name: str, role: Role, summary: str, **more: Unpack[More]) -> Shapes:
    """An endpoint at `/api/NAME` that reads a body with what is to be deleted."""
    return _endpoint(name, role, summary, {"method": "DELETE", "path": f"/api/{name}", **more})


def get(name: str, role: Role, summary: str, **more: Unpack[More]) -> Shapes:
    """An endpoint at `/api/NAME` that reads its query."""
    return _endpoint(name, role, summary, {"method": "GET", "path": f"/api/{name}", "where": "query", **more})


def _endpoint(name: str, role: Role, summary: str, said: More) -> Shapes:
    def shaped(request: Callable[P, BaseModel], answer: type[A], /) -> Endpoint[P, A]:
        return Endpoint(name=name, request=request, answer_model=answer, role=role, summary=summary, **said)

    return shaped
