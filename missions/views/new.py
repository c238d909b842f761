"""The page on which a mission is begun. All of it works without scripts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engine.models.budgets import BudgetUsedUp
from engine.models.pace import LimitReached
from runs import retention
from runs.begun import along, begun_by_page, brought
from runs.forms import FieldProblem, as_number, as_typed

from .. import procedure, workshop
from ..crews import CREWS
from ..files import LONGEST
from ..forms import FILES, MissionForm, asked
from ..rules import Limits

BEGUN = "mission-new"
OWN = frozenset(MissionForm.base_fields)
UPLOADS = "files"
GOALS = (
    "Write a small program that adds up a list of numbers, with an example that it has to pass.",
    "Count how often each word stands in the text that is attached, and write a table of the ten most frequent.",
)


@dataclass(frozen=True)
class Refused:
    """Why a mission was not started."""

    status: int
    sentence: str


@dataclass
class Begun:
    form: MissionForm
    problems: list[FieldProblem] = field(default_factory=list)


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        example = as_number(request.GET.get("example", ""))
        goal = GOALS[example - 1] if 0 < example <= len(GOALS) else ""
        return _page(request, Begun(_started(goal=goal)))
    posted = as_typed(request.POST)
    if come := brought(posted):
        return _page(request, Begun(_started(**{**_own(posted), "goal": come.text, "title": come.title})))
    return _submitted(request, posted)


def _submitted(request: HttpRequest, posted: Mapping[str, str]) -> HttpResponse:
    attached, unreadable = _attached(request)
    values, problems = asked(_own(posted), attached)
    form = MissionForm(posted, auto_id="%s")
    form.is_valid()
    if problems or unreadable:
        labels = {name: str(one.label) for name, one in form.fields.items()} | {UPLOADS: "Files", "limits": "Limits"}
        found = [FieldProblem(name, name, labels.get(name, name), said) for name, said in [*problems, *unreadable]]
        return _page(request, Begun(form, found))
    try:
        mission = procedure.submit(owner=request.user, limited=True, **values)
    except BudgetUsedUp as error:
        return _page(request, Begun(form), Refused(402, str(error)))
    except LimitReached as reached:
        page = _page(request, Begun(form), Refused(429, str(reached)))
        page.headers["Retry-After"] = str(reached.seconds)
        return page
    return redirect("mission-live", mission.pk)


def _attached(request: HttpRequest) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Names and texts of files, and what is wrong with those that are no text."""
    found, wrong = list[tuple[str, str]](), list[tuple[str, str]]()
    for file in request.FILES.getlist(UPLOADS)[: FILES + 1]:
        name = file.name or "file"
        try:
            if (file.size or 0) > LONGEST:
                raise ValueError
            found.append((name, file.read().decode()))
        except ValueError:
            wrong.append((UPLOADS, f"{name} is no text of at most {LONGEST:,} bytes."))
    return found, wrong


def _own(posted: Mapping[str, str]) -> dict[str, str]:
    return {name: posted.get(name, "") for name in MissionForm.base_fields}


def _started(**typed: str) -> MissionForm:
    return MissionForm(initial=typed, auto_id="%s")


def _page(request: HttpRequest, begun: Begun, refused: Refused | None = None) -> HttpResponse:
    context: dict[str, Any] = {
        "form": begun.form,
        "problems": begun.problems,
        "refused": refused,
        "limits": Limits(),
        "crews": list(CREWS),
        "examples": list(enumerate(GOALS, 1)),
        "lacking": workshop.missing(),
        "kept_for": retention.in_words(settings.RETENTION_DAYS),
        "rehearsal": not settings.PROVIDERS,
        "kinds": begun_by_page(),
        "page": "new",
        "begun": BEGUN,
        "come": "mission",
        "along": along(as_typed(request.POST), OWN.__contains__),
    }
    return render(request, "missions/new.html", context, status=refused.status if refused else 200)
