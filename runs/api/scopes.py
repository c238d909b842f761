"""Scopes of tokens, and the check of an endpoint's scope.

Why so: runs/DESIGN.md, The API.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.contrib.auth.models import User
from django.db.models import TextChoices
from django.http import HttpRequest
from ninja.operation import Operation
from ninja.utils import contribute_operation_callback

from .errors import ApiError

View = TypeVar("View", bound=Callable[..., Any])


class TokenScope(TextChoices):
    """The scopes with their descriptions. Reading needs none.

    A scope is added with the first endpoint that needs it, so that existing tokens never gain rights. Each applies to
    all procedures unless the token is limited to one.
    """

    SUBMIT = "submit", "Submit runs; issue and use receipts"
    STEER = "steer", "Cancel and retry runs"
    DECIDE = "decide", "Decide at gates"
    ACCEPT = "accept", "Accept memory proposals"
    WEBHOOKS = "webhooks", "Manage webhooks"
    REVIEW = "review", "Add notes and overrides"


DEFAULT_SCOPES = (TokenScope.SUBMIT, TokenScope.STEER)  # who submits must not approve their own work


class ApiCredential(Protocol):
    """The credential of an API call."""

    pk: int
    owner: User

    def holder(self) -> User | None:
        """Return its owner, read again; None if it is no longer valid."""

    def may(self, scope: str, kind: str) -> bool:
        """Return whether it has this scope for runs of this procedure."""


def credential_of(request: HttpRequest) -> ApiCredential:
    """Return the credential with which the call was authenticated."""
    return request.auth  # type: ignore[attr-defined]  # set by the API's authentication


def requires_scope(scope: TokenScope, kind: str | Callable[..., str]) -> Callable[[View], View]:
    """Decorate an endpoint, below its route, so that it needs this scope; OpenAPI documents it.

    `kind` is the procedure, or a function that finds it from the arguments of the endpoint.
    """

    def declare(operation: Operation) -> None:
        operation.openapi_extra = {**(operation.openapi_extra or {}), "x-scope": scope}

    def decorate(view: View) -> View:
        def refuse(request: HttpRequest, *args: Any, **more: Any) -> None:
            if not credential_of(request).may(scope, kind if isinstance(kind, str) else kind(request, *args, **more)):
                missing = {"WWW-Authenticate": f'Bearer realm="magi", error="insufficient_scope", scope="{scope}"'}
                raise ApiError(403, f"This token lacks the scope “{scope}”. Send one that has it.", headers=missing)

        @wraps(view)
        def checked(*args: Any, **more: Any) -> Any:
            refuse(*args, **more)
            return view(*args, **more)

        @wraps(view)
        async def checked_later(*args: Any, **more: Any) -> Any:
            await sync_to_async(refuse)(*args, **more)
            return await view(*args, **more)

        either = checked_later if iscoroutinefunction(view) else checked
        contribute_operation_callback(either, declare)
        return either  # type: ignore[return-value]

    return decorate
