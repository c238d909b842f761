"""The pages of the library, for all procedures."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from ..library import tools as tool_shelf
from ..library.overview import MOST, LibraryGroup, LibraryQuery, library_groups, library_sections
from ..procedure.filters import QUERY_LENGTH

MINE = "mine"
CLASS = "engine.class_tool"


@require_GET
def library(request: HttpRequest, only: str = "") -> HttpResponse:
    """Show all sections, or only the one with the name `only`."""
    asked = LibraryQuery(request.GET.get("q", "")[:QUERY_LENGTH], request.GET.get("owner") == MINE)
    found = library_groups(request.user, asked, only)
    found_tabs = tabs()
    context = {
        "asked": asked,
        # an empty section is shown only without a search
        "groups": [group for group in found if group.rows or not asked],
        "archived": [row for group in found for row in group.archived],
        "tabs": found_tabs,
        "alone": None if found_tabs else found[0],
        "count": "" if found_tabs else _counted(found[0], asked),
        "list": request.path,
        "most": MOST,
        "page": "library",
    }
    return render(request, "runs/library.html", context)


@require_GET
def tools(request: HttpRequest) -> HttpResponse:
    """Show every tool that agents may be given."""
    sought = request.GET.get("q", "")[:QUERY_LENGTH]
    context = {
        "sources": tool_shelf.tool_sources(request.user, sought),
        "sought": sought,
        "may_class": request.user.has_perm(CLASS),
        "tabs": tabs(),
        "list": request.path,
        "page": "library",
    }
    return render(request, "runs/tools.html", context)


def tabs() -> Sequence[dict[str, Any]]:
    """Return the tabs with the number of items in each section; none if there is only one section."""
    each: list[dict[str, Any]] = [
        {"address": shelf.address, "word": shelf.name.capitalize(), "number": shelf.count()}
        for _, shelf in library_sections()
    ]
    if len(each) == 1:
        return ()
    everything = {"address": reverse("library"), "word": "All", "number": sum(tab["number"] for tab in each)}
    return [everything, *each, {"address": reverse("tools"), "word": "Tools", "number": tool_shelf.tool_count()}]


def _counted(group: LibraryGroup, asked: LibraryQuery) -> str:
    number = f"{group.found:,} of {group.kept:,}" if asked else f"{group.kept:,}"
    return f"{number} {group.shelf.noun if group.kept == 1 else group.shelf.name}"
