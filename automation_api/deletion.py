"""Deletion of all sessions of the token's owner."""

from django.http import HttpRequest

from automation_api.sessions import session_owner
from plans import projects
from runs.api.errors import ApiError, field_errors
from runs.rights import REDACT, PermissionReach


def delete_sessions(request: HttpRequest, confirm: str) -> str:
    owner = session_owner(request)
    if confirm != owner.get_username():
        raise field_errors([("confirm", f"It cannot be undone. To go on, write confirm={owner.get_username()}.")])
    if REDACT.reach(owner) == PermissionReach.NOTHING:
        raise ApiError(403, REDACT.refusal("plan"))
    deleted, left = projects.delete_projects_of(owner)
    plans = f"{deleted} plan{'' if deleted == 1 else 's'} deleted"
    return f"{plans}, {left} still ending" if left else plans
