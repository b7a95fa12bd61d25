"""The description of the API is valid, complete and served with assets of our own."""

import re

import jsonschema_rs
import schemathesis

from acumen.api.openapi import document
from acumen_client.calls import ENDPOINTS
from tests.world import Org, once


def test_the_description_is_valid_openapi():
    schema = schemathesis.openapi.from_dict(document())

    schema.validate()


def test_every_endpoint_is_described_with_its_own_shapes():
    paths = document()["paths"]

    for endpoint in ENDPOINTS:
        operation = paths[endpoint.path][endpoint.method.lower()]
        assert operation["operationId"] == endpoint.name
        assert operation["summary"] == endpoint.summary
        assert {str(endpoint.status), "401", "422", "503"} <= operation["responses"].keys()
        assert ("requestBody" in operation) == endpoint.reads_body
        assert {one["name"] for one in operation.get("parameters", ())} == endpoint.query_fields | endpoint.path_fields


def test_every_reference_leads_somewhere():
    described = document()
    references = set(re.findall(r"'\$ref': '#/components/schemas/([^']+)'", str(described)))

    assert references <= described["components"]["schemas"].keys()
    assert len(references) > 50


@once
async def test_an_answer_is_what_the_description_promises(org: Org):
    described = (await org.send("GET", "/openapi.json")).json()

    for path in ("/api/whoami", "/api/status", "/api/get_config", "/health", "/api/get_profile_statistics"):
        answer = (await org.send("GET", path)).json()
        promised = described["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        schema = {**promised, "components": described["components"]}

        assert jsonschema_rs.validator_for(schema).is_valid(answer), path


@once
async def test_the_page_of_the_docs_loads_only_what_we_serve(org: Org):
    page = (await org.send("GET", "/docs")).text
    assets = re.findall(r'(?:src|href)="([^"]+)"', page)

    assert len(assets) >= 3
    for asset in assets:
        assert asset.startswith("/"), asset
        reply = await org.send("GET", asset)
        assert reply.status_code == 200, asset
        assert len(reply.content) > 50, asset


@once
async def test_files_beside_the_assets_are_not_served(org: Org):
    for path in ("/static/../openapi.py", "/static/%2e%2e/openapi.py", "/static/swagger/../../server.py", "/static/"):
        assert (await org.http.get(path)).status_code == 404, path
