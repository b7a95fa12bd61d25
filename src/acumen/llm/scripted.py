"""A model with scripted answers, behind the same gateway as a real one. For tests."""

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from pydantic import BaseModel

from acumen.llm.providers import ModelEndpoint
from acumen.llm.tokens import count_tokens
from acumen.model.metering.llm_call import ModelRole

# A value to answer with (a dict, a model, or text as it is), an error to raise, or a function of what was shown.
Line = dict[str, Any] | BaseModel | str | Exception
Said = Line | Callable[[str], Line]

NAME = "scripted"


class ScriptedCall(Struct, frozen=True):
    role: ModelRole
    instructions: str
    shown: str


class Script:
    """What to answer, role by role. The last line of a role is said again and again.

    >>> script = Script().says(Role.GATE, {"worth_reading": True})
    >>> gateway = Gateway(settings.llm, connect=script.connect)  # settings with any llm.url
    """

    def __init__(self) -> None:
        self.asked: list[ScriptedCall] = []
        self._lines: defaultdict[ModelRole, list[Said]] = defaultdict(list)

    def says(self, role: ModelRole, *lines: Said) -> "Script":
        self._lines[role] += lines
        return self

    def asked_for(self, role: ModelRole) -> list[ScriptedCall]:
        return [one for one in self.asked if one.role is role]

    def connect(self, _endpoint: ModelEndpoint, _name: str, role: ModelRole) -> Any:
        """In place of `talk.connect`."""
        from pydantic_ai.models.function import FunctionModel  # noqa: PLC0415 - as in gateway: loaded when needed

        from acumen.llm.model_client import ModelConnection as Way  # noqa: PLC0415

        def answer(messages: list[Any], info: Any) -> Any:
            return self._answer(role, messages, info)

        return Way(FunctionModel(answer, model_name=NAME))

    def _answer(self, role: ModelRole, messages: list[Any], info: Any) -> Any:
        from pydantic_ai.messages import ModelResponse, TextPart  # noqa: PLC0415
        from pydantic_ai.usage import RequestUsage  # noqa: PLC0415

        shown = "\n".join(str(part.content) for part in messages[0].parts if hasattr(part, "content"))
        asked = ScriptedCall(role, info.instructions or "", shown)
        self.asked.append(asked)
        text = _text(self._next(role), shown)
        read = count_tokens(f"{asked.instructions}\n{shown}")
        used = RequestUsage(input_tokens=read, output_tokens=count_tokens(text))
        return ModelResponse(parts=[TextPart(text)], usage=used)

    def _next(self, role: ModelRole) -> Said:
        lines = self._lines[role]
        if not lines:
            raise AssertionError(f"The script has no line for {role}.")
        return lines.pop(0) if len(lines) > 1 else lines[0]


def _text(said: Said, shown: str) -> str:
    line = said(shown) if callable(said) else said
    if isinstance(line, Exception):
        raise line
    if isinstance(line, BaseModel):
        return line.model_dump_json()
    return line if isinstance(line, str) else json.dumps(line)
