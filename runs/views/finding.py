from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from engine.models import Run

from ..face import Face
from ..rights import SEE, Right

AnyFace = Face[Any, Any]


def run_for(request: HttpRequest, face: AnyFace, pk: UUID, right: Right = SEE) -> Run:
    """The run, to do this with it. 404 where one may not even see it, 403 where one may, but no more."""
    return _allowed(request, face, get_object_or_404(SEE.within(face.runs(), request.user), pk=pk), right)


def row_for(request: HttpRequest, face: AnyFace, pk: UUID, right: Right = SEE) -> Any:
    """The same, as the row of its procedure with all that a page shows."""
    row = get_object_or_404(SEE.within(face.rows(), request.user, "run__owner_id"), pk=pk)
    _allowed(request, face, row.run, right)
    return row


def _allowed(request: HttpRequest, face: AnyFace, run: Run, right: Right) -> Run:
    if not right.covers(request.user, run):
        raise PermissionDenied(right.refusal(face.noun))
    return run
