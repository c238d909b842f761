"""What a mission has changed: as differences, as one patch, and its workspace as an archive."""

import io
import tarfile
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from runs.face import faces
from runs.given_looks import note_look
from runs.views.finding import row_for

from .. import publishing
from ..display import differences
from ..models import FileVersion, Mission
from ..models.files import newest, patch_of
from ..pages import decides_about_branches


@require_GET
def changed(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = faces()["mission"]
    row = row_for(request, face, pk)
    context = {"row": row, "title": row.run.shown_title, "found": differences(row)}
    return render(request, "missions/files.html", {**face.page(pk), **context})


@require_GET
def patch(request: HttpRequest, pk: UUID) -> HttpResponse:
    row = row_for(request, faces()["mission"], pk)
    answer = HttpResponse(patch_of(row.files.all()), content_type="text/plain; charset=utf-8")
    return _named(answer, f"mission-{str(pk)[:8]}.patch")


@require_GET
def archive(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Of the files that are kept as text, as they are now: the record has them, whatever became of the workspace."""
    row = row_for(request, faces()["mission"], pk)
    name = f"mission-{str(pk)[:8]}"
    data = _packed(name, newest(row.files.all()).values(), row.run.created)
    return _named(HttpResponse(data, content_type="application/gzip"), f"{name}.tar.gz")


@require_GET
def beginning(request: HttpRequest, pk: UUID) -> HttpResponse:
    """All lines that the workspace held at first: they leave with each branch of it."""
    row = _row_for_decider(request, pk)
    found = FileVersion.objects.filter(mission=pk, step=None).order_by("path")
    context = {"row": row, "title": row.run.shown_title, "found": found}
    return render(request, "missions/beginning.html", {**faces()["mission"].page(pk), **context})


@require_GET
def commit(request: HttpRequest, pk: UUID, commit: str) -> HttpResponse:
    """One that somebody is asked about, all bytes of it; where it was made on another machine it is not here."""
    _row_for_decider(request, pk)
    if (data := publishing.bundled_commit(pk, commit)) is None:
        raise Http404
    return _named(HttpResponse(data, content_type=publishing.BUNDLE), f"commit-{commit[:10]}.bundle")


def _row_for_decider(request: HttpRequest, pk: UUID) -> Mission:
    """Also for who does not see the mission and decides whether a branch of it leaves."""
    face = faces()["mission"]
    if not decides_about_branches(request.user, pk):
        return row_for(request, face, pk)
    row: Mission = face.rows().get(pk=pk)
    note_look(row.run, request.user)
    return row


@require_GET
def bundle(request: HttpRequest, pk: UUID) -> HttpResponse:
    """All branches that were published of it, as git reads them; where it was published on another machine it is not
    here."""
    row_for(request, faces()["mission"], pk)
    if (data := publishing.bundled(pk)) is None:
        raise Http404
    return _named(HttpResponse(data, content_type=publishing.BUNDLE), f"mission-{str(pk)[:8]}.bundle")


def _packed(folder: str, versions: Iterable[FileVersion], at: datetime) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as packed:
        for one in versions:
            text = one.text.encode()
            found = tarfile.TarInfo(f"{folder}/{one.path}")
            found.size, found.mtime, found.mode = len(text), int(at.timestamp()), 0o644
            packed.addfile(found, io.BytesIO(text))
    return data.getvalue()


def _named(answer: HttpResponse, name: str) -> HttpResponse:
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
