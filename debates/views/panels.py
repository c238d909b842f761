"""Pages of panels: versions and debates of each, and the form to create and change one."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from engine.llm import model_list
from runs import retention
from runs.form_carry_over import extra_fields
from runs.forms import parse_number, posted_values
from runs.presets import NAME_LENGTH, PresetChanged, views
from runs.procedure.spec import specs

from ..attachments import sign_attachments
from ..form_fields import RULES
from ..forms import MOST_MEMBERS, MOST_OPTIONS, SWITCHES, PanelSubmission, typed_in
from ..habits import habits_of
from ..models import Debate, Panel, PanelVersion
from ..presets import describe_changes
from .start import CHANGE, OWN_FIELDS, attachments_of, change_rows, draft_context, focus_target, panel_values

WRITTEN_FIELDS = (
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
VERSION_FIELD = "version"  # save as the next version of the panel that the page came from


# ---- read; the library lists all of them ------------------------------------------------------------------


@require_GET
def panel(request: HttpRequest, pk: int) -> HttpResponse:
    panel = get_object_or_404(Panel.objects.select_related("owner"), pk=pk)
    context = views.preset_page(request, panel, _versions(panel), _changes)
    return _shown(request, "panel", context, panel_version__panel=panel)


@require_GET
def version(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    panel = get_object_or_404(Panel, pk=pk)
    context = views.version_page(panel, _versions(panel), number, _changes)
    return _shown(request, "version", context, panel_version=context["version"])


def _shown(request: HttpRequest, page: str, context: dict[str, Any], **used: Any) -> HttpResponse:
    version, debates = context["version"], Debate.objects.visible_to(request.user).filter(**used)
    context |= views.preset_uses(specs()["debate"], debates, "panel_version")
    context |= {"habits": habits_of(debates), "rule": RULES[version.rule], "view": version.get_view_display()}
    return render(request, f"debates/panels/{page}.html", {**context, "default_model": settings.DEFAULT_MODEL})


def _versions(panel: Panel) -> list[PanelVersion]:
    """Return the versions, newest first, with author and content, in three queries."""
    return list(panel.versions.select_related("author").prefetch_related("seats", "options"))


def _changes(before: PanelVersion, after: PanelVersion) -> list[str]:
    return describe_changes((before.name, before.held()), (after.name, after.held()))


# ---- create and change ------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Show or post the form: an empty panel, a copy, or the values of a new debate's page, whose question is kept
    in it."""
    posted = posted_values(request.POST)
    if "back" in posted:
        return draft_context(request, posted)
    if not request.user.has_perm("debates.add_panel"):
        raise PermissionDenied("You may not make panels. Ask who administers this site for the right to.")
    if request.method == "GET":
        return _form_page(request, PanelSubmission(**_copied(request.GET.get("from", ""))))
    return _posted(request, posted, _written(request, posted))


def _posted(request: HttpRequest, posted: Mapping[str, str], written: dict[str, str]) -> HttpResponse:
    if change := CHANGE.fullmatch(posted.get("do", "")):
        begun = PanelSubmission(**_retyped(posted, change_rows(posted, *change.groups())))
        return _form_page(request, begun, written=written, focus=focus_target(posted, change))
    if "name" not in posted:
        return _form_page(request, PanelSubmission(name="", **_to_save(posted)), written=written)
    if posted.get("do") == VERSION_FIELD:
        return _save_as_version(request, posted, written)
    submission = PanelSubmission(posted)
    saved = views.create_preset(Panel, submission, request.user) if submission.is_valid() else None
    if saved is None:
        return _form_page(request, submission, written=written)
    if written:
        return draft_context(request, {**posted, **written}, saved=saved)
    messages.success(request, "The panel is saved.")
    return redirect("panel", saved.pk)


def _save_as_version(request: HttpRequest, posted: Mapping[str, str], written: dict[str, str]) -> HttpResponse:
    """Save the form as the next version of the panel that the debate's page came from."""
    panel = get_object_or_404(Panel.objects.available().with_content(), pk=parse_number(posted.get("panel", "")))
    views.refuse_editor(panel, request.user)
    submission = PanelSubmission({**posted, "name": panel.name}, panel=panel)
    if not submission.is_valid():
        return _form_page(request, submission, written=written)
    opened = parse_number(posted.get("panel_version", ""))
    try:
        panel.revise(author=request.user, opened=opened, **submission.values())
    except PresetChanged:
        return _overtaken(request, submission, panel.pk, opened, written)
    return draft_context(request, {**posted, **written}, saved=panel)


def _copied(pk: str) -> dict[str, Any]:
    """Return the name and content of a copy; empty values if there is no such panel."""
    original = Panel.objects.with_content().filter(pk=parse_number(pk)).first()
    if original is None or original.current is None:
        return {**panel_values(None), "members": [{}] * 3}
    name = f"Copy of {original.name}"[:NAME_LENGTH]
    return {"name": name, "retention_days": original.retention_days, **original.current.held()}


def _to_save(posted: Mapping[str, str]) -> dict[str, Any]:
    """Return the panel values of a debate's page. That page shows the default model where the panel leaves the
    model open; here it stays open. A named person belongs to the debate: the panel only says that a person sits
    there."""
    typed = typed_in(posted)
    panel = Panel.objects.with_content().filter(pk=parse_number(posted.get("panel", ""))).first()
    seats = list(panel.current.seats.all()) if panel and panel.current else []
    for place, one in enumerate(typed["members"]):
        one["person"] = bool(one.get("user")) or (place < len(seats) and seats[place].person and not one["model"])
        if place < len(seats) and not seats[place].model and one["model"] == settings.DEFAULT_MODEL:
            one["model"] = ""
    return _without_words(typed)


def _retyped(posted: Mapping[str, str], typed: Mapping[str, Any]) -> dict[str, Any]:
    days = parse_number(posted.get("retention_days", ""))
    own = {"name": posted.get("name", ""), "short": "short" in posted}
    return {**_without_words(typed), **own, "retention_days": days}


def _without_words(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without those that belong to a debate only."""
    return {name: value for name, value in typed.items() if name not in WRITTEN_FIELDS}


def _written(request: HttpRequest, posted: Mapping[str, str]) -> dict[str, str]:
    """Return the other values of a debate's page, with its files and those of another procedure's page; empty if
    the panel was created on its own."""
    if "question" not in posted:
        return {}
    attached, pasted = attachments_of(request, posted)
    tokens = {
        f"d{number}": token for number, token in enumerate(sign_attachments(attached.documents, request.user.pk), 1)
    }
    own = {name: posted[name] for name in WRITTEN_FIELDS if name in posted}
    others = extra_fields(posted, OWN_FIELDS.fullmatch)
    return {**own, "paste": pasted.text, "paste_title": pasted.title, **tokens, **others}


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    panel = get_object_or_404(Panel.objects.with_content(), pk=pk)
    views.refuse_editor(panel, request.user)
    if request.method == "GET":
        holds = panel.current.held() if panel.current else {}
        return _form_page(request, PanelSubmission(panel=panel, name=panel.name, **holds), panel, panel.number)
    posted = posted_values(request.POST)
    opened = parse_number(posted.get("version", ""))
    if change := CHANGE.fullmatch(posted.get("do", "")):
        begun = PanelSubmission(panel=panel, **_retyped(posted, change_rows(posted, *change.groups())))
        return _form_page(request, begun, panel, opened, focus=focus_target(posted, change))
    submission = PanelSubmission(posted, panel=panel)
    if not submission.is_valid():
        return _form_page(request, submission, panel, opened)
    try:
        saved = views.revise_preset(panel, submission, request.user, opened)
    except PresetChanged:
        return _overtaken(request, submission, pk, opened)
    except IntegrityError:
        submission.refuse_name()
        return _form_page(request, submission, panel, opened)
    messages.success(request, saved)
    return redirect("panel", pk)


def _overtaken(
    request: HttpRequest, submission: PanelSubmission, pk: int, opened: int, written: dict[str, str] | None = None
) -> HttpResponse:
    """Show the posted values again as a change of the newest version, so that saving them over it is a decision."""
    panel = get_object_or_404(Panel.objects.with_content(), pk=pk)
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
        "models": model_list.offered_models(model_list.declared_models()),
        "obligation": retention.OBLIGATION,
        "default_model": settings.DEFAULT_MODEL,
        "page": "library",
    }
    return render(request, "debates/panels/form.html", context, status=409 if overtaken else 200)


def _origin(request: HttpRequest, written: Mapping[str, str]) -> Panel | None:
    """Return the panel that the debate's page came from, if the user may edit it."""
    found = Panel.objects.available().with_content().filter(pk=parse_number(written.get("panel", ""))).first()
    return found if found and found.is_editable_by(request.user) else None


@require_POST
def switch_panel(request: HttpRequest, pk: int) -> HttpResponse:
    views.switch_preset(request, get_object_or_404(Panel, pk=pk), "debates")
    return redirect("panel", pk)
