"""All that the live page has no room for: every message, every command, all that a command said."""

from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from engine.models import TITLE_LENGTH
from engine.models.budgets import BudgetUsedUp
from engine.models.pace import LimitReached
from runs.face import faces
from runs.family import note_about
from runs.forms import as_number
from runs.rights import STEER
from runs.views.finding import row_for

from ..display.crew import messages as all_messages
from ..display.terminals import terminal as shown
from ..display.terminals import terminals as all_terminals
from ..display.terminals import whole_of
from ..models import Mission
from ..models.files import patch_of

LINES_OF_A_PAGE = 1_000
LONGEST_PATCH = 12_000  # characters of it that are judged


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
        return render(request, "missions/_typing.html", {"pk": pk, "number": number, "here": True})
    lines = whole_of(one)
    pages = max(1, -(-len(lines) // LINES_OF_A_PAGE))
    page = min(max(as_number(request.GET.get("page", "")) or pages, 1), pages)
    begin = (page - 1) * LINES_OF_A_PAGE
    context = {
        "one": shown(face.seen(row), one),
        "row": row,
        "pk": pk,
        "number": number,
        "may_type": one.living and not row.run.over and STEER.covers(request.user, row.run),
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
    title, text, refused, status = row.run.shown_title, _case(row, request.build_absolute_uri("/")), "", 200
    if request.method == "POST":
        try:
            if begun := judging.of_text(request.user, text, f"Does it meet the goal? {title}"[:TITLE_LENGTH]):
                note_about(begun, pk)
                return redirect(judging.page_name("live"), begun)
        except (BudgetUsedUp, LimitReached) as error:
            refused, status = str(error), 402 if isinstance(error, BudgetUsedUp) else 429
    context = {"judging": judging, "title": title, "text": text, "refused": refused}
    return render(request, "missions/judge.html", {**face.page(pk), **context}, status=status)


def _case(row: Mission, site: str) -> str:
    patch = patch_of(row.files.all())
    cut = f"\n… {len(patch) - LONGEST_PATCH:,} more characters" if len(patch) > LONGEST_PATCH else ""
    check = getattr(row, "final_check", None)
    came = f"It ended with {check.exit_code}." if check and check.exit_code is not None else "It could not be run."
    parts = (
        "Does the result meet the goal?",
        f"Goal:\n{row.goal}",
        f"Result:\n{row.result or 'None.'}",
        f"Check: {check.command}\n{came}" if check else "No check was wanted.",
        f"Difference of its files:\n{patch[:LONGEST_PATCH]}{cut}" if patch else "No file was changed.",
        f"Mission: {site.rstrip('/')}{faces()['mission'].address('live', row.pk)}",
    )
    return "\n\n".join(parts)
