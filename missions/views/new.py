"""The page on which a mission is begun. All of it works without scripts."""

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

from engine.llm import prices
from engine.llm.providers import is_rehearsal
from engine.models.budgets import Budget, BudgetUsedUp
from engine.models.pace import LimitReached
from runs import retention
from runs.begun import along, begun_by_page, brought
from runs.forms import FieldProblem, as_number, as_typed
from runs.given_looks import note_look
from runs.rights import SEE

from .. import attached, origins, procedure, workshop
from ..attached import Attached
from ..crews import offered
from ..examples import EXAMPLES
from ..files import LONGEST
from ..forms import LIMITS, MissionForm, asked
from ..leaving import WHO
from ..models import Crew, Mission
from ..origins import Origin
from ..rules import A_STEP, Limits
from ..sandbox import held
from ..sandbox.box import Limits as Box

BEGUN = "mission-new"
FOLLOWS, UPLOADS, MORE = "follows", "uploads", "more-files"
OWN = frozenset({*MissionForm.base_fields, FOLLOWS})


@dataclass(frozen=True)
class Refused:
    """Why a mission was not started."""

    status: int
    sentence: str


@dataclass
class Begun:
    """What stands on the page; `rows` are always followed by an empty one."""

    form: MissionForm
    rows: list[Attached] = field(default_factory=list)
    follows: str = ""
    problems: list[FieldProblem] = field(default_factory=list)


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return _page(request, _first(request))
    posted = as_typed(request.POST)
    if come := brought(posted):
        form = _started(**{**_own(posted), "goal": come.text, "title": come.title})
        return _page(request, Begun(form, attached.pasted(posted), posted.get(FOLLOWS, "")))
    return _submitted(request, posted)


def _first(request: HttpRequest) -> Begun:
    if example := EXAMPLES.get(request.GET.get("example", "")):
        form = _started(goal=example.goal, title=example.name, check=example.check, crew=example.crew)
        return Begun(form, attached.numbered(example.files))
    crew = Crew.objects.offered().filter(pk=as_number(request.GET.get("crew", ""))).first()
    before = _followed(request, request.GET.get(FOLLOWS, ""))
    name = crew.name if crew else before.crew if before else ""
    return Begun(_started(crew=name), follows=request.GET.get(FOLLOWS, ""))


def _submitted(request: HttpRequest, posted: Mapping[str, str]) -> HttpResponse:
    rows, unreadable = _files(request, posted)
    packed, wrong = _unpacked(request)
    unreadable += wrong
    follows = posted.get(FOLLOWS, "") if _followed(request, posted.get(FOLLOWS, "")) else ""
    form = MissionForm(posted, auto_id="%s")
    begun = Begun(form, rows, follows)
    if posted.get("do") == MORE:
        begun.form = _started(**_own(posted))
        return _page(request, begun)
    files = [*packed.files, *((one.path.strip(), one.text) for one in rows)]
    come: dict[str, Any] = {"note": packed.note, "repository": packed.repository}
    values, problems = asked(_own(posted), files, follows=follows, **come)
    form.is_valid()
    if problems or unreadable:
        labels = {name: str(one.label) for name, one in form.fields.items()} | {"files": "Files", "limits": "Limits"}
        if packed.files or packed.repository:  # a page cannot choose a file again for somebody
            unreadable.append(("files", "Choose the archive once more: what is in it is not kept until it starts."))
        begun.problems = [
            FieldProblem(name, name, labels.get(name, name), said) for name, said in [*problems, *unreadable]
        ]
        return _page(request, begun)
    return _begin(request, begun, values)


def _begin(request: HttpRequest, begun: Begun, values: dict[str, Any]) -> HttpResponse:
    try:
        mission = procedure.submit(owner=request.user, limited=True, watched=True, **values)
    except BudgetUsedUp as error:
        return _page(request, begun, Refused(402, str(error)))
    except LimitReached as reached:
        page = _page(request, begun, Refused(429, str(reached)))
        page.headers["Retry-After"] = str(reached.seconds)
        return page
    return redirect("mission-live", mission.pk)


def _files(request: HttpRequest, posted: Mapping[str, str]) -> tuple[list[Attached], list[tuple[str, str]]]:
    """What was pasted and what was uploaded, and what is wrong with that which is no text."""
    found = [(one.path, one.text) for one in attached.pasted(posted)]
    wrong = []
    for name, text in attached.uploaded(one for one in request.FILES.getlist(UPLOADS) if not _is_packed(one)):
        if text is None:
            wrong.append(
                (
                    "files",
                    f"{name} is no text in UTF-8 of at most {LONGEST:,} bytes. Save it as one, or choose another file.",
                )
            )
        else:
            found.append((name, text))
    return attached.numbered(found), wrong


def _is_packed(file: Any) -> bool:
    return origins.is_archive(file.name or "")


def _unpacked(request: HttpRequest) -> tuple[Origin, list[tuple[str, str]]]:
    """What is in archives that were uploaded, and what is wrong with them."""
    found, wrong = list[Origin](), list[tuple[str, str]]()
    for file in filter(_is_packed, request.FILES.getlist(UPLOADS)):
        try:
            if (file.size or 0) > origins.LARGEST_UPLOAD:
                raise origins.RepositoryRefused(f"It has more than {origins.LARGEST_UPLOAD // 1_000_000} MB.")
            if any(one.repository for one in found):
                raise origins.RepositoryRefused("A mission begins with one repository, and files come on top of it.")
            found.append(origins.of_archive(file.read(), file.name or "an archive"))
        except origins.RepositoryRefused as unusable:
            wrong.append(("files", f"{file.name}: {unusable}"))
    repository = next((one.repository for one in found if one.repository), None)
    note = "\n".join(one.note for one in found if one.note)
    return Origin([file for one in found for file in one.files], note, repository), wrong


def _followed(request: HttpRequest, pk: str) -> Mission | None:
    """The mission that this one goes on from, where this person may see it: its files come along, so it is a look."""
    try:
        found = Mission.objects.select_related("run").filter(pk=UUID(pk)).first() if pk else None
    except ValueError:
        return None
    if found is None or not SEE.covers(request.user, found.run):
        return None
    note_look(found.run, request.user)
    return found


def _own(posted: Mapping[str, str]) -> dict[str, str]:
    return {name: posted.get(name, "") for name in MissionForm.base_fields}


def _started(**typed: str) -> MissionForm:
    return MissionForm(initial=typed, auto_id="%s")


def _page(request: HttpRequest, begun: Begun, refused: Refused | None = None) -> HttpResponse:
    numbers = [one.number for one in begun.rows]
    context: dict[str, Any] = {
        "form": begun.form,
        "rows": [*begun.rows, Attached(max(numbers, default=0) + 1)],
        "follows": _followed(request, begun.follows),
        "problems": begun.problems,
        "refused": refused,
        "limits": [(begun.form[name], getattr(Limits(), name)) for name in LIMITS],
        "repositories": origins.allowed(),
        "policy": [begun.form[name] for name in WHO],
        "crews": offered(),
        "examples": EXAMPLES.values(),
        "lacking": workshop.missing(),
        **_tried(),
        "kept_for": retention.in_words(settings.RETENTION_DAYS),
        "rehearsal": not settings.PROVIDERS,
        "kinds": begun_by_page(),
        "page": "new",
        "begun": BEGUN,
        "come": "mission",
        "along": along(as_typed(request.POST), lambda name: name in OWN or attached.is_field(name)),
    }
    return render(request, "missions/new.html", context, status=refused.status if refused else 200)


def _tried() -> dict[str, Any]:
    """When the sandbox was tried last, and what it gives to each command."""
    found, box = held.last(workshop.home()), Box()
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
    """At most: nobody knows how many steps it takes."""
    form = MissionForm(as_typed(request.POST))
    form.is_valid()
    model = form.cleaned_data.get("model") or settings.DEFAULT_MODEL
    steps = form.cleaned_data.get("steps") or Limits().steps
    context = {
        "rehearsal": is_rehearsal(model),
        "steps": steps,
        "most": prices.cost(model, *(steps * tokens for tokens in A_STEP)),
        "spend": form.cleaned_data.get("spend"),
        "budgets": Budget.objects.of(request.user.pk),
    }
    return render(request, "missions/_cost.html", context)
