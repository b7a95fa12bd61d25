"""The generated part of the reference is what the code describes now, and describes all of it."""

import re
from pathlib import Path
from typing import Any

import pytest

from acumen.api.meanings import MEANINGS
from acumen.api.openapi import document
from acumen_client.calls import ENDPOINTS
from acumen_client.endpoint import Endpoint
from tools.reference.__main__ import FOLDER, pages
from tools.reference.endpoints import LEGACY, of_verb
from tools.reference.scenario import BY_NAME
from tools.reference.shapes import definition

NAMES = ["cli.md", "endpoints.md", "roles.md", "sdk.md"]
VERBS = ["learn", "meter", "observe", "operate", "recall", "review"]


@pytest.fixture(scope="session")
def written() -> dict[Path, str]:
    """Plays the examples, which takes some seconds."""
    return pages()


@pytest.mark.parametrize("name", [*NAMES, *(f"endpoints/{verb}.md" for verb in VERBS)])
def test_a_page_is_what_make_docs_writes(name: str, written: dict[Path, str]):
    page = FOLDER / name

    assert _without_scores(page.read_text()) == _without_scores(written[page]), "run `make docs`"


def _without_scores(page: str) -> str:
    """Vectors, and with them scores, differ a little by processor."""
    return re.sub(r"\b[01]\.\d+", "SCORE", page)


def test_no_page_is_left_over(written: dict[Path, str]):
    assert set((FOLDER / "endpoints").iterdir()) <= written.keys()


def test_every_endpoint_has_a_section_with_an_example():
    current = {endpoint.name for verb in VERBS for endpoints in of_verb(verb).values() for endpoint in endpoints}
    legacy = {endpoint.name for endpoints in of_verb(LEGACY).values() for endpoint in endpoints}

    assert current | legacy == BY_NAME.keys()
    for verb in VERBS:
        sections = (FOLDER / f"endpoints/{verb}.md").read_text().split("\n### ")[1:]
        examples = {section.partition("\n")[0]: section.count("```json") for section in sections}
        for endpoints in of_verb(verb).values():
            assert all(examples[endpoint.name] for endpoint in endpoints)


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if not e.takes_nothing], ids=lambda e: e.name)
def test_every_field_of_a_request_says_what_it_means(endpoint: Endpoint[..., Any]):
    fields = definition(endpoint.request_model.__name__)["properties"]

    assert [name for name, field in fields.items() if not field.get("description")] == []


def test_every_meaning_is_of_a_field():
    schemas = document()["components"]["schemas"]
    fields = {f"{schema['title']}.{name}" for schema in schemas.values() for name in schema.get("properties", {})}
    names = fields | {field.partition(".")[2] for field in fields}

    assert MEANINGS.keys() - names == set()
