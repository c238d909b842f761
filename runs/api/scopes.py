"""What tokens are good for beside reading, and what a call of the API needs of the one that it comes with.

Why so: docs/decisions.md, The API.
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
    """The one list of them, with what people read. One that no call needs yet is not in it, so that no token made
    today can do what nobody has thought of. Each is for all kinds of work, unless the token says for which."""

    SUBMIT = "submit", "Submit work, and get and use receipts"
    STEER = "steer", "Cancel and retry work"
    DECIDE = "decide", "Decide what waits for you"
    ACCEPT = "accept", "Accept what agents want to remember"
    TELL = "tell", "Have others told of what happens"
    REVIEW = "review", "Add notes, and decide otherwise"


DEFAULT_SCOPES = (TokenScope.SUBMIT, TokenScope.STEER)  # what submits must not approve itself


class ApiCredential(Protocol):
    """By what a call was let in."""

    pk: int
    owner: User

    def holder(self) -> User | None:
        """Whose it is, read again; None where it holds no longer."""

    def may(self, scope: str, kind: str) -> bool:
        """Whether it is good for this, with work of this kind."""


def credential_of(request: HttpRequest) -> ApiCredential:
    """What the site let the call in by."""
    return request.auth  # type: ignore[attr-defined]  # set by the API for whoever it lets in


def requires_scope(scope: TokenScope, kind: str | Callable[..., str]) -> Callable[[View], View]:
    """Stands below the line that routes a call: without this scope it is refused, and its description says so.

    `kind`: for which kind of work, a name of a procedure, or what finds it from all that the call is given.
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
