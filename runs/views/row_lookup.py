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
    """Return the run. Raises 404 if the user may not see it, and 403 if they may, but not with this right."""
    return _allowed(request, face, seen_or_404(face.runs(), request, pk), right)


def row_for(request: HttpRequest, face: AnyFace, pk: UUID, right: RunRight = SEE) -> Any:
    """Return the same as the row of its procedure with all that a page shows, and log the view."""
    row = seen_or_404(face.rows(), request, pk)
    log_view(_allowed(request, face, row.run, right), request.user)
    return row


def seen_or_404(rows: QuerySet[Any], request: HttpRequest, pk: UUID) -> Any:
    """Return a row that the user may see. 404 otherwise, so that nobody learns that it exists."""
    if (row := SEE.one(rows, request.user, pk)) is None:
        raise Http404
    return row


def _allowed(request: HttpRequest, face: AnyFace, run: Run, right: RunRight) -> Run:
    if not right.covers(request.user, run):
        raise PermissionDenied(right.refusal(face.noun))
    return run
