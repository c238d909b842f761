"""The pages of panels: each with its versions and its debates, and the form on which one is made and changed."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from engine.llm import catalogue
from runs import retention
from runs.begun import along
from runs.face import faces
from runs.forms import as_number, as_typed
from runs.saved import NAME_LENGTH, RevisedMeanwhile
from runs.views import changing

from ..attached import kept
from ..fields import RULES
from ..forms import MOST_MEMBERS, MOST_OPTIONS, SWITCHES, PanelSubmission, typed_in
from ..habits import habits_of
from ..models import Debate, Panel, PanelVersion
from ..panel_changes import changes
from .new import CHANGE, OWN, attached_to, changed, focus_after, held, written_so_far

WRITTEN = (
    "again",
    "title",
    "question",
    "spend",
    "until",
    "seed",
    "word",
    "panel",
    "panel_version",
    "paste",
    "paste_title",
)
AS_VERSION = "version"  # saved as the next one of the panel that the page came from


# ---- to look at; all of them stand in the library ---------------------------------------------------------


@require_GET
def panel(request: HttpRequest, pk: int) -> HttpResponse:
    panel = get_object_or_404(Panel.objects.select_related("owner"), pk=pk)
    context = changing.page_of(request, panel, _versions(panel), _changes)
    return _shown(request, "panel", context, panel_version__panel=panel)


@require_GET
def version(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    panel = get_object_or_404(Panel, pk=pk)
    context = changing.version_of(panel, _versions(panel), number, _changes)
    return _shown(request, "version", context, panel_version=context["version"])


def _shown(request: HttpRequest, page: str, context: dict[str, Any], **used: Any) -> HttpResponse:
    version, debates = context["version"], Debate.objects.visible_to(request.user).filter(**used)
    context |= changing.uses_of(faces()["debate"], debates, "panel_version")
    context |= {"habits": habits_of(debates), "rule": RULES[version.rule], "view": version.get_view_display()}
    return render(request, f"debates/panels/{page}.html", {**context, "default_model": settings.DEFAULT_MODEL})


def _versions(panel: Panel) -> list[PanelVersion]:
    """Newest first, with author and what they hold: three queries."""
    return list(panel.versions.select_related("author").prefetch_related("seats", "options"))


def _changes(before: PanelVersion, after: PanelVersion) -> list[str]:
    return changes((before.name, before.held()), (after.name, after.held()))


# ---- to make and to change --------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """An empty panel, the copy of one, or what stands on the page of a new debate, whose question is carried along."""
    posted = as_typed(request.POST)
    if "back" in posted:
        return written_so_far(request, posted)
    if not request.user.has_perm("debates.add_panel"):
        raise PermissionDenied("You may not make panels. Ask who administers this site for the right to.")
    if request.method == "GET":
        return _form_page(request, PanelSubmission(**_copied(request.GET.get("from", ""))))
    return _posted(request, posted, _written(request, posted))


def _posted(request: HttpRequest, posted: Mapping[str, str], written: dict[str, str]) -> HttpResponse:
    if change := CHANGE.fullmatch(posted.get("do", "")):
        begun = PanelSubmission(**_retyped(posted, changed(posted, *change.groups())))
        return _form_page(request, begun, written=written, focus=focus_after(posted, change))
    if "name" not in posted:
        return _form_page(request, PanelSubmission(name="", **_to_save(posted)), written=written)
    if posted.get("do") == AS_VERSION:
        return _save_as_version(request, posted, written)
    submission = PanelSubmission(posted)
    saved = changing.founded(Panel, submission, request.user) if submission.is_valid() else None
    if saved is None:
        return _form_page(request, submission, written=written)
    if written:
        return written_so_far(request, {**posted, **written}, saved=saved)
    messages.success(request, "The panel is saved.")
    return redirect("panel", saved.pk)


def _save_as_version(request: HttpRequest, posted: Mapping[str, str], written: dict[str, str]) -> HttpResponse:
    """What stands on the form becomes the next version of the panel that the page of the debate came from."""
    panel = get_object_or_404(Panel.objects.offered().whole(), pk=as_number(posted.get("panel", "")))
    changing.refuse_changer(panel, request.user)
    submission = PanelSubmission({**posted, "name": panel.name}, panel=panel)
    if not submission.is_valid():
        return _form_page(request, submission, written=written)
    opened = as_number(posted.get("panel_version", ""))
    try:
        panel.revise(author=request.user, opened=opened, **submission.values())
    except RevisedMeanwhile:
        return _overtaken(request, submission, panel.pk, opened, written)
    return written_so_far(request, {**posted, **written}, saved=panel)


def _copied(pk: str) -> dict[str, Any]:
    """Name and what a copy holds; an empty table where there is no such panel."""
    original = Panel.objects.whole().filter(pk=as_number(pk)).first()
    if original is None or original.current is None:
        return {**held(None), "members": [{}] * 3}
    name = f"Copy of {original.name}"[:NAME_LENGTH]
    return {"name": name, "retention_days": original.retention_days, **original.current.held()}


def _to_save(posted: Mapping[str, str]) -> dict[str, Any]:
    """What stands on the page of a debate. It shows the default model where its panel leaves the model open: so it
    stays. Whoever was named as a person is one of the debate and none of the panel: a person sits there."""
    typed = typed_in(posted)
    panel = Panel.objects.whole().filter(pk=as_number(posted.get("panel", ""))).first()
    seats = list(panel.current.seats.all()) if panel and panel.current else []
    for place, one in enumerate(typed["members"]):
        one["person"] = bool(one.get("user")) or (place < len(seats) and seats[place].person and not one["model"])
        if place < len(seats) and not seats[place].model and one["model"] == settings.DEFAULT_MODEL:
            one["model"] = ""
    return _without_words(typed)


def _retyped(posted: Mapping[str, str], typed: Mapping[str, Any]) -> dict[str, Any]:
    days = as_number(posted.get("retention_days", ""))
    own = {"name": posted.get("name", ""), "short": "short" in posted}
    return {**_without_words(typed), **own, "retention_days": days}


def _without_words(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is a debate's own."""
    return {name: value for name, value in typed.items() if name not in WRITTEN}


def _written(request: HttpRequest, posted: Mapping[str, str]) -> dict[str, str]:
    """What the page of a debate had beside what a panel holds, with the files that came with it and what came from the
    page of another kind; empty for a panel of its own."""
    if "question" not in posted:
        return {}
    attached, pasted = attached_to(request, posted)
    tokens = {f"d{number}": token for number, token in enumerate(kept(attached.documents, request.user.pk), 1)}
    own = {name: posted[name] for name in WRITTEN if name in posted}
    others = along(posted, OWN.fullmatch)
    return {**own, "paste": pasted.text, "paste_title": pasted.title, **tokens, **others}


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    panel = get_object_or_404(Panel.objects.whole(), pk=pk)
    changing.refuse_changer(panel, request.user)
    if request.method == "GET":
        holds = panel.current.held() if panel.current else {}
        return _form_page(request, PanelSubmission(panel=panel, name=panel.name, **holds), panel, panel.number)
    posted = as_typed(request.POST)
    opened = as_number(posted.get("version", ""))
    if change := CHANGE.fullmatch(posted.get("do", "")):
        begun = PanelSubmission(panel=panel, **_retyped(posted, changed(posted, *change.groups())))
        return _form_page(request, begun, panel, opened, focus=focus_after(posted, change))
    submission = PanelSubmission(posted, panel=panel)
    if not submission.is_valid():
        return _form_page(request, submission, panel, opened)
    try:
        saved = changing.revised(panel, submission, request.user, opened)
    except RevisedMeanwhile:
        return _overtaken(request, submission, pk, opened)
    except IntegrityError:
        submission.refuse_name()
        return _form_page(request, submission, panel, opened)
    messages.success(request, saved)
    return redirect("panel", pk)


def _overtaken(
    request: HttpRequest, submission: PanelSubmission, pk: int, opened: int, written: dict[str, str] | None = None
) -> HttpResponse:
    """What was typed comes back, now as a change of the newest version: to save it again is then a decision."""
    panel = get_object_or_404(Panel.objects.whole(), pk=pk)
    versions = _versions(panel)
    seen = next((version for version in versions if version.number == opened), None)
    overtaken = {"version": versions[0], "changes": _changes(seen, versions[0]) if seen else []}
    if written:
        written = {**written, "panel_version": str(panel.number)}
        return _form_page(request, submission, written=written, overtaken=overtaken)
    return _form_page(request, submission, panel, panel.number, overtaken=overtaken)


def _form_page(
    request: HttpRequest,
    submission: PanelSubmission,
    panel: Panel | None = None,
    opened: int = 0,
    written: dict[str, str] | None = None,
    overtaken: dict[str, Any] | None = None,
    focus: str = "",
) -> HttpResponse:
    problems = submission.problems
    context = {
        "form": submission.own,
        "options": submission.options,
        "members": submission.members,
        "switches": [submission.own[name] for name in SWITCHES],
        "problems": problems,
        "counts": {problem.path: problem.message for problem in problems if problem.path in ("options", "members")},
        "room": {"option": len(submission.options) < MOST_OPTIONS, "member": len(submission.members) < MOST_MEMBERS},
        "spare": {"option": len(submission.options) > 2, "member": len(submission.members) > 2},
        "focus": focus,
        "panel": panel,
        "opened": opened,
        "written": written or {},
        "origin": _origin(request, written or {}),
        "overtaken": overtaken,
        "models": catalogue.offered(catalogue.declared()),
        "obligation": retention.OBLIGATION,
        "default_model": settings.DEFAULT_MODEL,
        "page": "library",
    }
    return render(request, "debates/panels/form.html", context, status=409 if overtaken else 200)


def _origin(request: HttpRequest, written: Mapping[str, str]) -> Panel | None:
    """The panel that the page of a debate came from, where whoever asks may give it another version."""
    found = Panel.objects.offered().whole().filter(pk=as_number(written.get("panel", ""))).first()
    return found if found and found.is_editable_by(request.user) else None


@require_POST
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    changing.switch(request, get_object_or_404(Panel, pk=pk), "debates")
    return redirect("panel", pk)
