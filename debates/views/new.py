"""The page on which a debate is begun. All of it works without scripts: options and members come and go by buttons."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engine.llm import catalogue, providers
from engine.models.budgets import Budget, BudgetUsedUp
from engine.models.pace import LimitReached
from runs import retention
from runs.face import begun_by_page
from runs.forms import as_typed
from runs.usual import usual

from .. import procedure
from ..estimate import estimate
from ..examples import EXAMPLES, example_called
from ..forms import MOST_MEMBERS, MOST_OPTIONS, SWITCHES, Submission, typed_in
from ..models import MemberValues, OptionValues

CHANGE = re.compile(r"(add|remove)-(option|member)(?:-(\d))?")
BEGUN = "debate-new"


@dataclass(frozen=True)
class Refused:
    """Why a debate was not started."""

    status: int
    sentence: str


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return _page(request, _first(request))
    posted = as_typed(request.POST)
    if change := CHANGE.fullmatch(posted.get("do", "")):
        return _page(request, Submission(**changed(posted, *change.groups())), focus=_focus(posted, change))
    submission = Submission(posted)
    if not submission.is_valid():
        return _page(request, submission)
    try:
        debate = procedure.submit(owner=request.user, limited=True, **submission.values())
    except BudgetUsedUp as error:
        return _page(request, submission, Refused(402, str(error)))
    except LimitReached as reached:
        page = _page(request, submission, Refused(429, str(reached)))
        page.headers["Retry-After"] = str(reached.seconds)
        return page
    return redirect("debate-live", debate.pk)


def _first(request: HttpRequest) -> Submission:
    if example := example_called(request.GET.get("example", "")):
        return Submission(**example.as_typed(settings.DEFAULT_MODEL))
    empty: MemberValues = {"name": "", "who": "", "model": settings.DEFAULT_MODEL}
    options: list[OptionValues] = [{"word": "", "direction": "for"}, {"word": "", "direction": "against"}]
    return Submission(options=options, members=[empty] * 3)


def changed(posted: Mapping[str, str], what: str, noun: str, number: str | None) -> dict[str, Any]:
    """What was typed, with one more or one less of them."""
    typed = typed_in(posted)
    some = typed[f"{noun}s"]
    if what == "add":
        some.append({"model": settings.DEFAULT_MODEL} if noun == "member" else {})
    elif number:
        del some[int(number) - 1 : int(number)]
    return typed


def _focus(posted: Mapping[str, str], change: re.Match[str]) -> str:
    """Where the reader is after it: the new one, or the button that adds."""
    what, noun, _ = change.groups()
    count = len(typed_in(posted)[f"{noun}s"]) + 1
    return f"{noun[0]}{count}-{'word' if noun == 'option' else 'name'}" if what == "add" else f"add-{noun}"


def _page(
    request: HttpRequest, submission: Submission, refused: Refused | None = None, focus: str = ""
) -> HttpResponse:
    problems = submission.problems
    context = {
        "form": submission.own,
        "options": submission.options,
        "members": submission.members,
        "switches": [submission.own[name] for name in SWITCHES],
        "problems": problems,
        "counts": {problem.path: problem.message for problem in problems if problem.path in ("options", "members")},
        "refused": refused,
        "focus": focus,
        "room": {"option": len(submission.options) < MOST_OPTIONS, "member": len(submission.members) < MOST_MEMBERS},
        "spare": {"option": len(submission.options) > 2, "member": len(submission.members) > 2},
        "models": catalogue.offered(catalogue.declared()),
        "kept_for": retention.in_words(settings.RETENTION_DAYS),
        "rehearsal": not settings.PROVIDERS,
        "examples": EXAMPLES,
        "kinds": begun_by_page(),
        "page": "new",
        "begun": BEGUN,
    }
    return render(request, "debates/new.html", context, status=refused.status if refused else 200)


@require_POST
def expected_cost(request: HttpRequest) -> HttpResponse:
    """What the debate on the page may cost at most, as far as it is written."""
    typed = typed_in(as_typed(request.POST))
    members = typed["members"]
    models = [one.get("model", "") for one in members if not one.get("user")]
    written = all(models) and bool(models)
    most = int(typed["most"]) if str(typed.get("most", "")).isdecimal() else 0
    known = (
        estimate(typed.get("question", ""), members, typed.get("timekeeper", ""), min(most, 200)) if written else None
    )
    rehearsal = all(map(providers.is_rehearsal, models))
    context = {
        "estimate": known if most else None,
        "rehearsal": rehearsal,
        "sameness": providers.sameness(models) if written else "",
        "budgets": Budget.objects.of(request.user.pk),
        "usual": usual("debate", rehearsed=rehearsal),
    }
    return render(request, "debates/_cost.html", context)
