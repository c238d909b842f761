from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET

from engine.models.rate_limits import RateLimitReached

from ..formatting import count_noun
from ..history.query import (
    MAX_COUNTED,
    MAX_NEWER,
    MAX_SORTED,
    PAGE_SIZE,
    AnyFace,
    HistoryPage,
    RunHistory,
    updates_since,
)
from ..history.rows import group_by_day
from ..procedure.spec import specs
from ..record.export import download
from ..rights import EXPORT, SEE
from .history_query import HistoryQuery, history_query
from .searches import days_label, loosened_searches, quick_count, quick_searches, saved

FILES = {"csv": "CSV, for spreadsheets", "jsonl": "JSON Lines, with all decisions"}
SORTED = {"by": ("by", "-by"), "created": ("", "created"), "took": ("-took", "took")}
"""For each sortable heading: the order of the first click, and the other one."""


@require_GET
def history(request: HttpRequest, face: AnyFace | None = None) -> HttpResponse:
    """Render the page, or only its results for htmx. A page that htmx has no longer cached is rendered whole."""
    asked = history_query(request.user, request.GET, face)
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
    """Render what changed on an open history: updated rows and the number of newer runs. 204 if nothing has."""
    asked = history_query(request.user, request.GET, face)
    known = dict(filter(None, map(_known, request.GET.getlist("row")[:PAGE_SIZE])))
    moved = updates_since(request.user, known, asked.face) if known else []
    newest, said = request.GET.get("newest"), request.GET.get("newer", "")
    newer = 0 if newest is None else _newer(asked.history, newest)
    if not moved and newer == (int(said) if said in map(str, range(MAX_NEWER + 2)) else 0):
        return HttpResponse(status=204)
    known |= {UUID(row.id): row.revision for row in moved}
    over = {UUID(row.id) for row in moved if row.over}
    context = {
        "moved": moved,
        "newer": newer,
        "most_newer": MAX_NEWER,
        "query": asked.query(),
        "form": asked.form,
        "watched": [f"{pk}.{revision}" for pk, revision in known.items() if pk not in over],
        "newest": newest,
    }
    return render(request, _templates(asked, "_changes.html"), {**context, **_around(asked)})


@require_GET
def export(request: HttpRequest, format: str, face: AnyFace | None = None) -> HttpResponseBase:
    """Export the filtered runs as a file, as far as the user may export them."""
    if format not in FILES:
        raise Http404
    asked = history_query(request.user, request.GET, face)
    if not asked.form.is_valid():
        sentences = "\n".join(str(error) for errors in asked.form.errors.values() for error in errors)
        return HttpResponse(sentences, status=400, content_type="text/plain; charset=utf-8")
    address = request.build_absolute_uri("/").rstrip("/")
    try:
        return download(asked.of(asked.form.search_terms, EXPORT), format, address, request.user, asked.face)
    except RateLimitReached as reached:
        again = {"Retry-After": str(reached.seconds)}
        return HttpResponse(str(reached), status=429, content_type="text/plain; charset=utf-8", headers=again)


def _newer(found: RunHistory, newest: str) -> int:
    try:
        return found.newer_than(UUID(newest) if newest else None)
    except ValueError:
        return 0


def _known(row: str) -> tuple[UUID, int] | None:
    """Parse a row of an open page: run and revision."""
    pk, _, revision = row.partition(".")
    try:
        return UUID(pk), int(revision[:18])
    except ValueError:
        return None


def _watching(page: HistoryPage, found: RunHistory, asked: HistoryQuery) -> dict[str, Any]:
    """Return what an open page watches: unfinished rows, and on the first page newer runs."""
    watched = [f"{row.id}.{row.revision}" for row in page.rows if not row.over]
    newest = None if page.newer else found.newest() if asked.form.search_terms.get("sort") else page.first
    return {"watched": watched, "newest": newest, "newer": 0}


def _asked_for(asked: HistoryQuery) -> dict[str, Any]:
    return {
        "form": asked.form,
        "filtered": bool(asked.filtered or asked.kinds),
        "filters": len([name for name in asked.filtered if name != "q"]),
        "days_said": days_label(asked.form.search_terms),
        "query": asked.query(),
        "view_query": asked.whole_query,
        "own_alone": EXPORT.reach(asked.user) < SEE.reach(asked.user),
    }


def _listed(asked: HistoryQuery, page: HistoryPage, number: int) -> dict[str, Any]:
    """Return the context of a result page; `number` is the number of matches."""
    return {
        "rows": page.rows,
        "groups": group_by_day(page.rows) if _by_created(asked) else [{"rows": page.rows}],
        "shown": page,
        "count": _counted(number, asked.face),
        "loosened": None if number else loosened_searches(asked),
        "order": _order(asked, number),
        "heads": {name: _head(asked, name) for name in SORTED},
        "ways": ("Newer", "Older") if not asked.form.search_terms.get("sort") else ("Previous", "Next"),
    }


# ---- order ------------------------------------------------------------------------------------------------


def _by_created(asked: HistoryQuery) -> bool:
    return asked.form.search_terms.get("sort", "") in SORTED["created"]


def _order(asked: HistoryQuery, number: int) -> str:
    if number > MAX_SORTED and not _by_created(asked):
        return f"the newest {MAX_SORTED:,} of them {asked.form.order}"
    return asked.form.order


def _head(asked: HistoryQuery, name: str) -> dict[str, str]:
    """Return the link of a heading, and how its column is sorted."""
    first, other = SORTED[name]
    now = asked.form.search_terms.get("sort", "")
    address = asked.address_of(asked.query(sort=other if now == first else first))
    rising = now in ("by", "took", "created")
    sorted_so = ("ascending" if rising else "descending") if now in SORTED[name] else ""
    return {"address": address, "sort": sorted_so}


# ---- around the list --------------------------------------------------------------------------------------


def _counted(number: int, face: AnyFace | None) -> str:
    noun, nouns = (face.noun, face.nouns) if face else ("run", "runs")
    return count_noun(number, MAX_COUNTED, noun, nouns)


def _above(asked: HistoryQuery) -> dict[str, Any]:
    """Return the context above the results, which typing in the search field does not change."""
    return {
        "presets": quick_searches(asked),
        "saved_views": saved(asked),
        "all_kinds": _kinds(asked),
    }


def _kinds(asked: HistoryQuery) -> list[dict[str, Any]]:
    """Return the procedures to select, each with the number of matches of the other filters."""
    if asked.fixed or len(specs()) < 2:
        return []
    return [
        {
            "kind": kind,
            "face": face,
            "ticked": kind in asked.kinds,
            "count": quick_count(RunHistory(asked.user, asked.form.search_terms, face=face).count()),
        }
        for kind, face in specs().items()
    ]


def _around(asked: HistoryQuery) -> dict[str, Any]:
    """Return the context that depends on the procedure, or on all of them."""
    face = asked.face
    return {
        "face": face or {"noun": "run", "nouns": "runs"},
        "list": asked.list,
        "list_changes": asked.address("history-changes"),
        "results_part": _templates(asked, "_results.html"),
        "exports": _exports(asked),
    }


def _exports(asked: HistoryQuery) -> list[dict[str, str]]:
    query = asked.query()
    return [
        {"address": f"{asked.address('export', format)}{'?' if query else ''}{query}", "words": words}
        for format, words in FILES.items()
    ]


def _templates(asked: HistoryQuery, name: str) -> list[str]:
    return [*([f"{asked.face.nouns}/{name}"] if asked.face else []), f"runs/{name}"]
