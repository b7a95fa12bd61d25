"""Where models live: the providers by name, which of their models does what, and whose choice it was."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from msgspec import Struct

from acumen.errors import BadSettings
from acumen.model.metering.llm_call import ModelRole
from acumen.model.metering.llm_choice import LlmChoice
from acumen.settings import LlmSettings

# Any server with an OpenAI-compatible API.
ENDPOINT = "endpoint"


class Provider(Struct, frozen=True):
    """`able` is for hard tasks, `quick` for cheap and fast ones. All use OpenAI's API but Anthropic."""

    url: str
    able: str
    quick: str
    schemas: bool = True  # False: promises JSON, but not JSON of a given shape


PROVIDERS: dict[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "gpt-5.4-mini", "gpt-5-nano"),
    "anthropic": Provider("https://api.anthropic.com", "claude-sonnet-5", "claude-haiku-4-5"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "openai/gpt-5.4-mini", "openai/gpt-5-nano"),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3-flash-preview", "gemini-3-flash-preview"
    ),
    "minimax": Provider("https://api.minimax.io/v1", "MiniMax-M3", "MiniMax-M3", schemas=False),
    "deepseek": Provider("https://api.deepseek.com/v1", "deepseek-chat", "deepseek-chat", schemas=False),
    "dashscope": Provider(
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen-plus", "qwen-plus", schemas=False
    ),
    "zai": Provider("https://api.z.ai/api/paas/v4", "glm-5.2", "glm-5.2", schemas=False),
    "moonshot": Provider("https://api.moonshot.ai/v1", "moonshot-v1-8k", "moonshot-v1-8k", schemas=False),
    "xai": Provider("https://api.x.ai/v1", "grok-3-mini", "grok-3-mini"),
}
_QUICK = frozenset({ModelRole.GATE, ModelRole.REFORMULATION})


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """One place to ask, with the key to it. `azure` is the version of Azure's API, for endpoints that use it."""

    provider: str
    url: str
    key: str = field(default="", repr=False)
    azure: str = ""
    public_only: bool = False  # chosen by an organization: the server lends it no access to its own network

    @property
    def host(self) -> str:
        """Safe to show to any caller: neither key nor path."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


class Route(Struct, frozen=True):
    """Which model is used for what; an empty name is the first model that the endpoint serves."""

    endpoint: ModelEndpoint
    models: Mapping[ModelRole, str]
    request_seconds: float
    total_seconds: float
    daily_tokens: int


def route(settings: LlmSettings, org: LlmChoice) -> Route | None:
    """What the org has chosen, else what the server has; None when neither names a model."""
    theirs = _of_org(settings, org) if settings.org_models else None
    endpoint = theirs or _of_server(settings)
    if endpoint is None:
        return None
    own = {} if theirs else _own_names(settings)
    named = {role: org.models.get(role) or org.model or own.get(role) or "" for role in ModelRole}
    total = float(org.timeout_seconds or settings.total_seconds)
    return Route(
        endpoint,
        {role: _name(name, role, endpoint) for role, name in named.items()},
        min(settings.request_seconds, total),
        total,
        _daily_tokens(settings, org, own_endpoint=theirs is not None),
    )


def _daily_tokens(settings: LlmSettings, org: LlmChoice, *, own_endpoint: bool) -> int:
    """0 is no limit. What the server pays for, an org may use less of, but never more."""
    most = settings.daily_tokens
    if org.daily_tokens is None:
        return most
    if own_endpoint or not most:
        return org.daily_tokens
    return min(org.daily_tokens or most, most)


def _own_names(settings: LlmSettings) -> dict[ModelRole, str]:
    return {role: getattr(settings, f"{role}_model") or settings.model for role in ModelRole}


def _of_org(settings: LlmSettings, org: LlmChoice) -> ModelEndpoint | None:
    if not org.provider:
        return None
    url = org.url or PROVIDERS[org.provider].url
    return ModelEndpoint(org.provider, url, org.api_key, org.azure, public_only=not settings.private_org_models)


def _of_server(settings: LlmSettings) -> ModelEndpoint | None:
    check(settings)
    if settings.url:
        return ModelEndpoint(settings.provider or ENDPOINT, settings.url.rstrip("/"), settings.api_key)
    if settings.provider:
        return ModelEndpoint(settings.provider, PROVIDERS[settings.provider].url, settings.api_key)
    return None


def configured(settings: LlmSettings) -> bool:
    """Whether the server has a model of its own; an org may have one in any case."""
    return bool(settings.url or settings.provider)


def check(settings: LlmSettings) -> None:
    """A key goes nowhere until it is said where."""
    if settings.url and not _can_be_called(settings.url):
        raise BadSettings("llm.url (ACUMEN_LLM__URL) must be an address such as http://127.0.0.1:11434/v1.")
    if settings.provider and not settings.url and not settings.api_key:
        raise BadSettings(f"llm.provider is {settings.provider}: set its key too, llm.api_key (ACUMEN_LLM__API_KEY).")
    if settings.api_key and not settings.url and not settings.provider:
        raise BadSettings(
            "There is a key, llm.api_key, but not for whom: set llm.provider (ACUMEN_LLM__PROVIDER) or llm.url."
        )


def _can_be_called(url: str) -> bool:
    try:
        address = urlsplit(url)
        return address.scheme in {"http", "https"} and bool(address.hostname) and address.port != 0
    except ValueError:  # a port that cannot be
        return False


def _name(name: str, role: ModelRole, endpoint: ModelEndpoint) -> str:
    """Names are also known with their provider before them: `openai/gpt-5-nano`."""
    known = PROVIDERS.get(endpoint.provider)
    if name:
        return name if endpoint.provider == "openrouter" else name.removeprefix(f"{endpoint.provider}/")
    if known is None or endpoint.azure:
        return ""
    return known.quick if role in _QUICK else known.able
