"""All that the live page has no room for: every message, every command, all that a command said."""

import json
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from engine.models import TITLE_LENGTH
from engine.models.budgets import BudgetUsedUp
from engine.models.pace import LimitReached
from runs.face import faces
from runs.family import note_about
from runs.forms import as_number
from runs.rights import STEER
from runs.views.finding import row_for

from ..display import FileShown, files_changed
from ..display.crew import messages as all_messages
from ..display.terminals import terminal as shown
from ..display.terminals import terminals as all_terminals
from ..display.terminals import whole_of
from ..models import Mission
from ..models.files import patch_of
from .steering import KEYS

LINES_OF_A_PAGE = 1_000
ROOM_FOR_WAY = 300  # characters that say what of a difference is left out, and where it is


@require_GET
def messages(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = faces()["mission"]
    row = row_for(request, face, pk)
    found = list(all_messages(row, len(row.talk)))
    context = {"title": row.run.shown_title, "messages": found}
    return render(request, "missions/messages.html", {**face.page(pk), **context})


@require_GET
def terminals(request: HttpRequest, pk: UUID) -> HttpResponse:
    face = faces()["mission"]
    row = row_for(request, face, pk)
    seen = face.seen(row)
    context = {"title": row.run.shown_title, "found": list(all_terminals(seen, len(row.terminals.all()))), "pk": pk}
    return render(request, "missions/terminals.html", {**face.page(pk), **context})


@require_GET
def terminal(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """What it said, a thousand lines at a time; the newest page first. For a live page, the field to answer alone."""
    face = faces()["mission"]
    row = row_for(request, face, pk)
    one = next((one for one in row.terminals.all() if one.number == number), None)
    if one is None:
        raise Http404
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "missions/_typing.html", {"pk": pk, "number": number, "here": True, "keys": KEYS})
    lines = whole_of(one)
    pages = max(1, -(-len(lines) // LINES_OF_A_PAGE))
    page = min(max(as_number(request.GET.get("page", "")) or pages, 1), pages)
    begin = (page - 1) * LINES_OF_A_PAGE
    seen_one = shown(face.seen(row), one)
    context = {
        "one": seen_one,
        "row": row,
        "pk": pk,
        "number": number,
        "may_type": seen_one.may_type and STEER.covers(request.user, row.run),
        "keys": KEYS,
        "title": row.run.shown_title,
        "lines": lines[begin : begin + LINES_OF_A_PAGE],
        "before": page - 1,
        "after": page + 1 if page < pages else 0,
        "from_line": begin + 1,
        "to_line": min(begin + LINES_OF_A_PAGE, len(lines)),
        "of_lines": len(lines),
    }
    return render(request, "missions/terminal.html", {**face.page(pk), **context})


@require_http_methods(["GET", "POST"])
def judge(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Goal, result and difference are judged, by the council that is first offered. Asked without being told to begin,
    or where nothing could, they go to the page on which somebody chooses who judges."""
    face, judging = faces()["mission"], faces()[settings.JUDGES]
    row = row_for(request, face, pk)
    if not row.run.over or row.run.redacted:
        raise Http404
    title, refused, status = row.run.shown_title, "", 200
    text = _case(row, request.build_absolute_uri("/").rstrip("/"), judging.longest_text)
    if request.method == "POST":
        try:
            if begun := judging.of_text(request.user, text, f"Does it meet the goal? {title}"[:TITLE_LENGTH]):
                note_about(begun, pk)
                return redirect(judging.page_name("live"), begun)
        except (BudgetUsedUp, LimitReached) as error:
            refused, status = str(error), 402 if isinstance(error, BudgetUsedUp) else 429
    context = {"judging": judging, "title": title, "text": text, "refused": refused}
    return render(request, "missions/judge.html", {**face.page(pk), **context}, status=status)


def _case(row: Mission, site: str, longest: int) -> str:
    """What is judged, in at most so many characters where that can be: what of the difference has no room is counted,
    and each file is named with its size and digest."""
    check = getattr(row, "final_check", None)
    came = f"It ended with {check.exit_code}." if check and check.exit_code is not None else "It could not be run."
    files = "\n".join(map(_named, files_changed(row)))
    parts = (
        "Does the result meet the goal?",
        f"Goal:\n{row.goal}",
        f"Result:\n{row.result or 'None.'}",
        f"Check: {check.command}\n{came}" if check else "No check was wanted.",
        f"Mission: {site}{faces()['mission'].address('live', row.pk)}",
        f"Files that were changed:\n{files}" if files else "No file was changed.",
    )
    text, patch = "\n\n".join(parts), patch_of(row.files.all())
    if not patch:
        return text
    way = f"{site}{reverse('mission-patch', args=[row.pk])}"
    return f"{text}\n\nDifference of these files:\n{_fitting(patch, longest - len(text) - ROOM_FOR_WAY, way)}"


def _named(file: FileShown) -> str:
    digest = f", sha256 {file.digest}" if file.digest else ""
    lines = "" if file.has_lines else ", no text or too long: its lines are not in the difference"
    return f"{file.word}: {json.dumps(file.path, ensure_ascii=False)}, {file.size:,} bytes{digest}{lines}"


def _fitting(patch: str, room: int, way: str) -> str:
    if len(patch) <= room:
        return patch
    kept = patch[: patch.rfind("\n", 0, max(room, 0)) + 1]
    more = len(patch[len(kept) :].splitlines())
    return f"{kept}… {more:,} more lines of it are not in this text. All lines: {way}"
