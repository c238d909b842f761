"""What a mission has changed, as differences and as one patch; and all that a command said. Text alone."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from runs.face import faces
from runs.views.finding import row_for

from ..display import differences, terminal_state
from ..models.files import patch_of

SHOWN_LINES = 4_000  # of one difference


@require_GET
def changed(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = faces()["mission"]
    row = row_for(request, face, pk)
    found = [{"file": one, "lines": [_line(text) for text in lines[:SHOWN_LINES]]} for one, lines in differences(row)]
    context = {"row": row, "title": row.run.shown_title, "found": found}
    return render(request, "missions/files.html", {**face.page(pk), **context})


def _line(text: str) -> tuple[str, str]:
    """A line, and what it is: there, gone, a place, or as before."""
    kinds = {"+": "added", "-": "removed", "@": "place"}
    return text, kinds.get(text[:1], "same") if not text.startswith(("+++", "---")) else "place"


@require_GET
def patch(request: HttpRequest, pk: UUID) -> HttpResponse:
    row = row_for(request, faces()["mission"], pk)
    answer = HttpResponse(patch_of(row.files.all()), content_type="text/plain; charset=utf-8")
    answer.headers["Content-Disposition"] = f'attachment; filename="mission-{str(pk)[:8]}.patch"'
    return answer


@require_GET
def terminal(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    face = faces()["mission"]
    row = row_for(request, face, pk)
    one = next((one for one in row.terminals.all() if one.number == number), None)
    if one is None:
        raise Http404
    state, word = terminal_state(one, row.run.over)
    context = {"one": one, "state": state, "word": word, "row": row, "title": row.run.shown_title}
    return render(request, "missions/terminal.html", {**face.page(pk), **context})
