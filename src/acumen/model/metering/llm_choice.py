"""Which language model an org wants to be read by, and what it may spend."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from acumen.model.metering.llm_call import ModelRole


@dataclass(frozen=True, slots=True)
class LlmChoice:
    """What is empty is left to the server."""

    provider: str = ""
    url: str = ""
    api_key: str = field(default="", repr=False)
    azure: str = ""  # version of Azure's API, where the model lives there
    model: str = ""
    models: Mapping[ModelRole, str] = field(default_factory=dict)
    timeout_seconds: int | None = None
    daily_tokens: int | None = None


def from_stored(config: Mapping[str, Any]) -> LlmChoice:
    """The first provider that the org has given a key for, and the names of models that it wants."""
    names = config.get("llm_config") or {}
    quick = names.get("should_run_model_name")
    roles = {ModelRole.GATE: quick, ModelRole.REFORMULATION: names.get("pre_retrieval_model_name") or quick}
    choice = _provider(config.get("api_key_config") or {})
    return replace(
        choice,
        model=names.get("generation_model_name") or choice.model,
        models={role: name for role, name in roles.items() if name},
        timeout_seconds=names.get("generation_timeout_seconds"),
        daily_tokens=names.get("daily_token_budget"),
    )


# In the order in which they are tried.
_PROVIDERS = "openai anthropic openrouter gemini minimax deepseek dashscope zai moonshot xai".split()


def _provider(keys: Mapping[str, Any]) -> LlmChoice:
    """A custom endpoint goes before all."""
    custom = keys.get("custom_endpoint")
    if custom:
        return LlmChoice("endpoint", custom["api_base"].rstrip("/"), custom["api_key"], model=custom["model"])
    for name in _PROVIDERS:
        entry = keys.get(name)
        if entry:
            azure = entry.get("azure_config")
            return _azure(azure) if azure else LlmChoice(name, entry.get("api_base") or "", entry["api_key"])
    return LlmChoice()


def _azure(entry: Mapping[str, Any]) -> LlmChoice:
    model = entry.get("deployment_name") or ""
    return LlmChoice("openai", entry["endpoint"], entry["api_key"], entry["api_version"], model)
