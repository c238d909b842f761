from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET

from engine.models.pace import LimitReached

from ..export import download
from ..face import Face
from ..filters import HistoryForm
from ..history import MOST_COUNTED, MOST_NEWER, PAGE, AnyFace, History, Page, moved_on
from ..rights import EXPORT, SEE
from ..words import counted

FILES = ("csv", "jsonl")


@require_GET
def history(request: HttpRequest, face: AnyFace | None = None) -> HttpResponse:
    """The page, or, for htmx, its results. What htmx has forgotten of the page it asks for as a whole."""
    form = _form(request, face)
    found = History(request.user, form.sought, face=face)
    page, lost = found.page_asked(request.GET)
    number = found.count()
    context = {
        "form": form,
        "filtered": bool(form.sought),
        "query": _query(form),
        "rows": page.rows,
        "shown": page,
        "lost": lost,
        "own_alone": EXPORT.reach(request.user) < SEE.reach(request.user),
        "count": _counted(number, face),
        "page": "history",
        **_around(face),
        **_watching(page, newest_page=not page.newer),
    }
    part = request.htmx and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    response = render(request, _templates(face, "_history.html" if part else "history.html"), context)
    if part:
        response["HX-Push-Url"] = _address(face, _query(form))
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


@require_GET
def changes(request: HttpRequest, face: AnyFace | None = None) -> HttpResponse:
    """What has changed on an open history: rows that moved on, how many runs are newer. 204 if nothing has."""
    form = _form(request, face)
    known = dict(filter(None, map(_known, request.GET.getlist("row")[:PAGE])))
    moved = moved_on(request.user, known, face) if known else []
    newest, said = request.GET.get("newest"), request.GET.get("newer", "")
    newer = 0 if newest is None else _newer(History(request.user, form.sought, face=face), newest)
    if not moved and newer == (int(said) if said in map(str, range(MOST_NEWER + 2)) else 0):
        return HttpResponse(status=204)
    known |= {UUID(row.id): row.revision for row in moved}
    over = {UUID(row.id) for row in moved if row.over}
    context = {
        "moved": moved,
        "newer": newer,
        "most_newer": MOST_NEWER,
        "query": _query(form),
        "form": form,
        "watched": [f"{pk}.{revision}" for pk, revision in known.items() if pk not in over],
        "newest": newest,
    }
    return render(request, _templates(face, "_changes.html"), {**context, **_around(face)})


@require_GET
def export(request: HttpRequest, format: str, face: AnyFace) -> HttpResponseBase:
    """Those runs of the same filters that one may export, as a file."""
    if format not in FILES:
        raise Http404
    form = face.form(request.GET)
    if not form.is_valid():
        sentences = "\n".join(str(error) for errors in form.errors.values() for error in errors)
        return HttpResponse(sentences, status=400, content_type="text/plain; charset=utf-8")
    address = request.build_absolute_uri("/").rstrip("/")
    try:
        found = History(request.user, form.sought, EXPORT, face)
        return download(found, format, address, request.user, face)
    except LimitReached as reached:
        again = {"Retry-After": str(reached.seconds)}
        return HttpResponse(str(reached), status=429, content_type="text/plain; charset=utf-8", headers=again)


def _newer(found: History, newest: str) -> int:
    try:
        return found.newer_than(UUID(newest) if newest else None)
    except ValueError:
        return 0


def _known(row: str) -> tuple[UUID, int] | None:
    """A row of an open page: which run, at which revision."""
    pk, _, revision = row.partition(".")
    try:
        return UUID(pk), int(revision[:18])
    except ValueError:
        return None


def _watching(page: Page, *, newest_page: bool) -> dict[str, Any]:
    """What an open page looks after: rows that are not over, and on the newest page what comes before them."""
    watched = [f"{row.id}.{row.revision}" for row in page.rows if not row.over]
    return {"watched": watched, "newest": page.first if newest_page else None, "newer": 0}


def _counted(number: int, face: AnyFace | None) -> str:
    noun, nouns = (face.noun, face.nouns) if face else ("run", "runs")
    return counted(number, MOST_COUNTED, noun, nouns)


def _query(form: HistoryForm) -> str:
    """The filters as an address carries them, without those that are empty or wrong."""
    return urlencode({name: str(value) for name, value in form.sought.items()})


def _address(face: AnyFace | None, query: str) -> str:
    return f"{_list(face)}{'?' if query else ''}{query}"


def _list(face: AnyFace | None, page: str = "history") -> str:
    return reverse(face.page_name(page) if face else f"runs-{page}")


def _around(face: AnyFace | None) -> dict[str, Any]:
    """What the templates need to know of the kind, or of all."""
    nouns = {"noun": face.noun, "nouns": face.nouns} if face else {"noun": "run", "nouns": "runs"}
    return {
        "face": face or nouns,
        "list": _list(face),
        "list_changes": _list(face, "history-changes"),
        "results_part": _templates(face, "_results.html"),
    }


def _templates(face: AnyFace | None, name: str) -> list[str]:
    return [*([f"{face.nouns}/{name}"] if face else []), f"runs/{name}"]


def _form(request: HttpRequest, face: AnyFace | None) -> HistoryForm:
    return face.form(request.GET) if face else HistoryForm(request.GET, tuple(Face.standings))
