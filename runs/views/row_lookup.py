from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest

from engine.models import Run

from ..access_log import log_view
from ..procedure.spec import ProcedureSpec
from ..rights import SEE, RunRight

AnyFace = ProcedureSpec[Any, Any]


def run_for(request: HttpRequest, face: AnyFace, pk: UUID, right: RunRight = SEE) -> Run:
    """The run, to do this with it. 404 where one may not even see it, 403 where one may, but no more."""
    return _allowed(request, face, seen_or_404(face.runs(), request, pk), right)


def row_for(request: HttpRequest, face: AnyFace, pk: UUID, right: RunRight = SEE) -> Any:
    """The same, as the row of its procedure with all that a page shows, to whoever may see it: a look."""
    row = seen_or_404(face.rows(), request, pk)
    log_view(_allowed(request, face, row.run, right), request.user)
    return row


def seen_or_404(rows: QuerySet[Any], request: HttpRequest, pk: UUID) -> Any:
    """One row of these, of runs or with them, which whoever asks may see: nobody learns that others are there."""
    if (row := SEE.one(rows, request.user, pk)) is None:
        raise Http404
    return row


def _allowed(request: HttpRequest, face: AnyFace, run: Run, right: RunRight) -> Run:
    if not right.covers(request.user, run):
        raise PermissionDenied(right.refusal(face.noun))
    return run
