"""Check whether the users of open pages are still signed in: pages stay open longer than sessions."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.utils import timezone


class SignedInPage(Protocol):
    """An open page with its user and session."""

    user_pk: Any
    password: str
    session_key: str | None


Page = TypeVar("Page", bound=SignedInPage)


def still_signed_in(pages: Sequence[Page]) -> dict[Page, Any]:
    """Return the pages whose session is still valid, each with its user as stored now."""
    users = get_user_model().objects.in_bulk({page.user_pk for page in pages if page.user_pk})
    keys = {page.session_key for page in pages if page.session_key}
    there = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    sessions = {None, *there.values_list("session_key", flat=True)}
    found = {page: users[page.user_pk] for page in pages if page.user_pk in users and page.session_key in sessions}
    return {page: user for page, user in found.items() if user.is_active and user.password == page.password}
