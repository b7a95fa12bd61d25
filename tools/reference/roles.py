"""The page of roles: the role table, as the server enforces it."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from acumen.api import server
from acumen.app import App
from acumen.auth.authenticator import KeyAuthenticator
from acumen.auth.roles import ROLE_SUMMARIES, ROUTES, RULES, Permission
from acumen.settings import Settings
from acumen.web.server import site
from acumen_client.wire.shapes import Role
from tools.reference.markdown import GENERATED, table

INTRODUCTION = """\
A key has one role, and may do all that the roles before it may. Without a key you may call the routes of `public` only
(or, while the server has no keys, everything from the same machine: [security](../operate/security.md)). A key with a
lower role gets a 403, and nothing is changed."""
RULES_INTRODUCTION = "The role depends on what the request asks for, not only on its route:"


def page() -> str:
    _make_routes()
    parts = ["# Roles", GENERATED, INTRODUCTION]
    parts.append(table(("role", "may"), [(role, what) for role, what in ROLE_SUMMARIES.items()]))
    parts += ["## What needs more than its route", RULES_INTRODUCTION]
    parts.append(table(("to", "role"), [(rule.what, rule.role) for rule in RULES]))
    for role in Role:
        parts += [f"## {role.capitalize()}", table(("route", ""), _rows(role, ROUTES.values()))]
    return "\n\n".join(parts)


def _make_routes() -> None:
    """Making the routes fills the table."""
    with tempfile.TemporaryDirectory() as folder:
        app = App(Settings(data=Path(folder)))
        keys = KeyAuthenticator(app.store, app.open_org)
        server.web_app(app, keys)
        site(app, keys)
        app.store.close()


def _rows(role: Role, permissions: Iterable[Permission]) -> list[tuple[str, str]]:
    return sorted((f"`{row.route}`", row.what) for row in permissions if row.role is role)
