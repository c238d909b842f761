"""Forks by the API: what one would leave behind, and another run that goes on from there."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from runs import forking
from runs.face import faces
from runs.forking import ForkRefused, NoForkPoint, WrongForm

from .answers import found, json_answer, take_only
from .refusals import Refusal, wrong_fields
from .scopes import credential
from .submitting import submitted

Given = TypeVar("Given")


def previewed(request: HttpRequest, pk: UUID, kind: str, number: int) -> HttpResponse:
    unit = forking.forks_of(faces()[kind]).unit
    take_only(request, unit)
    row = found(request, pk, kind)
    return json_answer(_taken(unit, lambda: forking.preview(row, number)).facts)


def forked(request: HttpRequest, pk: UUID, kind: str, number: int, asked: Any, key: str | None) -> HttpResponse:
    """The answer to a submission: the run that goes on from there. `asked`: has words and spend besides."""
    queue = partial(_fork, request, pk, kind, number, asked)
    return submitted(request, kind, asked, key, queue, place=faces()[kind].nouns)


def _fork(request: HttpRequest, pk: UUID, kind: str, number: int, asked: Any, **once: str) -> Any:
    face, row = faces()[kind], found(request, pk, kind)
    said = {"words": asked.words or "", "spend": asked.spend}
    begin = partial(forking.fork, row, number, owner=credential(request).owner, limited=True, **said, **once)
    return _taken(forking.forks_of(face).unit, begin)


def _taken(unit: str, deed: Callable[[], Given]) -> Given:
    try:
        return deed()
    except NoForkPoint as error:
        raise wrong_fields([(unit, str(error))]) from error
    except WrongForm as error:
        raise wrong_fields(error.problems) from error
    except ForkRefused as refused:
        raise Refusal(409, str(refused)) from refused
