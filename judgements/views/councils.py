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

from ..forms import CouncilSubmission, posted_agents
from ..models import AgentValues, Council, CouncilVersion, Judgement
from ..presets import describe_changes
from .start import OWN_FIELDS, RefusedJudgement, draft_context

WRITTEN_FIELDS = ("title", "content", "council", "version", "again")


# ---- read; the library lists all of them ------------------------------------------------------------------


@require_GET
def council(request: HttpRequest, pk: int) -> HttpResponse:
    council = get_object_or_404(Council.objects.select_related("owner"), pk=pk)
    context = views.preset_page(request, council, _versions(council), _changes)
    return _shown(request, "council", context, council_version__council=council)


@require_GET
def version(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    council = get_object_or_404(Council, pk=pk)
    context = views.version_page(council, _versions(council), number, _changes)
    return _shown(request, "version", context, council_version=context["version"])


def _shown(request: HttpRequest, page: str, context: dict[str, Any], **used: Any) -> HttpResponse:
    judgements = Judgement.objects.visible_to(request.user).filter(**used)
    context |= views.preset_uses(specs()["judgement"], judgements, "council_version")
    return render(request, f"judgements/councils/{page}.html", {**context, "default_model": settings.DEFAULT_MODEL})


def _versions(council: Council) -> list[CouncilVersion]:
    """Return the versions, newest first, with author and members, in two queries."""
    return list(council.versions.select_related("author").prefetch_related("members"))


def _changes(before: CouncilVersion, after: CouncilVersion) -> list[str]:
    return describe_changes(before.as_saved(), after.as_saved())


# ---- create and change ------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Show or post the form: an empty council, a copy, or the three agents of an input page, whose content is kept
    in it."""
    posted = posted_values(request.POST)
    if "back" in posted:
        return draft_context(request, posted)
    if not request.user.has_perm("judgements.add_council"):
        return _refuse_maker(request, posted)
    if request.method == "GET":
        return _form_page(request, CouncilSubmission(**_copied(request.GET.get("from", ""))))
    if "name" not in posted:
        return _form_page(request, CouncilSubmission(agents=_to_save(posted)), written=_written(posted))
    submission = CouncilSubmission(posted)
    council = views.create_preset(Council, submission, request.user) if submission.is_valid() else None
    if council is None:
        return _form_page(request, submission, written=_written(posted))
    if _written(posted):
        return draft_context(request, posted, saved=council)
    messages.success(request, "The council is saved.")
    return redirect("council", council.pk)


def _refuse_maker(request: HttpRequest, posted: Mapping[str, str]) -> HttpResponse:
    """Refuse a user who may not create councils. A draft of an input page is shown again with the reason."""
    sentence = "You may not make councils. Ask who administers this site for the right to."
    if _written(posted):
        return draft_context(request, posted, refused=RefusedJudgement(403, sentence))
    raise PermissionDenied(sentence)


def _copied(pk: str) -> dict[str, Any]:
    """Return the name and agents of a copy; empty if there is no such council."""
    original = Council.objects.with_content().filter(pk=parse_number(pk)).first()
    if original is None or original.current is None:
        return {}
    name, agents = original.current.as_saved()
    copied = {"name": f"Copy of {name}"[:NAME_LENGTH], "agents": agents}
    return copied | {"retention_days": original.retention_days}


def _to_save(posted: Mapping[str, str]) -> list[AgentValues]:
    """Return the agents of an input page. That page shows the default model where the council leaves the model
    open; here it stays open."""
    agents = posted_agents(posted)
    council = Council.objects.with_content().filter(pk=parse_number(posted.get("council", ""))).first()
    chosen = council.current.as_saved()[1] if council and council.current else []
    for agent, saved in zip(agents, chosen, strict=False):
        if not saved["model"] and agent["model"] == settings.DEFAULT_MODEL:
            agent["model"] = ""
    return agents


def _written(posted: Mapping[str, str]) -> dict[str, str]:
    """Return the other fields of an input page, with those of another procedure's page; empty if the council was
    created on its own."""
    own = {name: posted[name] for name in WRITTEN_FIELDS if name in posted}
    return own and {**own, **extra_fields(posted, OWN_FIELDS.fullmatch)}


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    council = get_object_or_404(Council.objects.with_content(), pk=pk)
    views.refuse_editor(council, request.user)
    if request.method == "GET":
        name, agents = council.current.as_saved() if council.current else ("", [])
        return _form_page(
            request, CouncilSubmission(council=council, name=name, agents=agents), council, council.number
        )
    posted = posted_values(request.POST)
    opened = parse_number(posted.get("version", ""))
    submission = CouncilSubmission(posted, council=council)
    if not submission.is_valid():
        return _form_page(request, submission, council, opened)
    try:
        saved = views.revise_preset(council, submission, request.user, opened)
    except PresetChanged:
        return _overtaken(request, submission, pk, opened)
    except IntegrityError:
        submission.refuse_name()
        return _form_page(request, submission, council, opened)
    messages.success(request, saved)
    return redirect("council", pk)


def _overtaken(request: HttpRequest, submission: CouncilSubmission, pk: int, opened: int) -> HttpResponse:
    """Show the posted values again as a change of the newest version, so that saving them over it is a decision."""
    council = get_object_or_404(Council.objects.with_content(), pk=pk)
    versions = _versions(council)
    seen = next((version for version in versions if version.number == opened), None)
    overtaken = {"version": versions[0], "changes": _changes(seen, versions[0]) if seen else []}
    return _form_page(request, submission, council, council.number, overtaken=overtaken)


def _form_page(
    request: HttpRequest,
    submission: CouncilSubmission,
    council: Council | None = None,
    opened: int = 0,
    written: dict[str, str] | None = None,
    overtaken: dict[str, Any] | None = None,
) -> HttpResponse:
    context = {
        "form": submission.own,
        "agents": submission.agents,
        "problems": submission.problems,
        "council": council,
        "opened": opened,
        "written": written or {},
        "overtaken": overtaken,
        "models": model_list.offered_models(model_list.declared_models()),
        "obligation": retention.OBLIGATION,
        "default_model": settings.DEFAULT_MODEL,
        "page": "library",
    }
    return render(request, "judgements/councils/form.html", context, status=409 if overtaken else 200)


@require_POST
def switch_council(request: HttpRequest, pk: int) -> HttpResponse:
    views.switch_preset(request, get_object_or_404(Council, pk=pk), "judgements")
    return redirect("council", pk)
