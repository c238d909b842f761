"""Whose sessions and plans there are: on this surface everybody sees only their own."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from runs.api.answers import missing
from runs.api.refusals import Refusal, wrong_fields
from runs.api.scopes import credential

from ..models import Matter, Plan, Sent


def owner_of(request: HttpRequest) -> Any:
    return credential(request).owner


def same_user(request: HttpRequest, named: str | None) -> None:
    """Refuses a body that names another user than the token does."""
    owner = owner_of(request).get_username()
    if named and named != owner:
        raise Refusal(403, f"This token is of {owner}, and user_id names another user.")


def sessions(request: HttpRequest) -> Any:
    return Matter.objects.there().filter(owner=owner_of(request))


def session(request: HttpRequest, name: str) -> Matter:
    found = Matter.objects.called(owner_of(request), name).first()
    if found is None:
        raise missing("session")
    return found


def note(request: HttpRequest, sent: Mapping[UUID, int]) -> None:
    """That these gates of steps stand in the answer: to those the caller says yes or no from now on."""
    if sent:
        Sent.objects.note(credential(request).pk, sent)


def plans_of(request: HttpRequest, **which: Any) -> list[Plan]:
    """Newest first."""
    return list(Plan.objects.in_sessions(owner_of(request)).filter(**which))


def plan(request: HttpRequest, key: str) -> Plan:
    found = plans_of(request, pk=pk) if (pk := uuid_of(key)) else []
    if not found:
        raise missing("plan")
    return found[0]


def plan_in(request: HttpRequest, key: str, name: str) -> Plan:
    """The plan, which must be of this session."""
    found = plan(request, key)
    if found.matter is None or found.matter.name != name:
        raise wrong_fields([("session_id", "The plan is of another session.")])
    return found


def uuid_of(key: str) -> UUID | None:
    try:
        return UUID(key)
    except ValueError:
        return None
