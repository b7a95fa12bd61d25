"""The role table: the least role that may call each route, and what needs more than its route."""

from msgspec import Struct

from acumen.errors import NotAllowed
from acumen_client.wire.shapes import Role

# Each role includes the ones before it.
ROLE_SUMMARIES = {
    Role.PUBLIC: "see that the server runs, read the API description, sign in",
    Role.READER: "search, list, see statistics, status and the review queue",
    Role.AGENT: "publish, finalize sessions, add memories; shared lessons (agent playbooks) only as `pending`",
    Role.REVIEWER: "edit, approve and archive; delete a single memory, turn, request or session",
    Role.ADMIN: "delete in bulk, erase a user, change the configuration or undo such a change, make and revoke keys",
}


class Permission(Struct, frozen=True):
    """One row of the table. `what` is what a caller with `role` or a higher role may do."""

    role: Role
    what: str
    route: str = ""  # method and path; empty for a rule about what a request asks for

    def require(self, role: Role) -> None:
        """Raises NotAllowed."""
        if not role.allows(self.role):
            act = "This needs" if self.route else f"To {self.what}, you need"
            raise NotAllowed(f"{act} a key with role {self.role} or higher; yours is {role}.")


# By method and path; filled where routes are made.
ROUTES: dict[str, Permission] = {}

DELETE_SEVERAL = Permission(Role.ADMIN, "delete several memories in one review action")
DELETE_MATCHES = Permission(Role.ADMIN, "delete the profiles that match a query")
UNDO_SETTINGS = Permission(Role.ADMIN, "undo a change of the review thresholds")
DECIDE_NEW_LESSON = Permission(Role.REVIEWER, "add a shared lesson that is approved or rejected already")
RULES = (DELETE_SEVERAL, DELETE_MATCHES, UNDO_SETTINGS, DECIDE_NEW_LESSON)


def permit(method: str, path: str, role: Role, what: str) -> Permission:
    """Adds a route to the table."""
    permission = Permission(role, what, f"{method} {path}")
    if ROUTES.setdefault(permission.route, permission).role is not role:
        raise ValueError(f"{permission.route} has two roles: {ROUTES[permission.route].role} and {role}")
    return permission
