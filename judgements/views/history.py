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
from runs.rights import EXPORT, SEE

from ..export import download
from ..filters import HistoryForm
from ..history import MOST_COUNTED, MOST_NEWER, PAGE, History, Page, moved_on

FILES = ("csv", "jsonl")


@require_GET
def history(request: HttpRequest) -> HttpResponse:
    """The page, or, for htmx, its results. What htmx has forgotten of the page it asks for as a whole."""
    form = HistoryForm(request.GET)
    found = History(request.user, form.sought)
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
        "count": _counted(number),
        "page": "history",
        **_watching(page, newest_page=not page.newer),
    }
    part = request.htmx and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    response = render(request, "judgements/_history.html" if part else "judgements/history.html", context)
    if part:
        response["HX-Push-Url"] = _address(_query(form))
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


@require_GET
def changes(request: HttpRequest) -> HttpResponse:
    """What has changed on an open history: rows that moved on, how many judgements are newer. 204 if nothing has."""
    form = HistoryForm(request.GET)
    known = dict(filter(None, map(_known, request.GET.getlist("row")[:PAGE])))
    moved = moved_on(request.user, known) if known else []
    newest, said = request.GET.get("newest"), request.GET.get("newer", "")
    newer = 0 if newest is None else _newer(History(request.user, form.sought), newest)
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
    return render(request, "judgements/_changes.html", context)


@require_GET
def export(request: HttpRequest, kind: str) -> HttpResponseBase:
    """Those judgements of the same filters that one may export, as a file."""
    if kind not in FILES:
        raise Http404
    form = HistoryForm(request.GET)
    if not form.is_valid():
        sentences = "\n".join(str(error) for errors in form.errors.values() for error in errors)
        return HttpResponse(sentences, status=400, content_type="text/plain; charset=utf-8")
    address = request.build_absolute_uri("/").rstrip("/")
    try:
        return download(History(request.user, form.sought, EXPORT), kind, address, request.user)
    except LimitReached as reached:
        again = {"Retry-After": str(reached.seconds)}
        return HttpResponse(str(reached), status=429, content_type="text/plain; charset=utf-8", headers=again)


def _newer(found: History, newest: str) -> int:
    try:
        return found.newer_than(UUID(newest) if newest else None)
    except ValueError:
        return 0


def _known(row: str) -> tuple[UUID, int] | None:
    """A row of an open page: which judgement, at which revision."""
    pk, _, revision = row.partition(".")
    try:
        return UUID(pk), int(revision[:18])
    except ValueError:
        return None


def _watching(page: Page, *, newest_page: bool) -> dict[str, Any]:
    """What an open page looks after: rows that are not over, and on the newest page what comes before them."""
    watched = [f"{row.id}.{row.revision}" for row in page.rows if not row.over]
    return {"watched": watched, "newest": page.first if newest_page else None, "newer": 0}


def _counted(number: int) -> str:
    if number > MOST_COUNTED:
        return f"More than {MOST_COUNTED:,} judgements"
    return "1 judgement" if number == 1 else f"{number:,} judgements"


def _query(form: HistoryForm) -> str:
    """The filters as an address carries them, without those that are empty or wrong."""
    return urlencode({name: str(value) for name, value in form.sought.items()})


def _address(query: str) -> str:
    return f"{reverse('history')}{'?' if query else ''}{query}"
