"""Look-up of sessions and plans. Here every token sees only what belongs to its owner."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from plans.models import Plan, Project, SentGate
from runs.api.errors import ApiError, field_errors
from runs.api.responses import not_found
from runs.api.scopes import credential_of


def session_owner(request: HttpRequest) -> Any:
    return credential_of(request).owner


def require_same_user(request: HttpRequest, named: str | None) -> None:
    """Refuse a request whose user_id is not the token's owner."""
    owner = session_owner(request).get_username()
    if named and named != owner:
        raise ApiError(403, f"This token is of {owner}, and user_id names another user.")


def sessions(request: HttpRequest) -> Any:
    return Project.objects.existing().filter(owner=session_owner(request))


def session(request: HttpRequest, name: str) -> Project:
    found = Project.objects.named(session_owner(request), name).first()
    if found is None:
        raise not_found("session")
    return found


def record_sent_gates(request: HttpRequest, sent: Mapping[UUID, int]) -> None:
    """Record that these gates are in the answer: later decisions of the token are about them."""
    if sent:
        SentGate.objects.note(credential_of(request).pk, sent)


def plans_of(request: HttpRequest, **which: Any) -> list[Plan]:
    """Return the owner's plans, newest first."""
    return list(Plan.objects.in_sessions(session_owner(request)).filter(**which))


def plan(request: HttpRequest, key: str) -> Plan:
    found = plans_of(request, pk=pk) if (pk := uuid_of(key)) else []
    if not found:
        raise not_found("plan")
    return found[0]


def plan_in(request: HttpRequest, key: str, name: str) -> Plan:
    """Return the plan; raises ApiError if it is not of this session."""
    found = plan(request, key)
    if found.matter is None or found.matter.name != name:
        raise field_errors([("session_id", "The plan is of another session.")])
    return found


def uuid_of(key: str) -> UUID | None:
    try:
        return UUID(key)
    except ValueError:
        return None
