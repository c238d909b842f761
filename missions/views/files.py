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
from ..display.ending import branches
from ..models import FileVersion, Mission
from ..models.files import newest
from ..pages import decides_about_branches
from ..pull_requests import described, patch_for

MAILED = ".patch"


@require_GET
def changed(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = faces()["mission"]
    row = row_for(request, face, pk)
    end = publishing.ended_with(pk) or publishing.newest_made(pk)
    context = {
        "row": row,
        "title": row.run.shown_title,
        "found": differences(row),
        "branching": publishing.branching(pk, end) if end else None,
        "without": row.begun_with.without if row.begun_with else [],
    }
    return render(request, "missions/files.html", {**face.page(pk), **context})


@require_GET
def patch(request: HttpRequest, pk: UUID) -> HttpResponse:
    row = row_for(request, faces()["mission"], pk)
    answer = HttpResponse(patch_for(row), content_type="text/plain; charset=utf-8")
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
    context = {"row": row, "title": row.run.shown_title, "found": found, "repository": row.begun_with}
    return render(request, "missions/beginning.html", {**faces()["mission"].page(pk), **context})


@require_GET
def commit(request: HttpRequest, pk: UUID, commit: str) -> HttpResponse:
    """One that somebody is asked about, all bytes of it; where it was made on another machine it is not here. With
    .patch behind it: up to this one, as git am takes them."""
    _row_for_decider(request, pk)
    if commit.endswith(MAILED):
        if (mailed := publishing.mailed(pk, commit.removesuffix(MAILED))) is None:
            raise Http404
        return _named(HttpResponse(mailed, content_type="text/plain; charset=utf-8"), f"{commit[:10]}{MAILED}")
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
def pull_request(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What is written where a branch of it is proposed; of the branch that the address names, or the newest."""
    row = row_for(request, faces()["mission"], pk)
    found = [one for one in branches(row) if one.name == request.GET.get("branch", one.name)]
    if not found:
        raise Http404
    one = found[-1]
    commits = [f"{name[:12]} {said}" for name, said in (*one.merged, *one.commits)]
    text = described(row, one.message or row.run.shown_title, commits)
    return _named(HttpResponse(text, content_type="text/markdown; charset=utf-8"), f"mission-{str(pk)[:8]}.md")


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
