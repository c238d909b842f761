from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET

from engine.models.pace import LimitReached

from ..export import download
from ..face import faces
from ..history import MOST_COUNTED, MOST_NEWER, MOST_SORTED, PAGE, AnyFace, History, Page, moved_on
from ..listing import by_days
from ..rights import EXPORT, SEE
from ..words import counted
from .asked import Asked, asked_of
from .quick import loosened, presets, said_days, saved, shown

FILES = {"csv": "CSV, for spreadsheets", "jsonl": "JSON Lines, with all decisions"}
SORTED = {"by": ("by", "-by"), "created": ("", "created"), "took": ("-took", "took")}
"""Of each head that sorts: the order that it is asked for first, and the other one."""


@require_GET
def history(request: HttpRequest, face: AnyFace | None = None) -> HttpResponse:
    """The page, or, for htmx, its results. What htmx has forgotten of the page it asks for as a whole."""
    asked = asked_of(request.user, request.GET, face)
    found = asked.history
    page, lost = found.page_asked(request.GET)
    part = request.htmx and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    context = {
        "bare": not (page.found or asked.filtered or asked.kinds or asked.form.errors or lost or page.newer),
        "lost": lost,
        "page": "history",
        **_asked_for(asked),
        **_listed(asked, page, found.count()),
        **_around(asked),
        **_watching(page, found, asked),
        **({} if part else _above(asked)),
    }
    response = render(request, _templates(asked, "_history.html" if part else "history.html"), context)
    if part:
        response["HX-Push-Url"] = asked.address_of(asked.query())
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


@require_GET
def changes(request: HttpRequest, face: AnyFace | None = None) -> HttpResponse:
    """What has changed on an open history: rows that moved on, how many runs are newer. 204 if nothing has."""
    asked = asked_of(request.user, request.GET, face)
    known = dict(filter(None, map(_known, request.GET.getlist("row")[:PAGE])))
    moved = moved_on(request.user, known, asked.face) if known else []
    newest, said = request.GET.get("newest"), request.GET.get("newer", "")
    newer = 0 if newest is None else _newer(asked.history, newest)
    if not moved and newer == (int(said) if said in map(str, range(MOST_NEWER + 2)) else 0):
        return HttpResponse(status=204)
    known |= {UUID(row.id): row.revision for row in moved}
    over = {UUID(row.id) for row in moved if row.over}
    context = {
        "moved": moved,
        "newer": newer,
        "most_newer": MOST_NEWER,
        "query": asked.query(),
        "form": asked.form,
        "watched": [f"{pk}.{revision}" for pk, revision in known.items() if pk not in over],
        "newest": newest,
    }
    return render(request, _templates(asked, "_changes.html"), {**context, **_around(asked)})


@require_GET
def export(request: HttpRequest, format: str, face: AnyFace | None = None) -> HttpResponseBase:
    """Those runs of the same filters that one may export, as a file."""
    if format not in FILES:
        raise Http404
    asked = asked_of(request.user, request.GET, face)
    if not asked.form.is_valid():
        sentences = "\n".join(str(error) for errors in asked.form.errors.values() for error in errors)
        return HttpResponse(sentences, status=400, content_type="text/plain; charset=utf-8")
    address = request.build_absolute_uri("/").rstrip("/")
    try:
        return download(asked.of(asked.form.sought, EXPORT), format, address, request.user, asked.face)
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


def _watching(page: Page, found: History, asked: Asked) -> dict[str, Any]:
    """What an open page looks after: rows that are not over, and on the first page what is newer than all of them."""
    watched = [f"{row.id}.{row.revision}" for row in page.rows if not row.over]
    newest = None if page.newer else found.newest() if asked.form.sought.get("sort") else page.first
    return {"watched": watched, "newest": newest, "newer": 0}


def _asked_for(asked: Asked) -> dict[str, Any]:
    return {
        "form": asked.form,
        "filtered": bool(asked.filtered or asked.kinds),
        "filters": len([name for name in asked.filtered if name != "q"]),
        "days_said": said_days(asked.form.sought),
        "query": asked.query(),
        "view_query": asked.whole_query,
        "own_alone": EXPORT.reach(asked.user) < SEE.reach(asked.user),
    }


def _listed(asked: Asked, page: Page, number: int) -> dict[str, Any]:
    """What a page of the list shows of the `number` that there are."""
    return {
        "rows": page.rows,
        "groups": by_days(page.rows) if _by_created(asked) else [{"rows": page.rows}],
        "shown": page,
        "count": _counted(number, asked.face),
        "loosened": None if number else loosened(asked),
        "order": _order(asked, number),
        "heads": {name: _head(asked, name) for name in SORTED},
        "ways": ("Newer", "Older") if not asked.form.sought.get("sort") else ("Previous", "Next"),
    }


# ---- in which order ---------------------------------------------------------------------------------------


def _by_created(asked: Asked) -> bool:
    return asked.form.sought.get("sort", "") in SORTED["created"]


def _order(asked: Asked, number: int) -> str:
    if number > MOST_SORTED and not _by_created(asked):
        return f"the newest {MOST_SORTED:,} of them {asked.form.order}"
    return asked.form.order


def _head(asked: Asked, name: str) -> dict[str, str]:
    """Where a head leads, and how what stands under it is sorted."""
    first, other = SORTED[name]
    now = asked.form.sought.get("sort", "")
    address = asked.address_of(asked.query(sort=other if now == first else first))
    rising = now in ("by", "took", "created")
    sorted_so = ("ascending" if rising else "descending") if now in SORTED[name] else ""
    return {"address": address, "sort": sorted_so}


# ---- what stands around the list --------------------------------------------------------------------------


def _counted(number: int, face: AnyFace | None) -> str:
    noun, nouns = (face.noun, face.nouns) if face else ("run", "runs")
    return counted(number, MOST_COUNTED, noun, nouns)


def _above(asked: Asked) -> dict[str, Any]:
    """What stands above the results, and needs no look while words are typed."""
    return {
        "presets": presets(asked),
        "saved_views": saved(asked),
        "all_kinds": _kinds(asked),
    }


def _kinds(asked: Asked) -> list[dict[str, Any]]:
    """To be ticked, each with how many of it the other filters leave."""
    if asked.fixed or len(faces()) < 2:
        return []
    return [
        {
            "kind": kind,
            "face": face,
            "ticked": kind in asked.kinds,
            "count": shown(History(asked.user, asked.form.sought, face=face).count()),
        }
        for kind, face in faces().items()
    ]


def _around(asked: Asked) -> dict[str, Any]:
    """What the templates need to know of the kind, or of all."""
    face = asked.face
    return {
        "face": face or {"noun": "run", "nouns": "runs"},
        "list": asked.list,
        "list_changes": asked.address("history-changes"),
        "results_part": _templates(asked, "_results.html"),
        "exports": _exports(asked),
    }


def _exports(asked: Asked) -> list[dict[str, str]]:
    query = asked.query()
    return [
        {"address": f"{asked.address('export', format)}{'?' if query else ''}{query}", "words": words}
        for format, words in FILES.items()
    ]


def _templates(asked: Asked, name: str) -> list[str]:
    return [*([f"{asked.face.nouns}/{name}"] if asked.face else []), f"runs/{name}"]
