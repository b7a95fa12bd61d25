"""The docs tell the truth."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from acumen.api.legacy.routes import LEGACY_ROUTES
from acumen.settings import PREFIX, Settings
from acumen_client.calls import ENDPOINTS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r'(?:\]\(|(?:src|srcset)=")([^)"#\s]+)')


def _settings(shape: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, object, str]]:
    for name, field in shape.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _settings(inner, (*path, name))
        else:
            yield ".".join((*path, name)), field.default, field.description or ""


@pytest.mark.parametrize("name,default,reason", list(_settings(Settings)))
def test_every_setting_is_documented_with_its_default_and_its_reason(name: str, default: object, reason: str):
    variable = PREFIX + "__".join(part.upper() for part in name.split("."))

    row = f"| `{name}` | `{variable}` | `{default if default != '' else '(empty)'}` | {reason} |"

    assert row in (ROOT / "docs/reference/settings.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path):
    targets = [target for target in LINK.findall(page.read_text()) if "://" not in target]

    missing = [target for target in targets if not (page.parent / target).exists()]

    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_endpoint_named_in_a_page_exists(page: Path):
    paths = [endpoint.path for endpoint in ENDPOINTS] + [legacy.path for legacy in LEGACY_ROUTES]
    patterns = [re.sub(r"\\\{\w+\\\}", r"[^/]+", re.escape(path)) for path in paths]

    named = set(re.findall(r"/api/[\w/{}-]+", page.read_text()))

    assert [path for path in named if not any(re.fullmatch(pattern, path) for pattern in patterns)] == []


def test_every_dependency_is_named_with_its_reason():
    listed = (ROOT / "docs/decisions/dependencies.md").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    block = project.split("dependencies = [", 1)[1].split("\n]", 1)[0]

    names = re.findall(r'^\s*"([A-Za-z0-9_.-]+)', block, re.MULTILINE)

    assert names
    assert [name for name in names if f"`{name}`" not in listed] == []
