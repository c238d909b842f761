"""API endpoints for forks: the preview and the fork."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query

from runs import forking
from runs.forking import ForkRefused, Forks, NoForkPoint, WrongForm
from runs.procedure.spec import specs

from .errors import ApiError, field_errors
from .idempotent_submit import IdempotencyHeader, submit_response
from .responses import get_run_or_refuse, json_response, reject_unknown_parameters
from .scopes import credential_of

Given = TypeVar("Given")


class ForkCalls:
    """Endpoints for runs of a procedure that can be forked."""

    def __init__(self, kind: str, forks: Forks) -> None:
        self._kind, self._forks = kind, forks

    @property
    def preview(self) -> Callable[..., HttpResponse]:
        unit = self._forks.unit
        described = Query(alias=unit, description=self._forks.body.model_fields[unit].description)

        def preview(request: HttpRequest, id: UUID, number: Annotated[int, described]) -> HttpResponse:
            """Shows what a fork would leave behind. 409 with the reason if it cannot be forked there or now."""
            reject_unknown_parameters(request, unit)
            row = get_run_or_refuse(request, id, self._kind)
            return json_response(self._taken(lambda: forking.preview(row, number)).facts)

        return preview

    @property
    def fork(self) -> Callable[..., HttpResponse]:
        body = self._forks.body

        def fork(
            request: HttpRequest,
            id: UUID,
            asked: body,  # type: ignore[valid-type]  # of this kind
            key: IdempotencyHeader = None,
        ) -> HttpResponse:
            queue = partial(self._queue, request, id, asked)
            return submit_response(request, self._kind, asked, key, queue, place=specs()[self._kind].nouns)

        fork.__doc__ = f"{self._forks.along} The origin stays as it is. 409 as for the preview."
        return fork

    def _queue(self, request: HttpRequest, pk: UUID, asked: Any, **once: str) -> Any:
        row, number = get_run_or_refuse(request, pk, self._kind), getattr(asked, self._forks.unit)
        said = {"words": asked.words or "", "spend": asked.spend}
        begin = partial(forking.fork, row, number, owner=credential_of(request).owner, limited=True, **said, **once)
        return self._taken(begin)

    def _taken(self, deed: Callable[[], Given]) -> Given:
        try:
            return deed()
        except NoForkPoint as error:
            raise field_errors([(self._forks.unit, str(error))]) from error
        except WrongForm as error:
            raise field_errors(error.problems) from error
        except ForkRefused as refused:
            raise ApiError(409, str(refused)) from refused
