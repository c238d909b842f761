"""The page that starts a mission. It works without scripts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.timesince import timesince
from django.views.decorators.http import require_http_methods, require_POST

from engine.llm import pricing
from engine.llm.providers import is_rehearsal
from engine.models.budgets import Budget, BudgetExceeded
from engine.models.rate_limits import RateLimitReached
from runs import retention
from runs.access_log import log_view
from runs.form_carry_over import extra_fields, form_pages, transferred_form
from runs.forms import FieldProblem, parse_number, posted_values
from runs.rights import SEE

from .. import attachments, procedure, workspace, workspace_sources
from ..attachments import MissionFile
from ..egress_policy import APPROVER_CHOICES
from ..examples import EXAMPLES
from ..forms import LIMITS, MissionForm, submit_values
from ..models import Crew, Mission
from ..presets import offered_teams
from ..rules import A_STEP, MissionLimits
from ..sandbox import probe_result
from ..sandbox.bwrap import SandboxLimits as Box

DRAFT_PREFIX = "mission-new"
FOLLOWS, UPLOADS, MORE = "follows", "uploads", "more-files"
OWN_FIELDS = frozenset({*MissionForm.base_fields, FOLLOWS})


@dataclass(frozen=True)
class RefusedMission:
    """Why a mission was not started."""

    status: int
    sentence: str


@dataclass
class MissionDraft:
    """The content of the form; the page shows an empty row after `rows`."""

    form: MissionForm
    rows: list[MissionFile] = field(default_factory=list)
    follows: str = ""
    problems: list[FieldProblem] = field(default_factory=list)


@require_http_methods(["GET", "POST"])
def start_mission(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return _page(request, _first(request))
    posted = posted_values(request.POST)
    if come := transferred_form(posted):
        form = _started(**{**_own(posted), "goal": come.text, "title": come.title})
        return _page(request, MissionDraft(form, attachments.pasted_files(posted), posted.get(FOLLOWS, "")))
    return _submitted(request, posted)


def _first(request: HttpRequest) -> MissionDraft:
    if example := EXAMPLES.get(request.GET.get("example", "")):
        form = _started(goal=example.goal, title=example.name, check=example.check, crew=example.crew)
        return MissionDraft(form, attachments.number_files(example.files))
    crew = Crew.objects.available().filter(pk=parse_number(request.GET.get("crew", ""))).first()
    before = _followed(request, request.GET.get(FOLLOWS, ""))
    name = crew.name if crew else before.crew if before else ""
    return MissionDraft(_started(crew=name), follows=request.GET.get(FOLLOWS, ""))


def _submitted(request: HttpRequest, posted: Mapping[str, str]) -> HttpResponse:
    uploads = request.FILES.getlist(UPLOADS)
    texts, wrong = attachments.uploaded_texts(uploads)
    pasted = [(one.path, one.text) for one in attachments.pasted_files(posted)]
    rows = attachments.number_files([*pasted, *texts])
    packed, not_taken = attachments.uploaded_archives(uploads)
    unreadable = [("files", said) for said in (*wrong, *not_taken)]
    follows = posted.get(FOLLOWS, "") if _followed(request, posted.get(FOLLOWS, "")) else ""
    form = MissionForm(posted, auto_id="%s")
    begun = MissionDraft(form, rows, follows)
    if posted.get("do") == MORE:
        begun.form = _started(**_own(posted))
        return _page(request, begun)
    files = [*packed.files, *((one.path.strip(), one.text) for one in rows)]
    come: dict[str, Any] = {"note": packed.note, "repository": packed.repository}
    values, problems = submit_values(_own(posted), files, follows=follows, **come)
    form.is_valid()
    if problems or unreadable:
        labels = {name: str(one.label) for name, one in form.fields.items()} | {"files": "Files", "limits": "Limits"}
        if packed.files or packed.repository:  # a browser does not keep the file of an upload field
            unreadable.append(("files", "Choose the archive once more: what is in it is not kept until it starts."))
        begun.problems = [
            FieldProblem(name, name, labels.get(name, name), said) for name, said in [*problems, *unreadable]
        ]
        return _page(request, begun)
    return _begin(request, begun, values)


def _begin(request: HttpRequest, begun: MissionDraft, values: dict[str, Any]) -> HttpResponse:
    try:
        mission = procedure.submit(owner=request.user, limited=True, watched=True, **values)
    except BudgetExceeded as error:
        return _page(request, begun, RefusedMission(402, str(error)))
    except RateLimitReached as reached:
        page = _page(request, begun, RefusedMission(429, str(reached)))
        page.headers["Retry-After"] = str(reached.seconds)
        return page
    return redirect("mission-live", mission.pk)


def _followed(request: HttpRequest, pk: str) -> Mission | None:
    """The mission to continue, if the user may see it. Logged as a view, because its files are copied."""
    try:
        found = Mission.objects.select_related("run").filter(pk=UUID(pk)).first() if pk else None
    except ValueError:
        return None
    if found is None or not SEE.covers(request.user, found.run):
        return None
    log_view(found.run, request.user)
    return found


def _own(posted: Mapping[str, str]) -> dict[str, str]:
    return {name: posted.get(name, "") for name in MissionForm.base_fields}


def _started(**typed: str) -> MissionForm:
    return MissionForm(initial=typed, auto_id="%s")


def _page(request: HttpRequest, begun: MissionDraft, refused: RefusedMission | None = None) -> HttpResponse:
    numbers = [one.number for one in begun.rows]
    context: dict[str, Any] = {
        "form": begun.form,
        "rows": [*begun.rows, MissionFile(max(numbers, default=0) + 1)],
        "follows": _followed(request, begun.follows),
        "problems": begun.problems,
        "refused": refused,
        "limits": [(begun.form[name], getattr(MissionLimits(), name)) for name in LIMITS],
        "repositories": workspace_sources.allowed_repositories(),
        "policy": [begun.form[name] for name in APPROVER_CHOICES],
        "crews": offered_teams(),
        "examples": EXAMPLES.values(),
        "lacking": workspace.missing_programs(),
        **_tried(),
        "kept_for": retention.format_days(settings.RETENTION_DAYS),
        "rehearsal": not settings.PROVIDERS,
        "kinds": form_pages(),
        "page": "new",
        "begun": DRAFT_PREFIX,
        "come": "mission",
        "along": extra_fields(
            posted_values(request.POST), lambda name: name in OWN_FIELDS or attachments.is_attachment_field(name)
        ),
    }
    return render(request, "missions/new.html", context, status=refused.status if refused else 200)


def _tried() -> dict[str, Any]:
    """The last probe of the sandbox and the limits of each command."""
    found, box = probe_result.last_result(workspace.missions_folder()), Box()
    at = datetime.fromtimestamp(found.at, UTC) if found else None
    parts = (
        f"{filesizeformat(box.memory)} of memory",
        f"{box.processes} processes",
        f"{filesizeformat(box.disk)} of disk",
    )
    ago = f"{timesince(at)} ago" if at else ""
    return {"sandbox": found, "tried": at, "ago": ago, "bounds": ", ".join(parts)}


@require_POST
def expected_cost(request: HttpRequest) -> HttpResponse:
    """The largest possible cost: the number of steps is not known before."""
    form = MissionForm(posted_values(request.POST))
    form.is_valid()
    model = form.cleaned_data.get("model") or settings.DEFAULT_MODEL
    steps = form.cleaned_data.get("steps") or MissionLimits().steps
    context = {
        "rehearsal": is_rehearsal(model),
        "steps": steps,
        "most": pricing.cost(model, *(steps * tokens for tokens in A_STEP)),
        "spend": form.cleaned_data.get("spend"),
        "budgets": Budget.objects.for_user(request.user.pk),
    }
    return render(request, "missions/_cost.html", context)
