"""The API for programs that were written for another planner, with the paths and field names of that planner.

Why so: runs/DESIGN.md, The API.
"""

from collections.abc import Iterator

from django.http import HttpRequest

from runs.api.errors import ApiError

from .api import OPENAPI_SERVER, BearerAuth, MagiApi
from .models import Token

DESCRIPTION = (
    "A planner makes steps of a task, people say yes or no to each, and agents carry them out. These are the calls of "
    "programs that were written for another planner; what is new is written for /api/v1."
)
EXAMPLE = f"""curl {OPENAPI_SERVER}/api/automation/input_task \\
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{{"session_id": "onboarding", "description": "Look for Ada Lovelace among the people."}}'"""
USER_PRINCIPAL_ID = b"user_principal_id"
USER_HEADERS = (USER_PRINCIPAL_ID, b"user-principal-id", b"x-ms-client-principal-id")


class UserPrincipalAuth(BearerAuth):
    """Authenticates by token. A header that names a user must name the owner of the token, otherwise 403."""

    def authenticate(self, request: HttpRequest, token: str) -> Token | None:
        found = super().authenticate(request, token)
        if found and set(_named(request)) - {found.owner.get_username()}:
            raise ApiError(403, f"This token is of {found.owner.get_username()}, and a header names another user.")
        return found


def _named(request: HttpRequest) -> Iterator[str]:
    """The users that headers name. Read from the ASGI scope: Django drops headers with an underscore."""
    for name, value in getattr(request, "scope", {}).get("headers", ()):
        if name.lower() in USER_HEADERS and value:
            yield value.decode(errors="replace")


api = MagiApi(
    title="MAGI, for programs of another planner",
    description=DESCRIPTION,
    urls_namespace="automation",
    auth=UserPrincipalAuth(),
    example=EXAMPLE,
)
api.add_router("", "automation_api.endpoints.router")
