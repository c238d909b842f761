"""Pages of rosters, their versions and inquiries, and the form that creates and changes them."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from engine.llm import model_list
from runs.forms import FieldProblem, first_errors, parse_number, posted_values
from runs.presets import NAME_LENGTH, PresetChanged, views
from runs.procedure.spec import specs
from runs.rights import SEE

from ..forms import CriticField, InquiryTeamForm
from ..models import Inquiry, Roster, RosterVersion
from ..models.presets import posts_of
from ..presets import ALL_ROLES_FIELD, CRITICS, MODELS, describe_changes, describe_roles

NO_PERMISSION_TEXT = "You may not make rosters. Ask who administers this site for the right to."
CHANGED_MEANWHILE_TEXT = "Version {} was saved meanwhile. Your text is below; saving it now replaces that one."


@require_GET
def team_page(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Roster.objects.select_related("owner"), pk=pk)
    context = views.preset_page(request, found, _versions(found), describe_changes)
    return _shown(request, "roster", context, roster_version__roster=found)


@require_GET
def version(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    context = views.version_page(found := get_object_or_404(Roster, pk=pk), _versions(found), number, describe_changes)
    return _shown(request, "version", context, roster_version=context["version"])


def _shown(request: HttpRequest, page: str, context: dict[str, Any], **used: Any) -> HttpResponse:
    asked = SEE.within(Inquiry.objects.all(), request.user, owner="run__owner").filter(**used)
    context |= views.preset_uses(specs()["inquiry"], asked, "roster_version")
    context["said"] = describe_roles(context["version"].posts)
    return render(request, f"inquiries/rosters/{page}.html", context)


def _versions(roster: Roster) -> list[RosterVersion]:
    return list(roster.versions.select_related("author"))


@require_POST
def switch_team(request: HttpRequest, pk: int) -> HttpResponse:
    views.switch_preset(request, get_object_or_404(Roster, pk=pk), "inquiries")
    return redirect("roster", pk)


# ---- the form ---------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Show or post a new roster: empty, or a copy."""
    if not request.user.has_perm("inquiries.add_roster"):
        raise PermissionDenied(NO_PERMISSION_TEXT)
    if request.method == "POST":
        return _saved(request, None, posted_values(request.POST))
    original = Roster.objects.with_content().filter(pk=parse_number(request.GET.get("from", ""))).first()
    if original is None or original.current is None:
        return _form(request, None, _draft_form(None, {}))
    return _form(
        request,
        None,
        _draft_form(None, {**_initial_values(original), "name": f"Copy of {original.name}"[:NAME_LENGTH]}),
    )


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Roster.objects.with_content(), pk=pk)
    views.refuse_editor(found, request.user)
    if request.method == "POST":
        return _saved(request, found, posted_values(request.POST))
    return _form(request, found, _draft_form(found, _initial_values(found)), opened=found.number)


def _initial_values(roster: Roster) -> dict[str, Any]:
    current = roster.current
    assert current  # noqa: S101 - for the type checker
    posts = {"every_model" if name == ALL_ROLES_FIELD else name: said for name, said in posts_of(current).items()}
    return {"name": roster.name, "about": current.about, **posts}


def _draft_form(
    roster: Roster | None, typed: Mapping[str, Any], posted: Mapping[str, Any] | None = None
) -> InquiryTeamForm:
    days = (roster or Roster()).retention_days
    return InquiryTeamForm(roster, posted, initial={**typed, "retention_days": days}, auto_id="%s")


def _saved(request: HttpRequest, roster: Roster | None, posted: Mapping[str, str]) -> HttpResponse:
    form, opened = _draft_form(roster, {}, posted), parse_number(posted.get("version", ""))
    if not form.is_valid():
        return _form(request, roster, form, opened, status=422)
    try:
        return redirect("roster", _save(roster, form, request.user, opened))
    except IntegrityError:
        form.refuse_name()
        return _form(request, roster, form, opened, status=422)
    except PresetChanged:
        number = Roster.objects.with_content().get(pk=roster.pk).number if roster else 0
        form.add_error("name", CHANGED_MEANWHILE_TEXT.format(number))
        return _form(request, roster, form, number, status=409)


def _save(roster: Roster | None, form: InquiryTeamForm, by: Any, opened: int) -> int:
    """Save and return the key. Raises PresetOutOfDate, and IntegrityError if the name is taken."""
    if roster is None:
        return Roster.objects.create_first(owner=by, **form.values()).pk
    roster.revise(author=by, opened=opened, **form.values())
    return roster.pk


def _form(
    request: HttpRequest, roster: Roster | None, form: InquiryTeamForm, opened: int = 0, status: int = 200
) -> HttpResponse:
    names = {name: str(field.label or "Name") for name, field in form.fields.items()}
    context = {
        "roster": roster,
        "form": form,
        "opened": opened,
        "problems": [FieldProblem(name, name, names.get(name, "Roster"), said) for name, said in first_errors(form)],
        "works": [form[name] for name in MODELS],
        "judges": [form[name] for name in CRITICS],
        "critics": [
            ("", "What is usual: a model"),
            *CriticField.choices(*(form[name].value() for name in CRITICS))[1:],
        ],
        "models": model_list.offered_models(model_list.declared_models()),
        "page": "library",
    }
    return render(request, "inquiries/rosters/form.html", context, status=status)
