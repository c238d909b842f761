"""What tokens are good for beside reading, and what a call of the API needs of the one that it comes with.

Why so: docs/decisions.md, The API.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

from django.contrib.auth.models import User
from django.db.models import TextChoices
from django.http import HttpRequest
from ninja.operation import Operation
from ninja.utils import contribute_operation_callback

from .refusals import Refusal

KIND = "judgement"
View = TypeVar("View", bound=Callable[..., Any])


class Scope(TextChoices):
    """The one list of them, with what people read. One that no call needs yet is not in it, so that no token made
    today can do what nobody has thought of."""

    SUBMIT = "submit", "Submit judgements, and get and use receipts"
    STEER = "steer", "Cancel and retry judgements"


USUAL = (Scope.SUBMIT, Scope.STEER)


class Credential(Protocol):
    """By what a call was let in."""

    owner: User

    def holder(self) -> User | None:
        """Whose it is, read again; None where it holds no longer."""

    def may(self, scope: str, kind: str) -> bool:
        """Whether it is good for this, with work of this kind."""


def needs(scope: Scope) -> Callable[[View], View]:
    """Stands below the line that routes a call: without this scope it is refused, and its description says so."""

    def declare(operation: Operation) -> None:
        operation.openapi_extra = {**(operation.openapi_extra or {}), "x-scope": scope}

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(request: HttpRequest, *args: Any, **more: Any) -> Any:
            credential: Credential = request.auth  # type: ignore[attr-defined]
            if not credential.may(scope, KIND):
                missing = {"WWW-Authenticate": f'Bearer realm="magi", error="insufficient_scope", scope="{scope}"'}
                raise Refusal(403, f"This token lacks the scope “{scope}”. Send one that has it.", headers=missing)
            return view(request, *args, **more)

        contribute_operation_callback(checked, declare)
        return checked  # type: ignore[return-value]

    return decorate
