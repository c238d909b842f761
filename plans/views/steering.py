"""What people on the live page do to a plan besides deciding. With scripts a form comes back by itself; without them
the page does, or a page of the form with why nothing was done."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engine.steering import Over
from runs.face import faces
from runs.forms import as_number, as_typed, first_errors
from runs.rights import STEER
from runs.views.finding import row_for

from .. import pages, talking
from ..display import heard_by
from ..forms import StepForm, WordsForm
from ..models import Plan, Step
from ..models.reading import why_not
from ..rules.actions import OVER, PlanAction

SAID = "Said. It is heard before the next move."


@require_POST
def say(request: HttpRequest, pk: UUID) -> HttpResponse:
    plan = row_for(request, faces()["plan"], pk, STEER)
    form = WordsForm(as_typed(request.POST))
    if not form.is_valid():
        return _words(request, plan, 422, line=" ".join(sentence for _, sentence in first_errors(form)))
    try:
        talking.say(pk, request.user, form.cleaned_data["text"], as_number(request.POST.get("to", "")) or None)
    except (talking.Refused, talking.NoSuchStep, Over) as refused:
        return _words(request, plan, 409, line=_why(refused))
    if request.htmx:  # type: ignore[attr-defined]
        return _words(request, plan, 200, line=SAID)
    return redirect(faces()["plan"].page_name("live"), pk)


def _words(request: HttpRequest, plan: Plan, status: int, **more: Any) -> HttpResponse:
    typed = "" if status == 200 else request.POST.get("text", "")
    context = {
        "display": {"id": str(plan.pk)},
        **heard_by(plan),
        "typed": typed,
        "to": as_number(request.POST.get("to", "")),
        "refused": status != 200,
        **more,
    }
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "plans/_say.html", context, status=status)
    return render(request, "plans/said.html", {**faces()["plan"].page(plan.pk), **context}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def step(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """The form that changes a step that has not begun."""
    plan = row_for(request, faces()["plan"], pk, STEER)
    found = next((one for one in plan.steps_now if one.number == number), None)
    if found is None:
        raise Http404
    if request.method != "POST":
        if refused := why_not(PlanAction.CHANGE, plan, found):
            return _change(request, plan, found, 409, problems=[("", refused)])
        return _change(request, plan, found)
    form = StepForm(as_typed(request.POST), tools=request.POST.getlist(f"tools {request.POST.get('owner', '')}"))
    if not form.is_valid():
        return _change(request, plan, found, 422, problems=first_errors(form))
    try:
        talking.change_step(pk, request.user, number, _change_of(found, form, request))
    except talking.Wrong as wrong:
        return _change(request, plan, found, 422, problems=list(wrong.problems))
    except (talking.Refused, Over) as refused:
        return _change(request, plan, found, 409, problems=[("", _why(refused))])
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "plans/_changed.html", {"step": found})
    return redirect(faces()["plan"].page_name("live"), pk)


def _change_of(step: Step, form: StepForm, request: HttpRequest) -> dict[str, Any]:
    """With no tools where the planner is to name them: its box is ticked, and nobody has chosen any anew."""
    asked = form.change
    same = asked["owner"] == step.owner and set(asked["tools"]) == set(step.tools)
    untouched = same or (asked["owner"] != step.owner and not asked["tools"])
    return {**asked, "tools": None} if request.POST.get("planner") and untouched else asked


def _change(request: HttpRequest, plan: Plan, found: Step, status: int = 200, **more: Any) -> HttpResponse:
    context = {"step": found, "display": {"id": str(plan.pk)}, **pages.change_of(plan, found), **more}
    if status != 200:
        context |= {name: request.POST.get(name, "") for name in ("action", "needs")}
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "plans/_change.html", context, status=status)
    return render(
        request, "plans/change.html", {**faces()["plan"].page(plan.pk), "plan": plan, **context}, status=status
    )


def _why(refused: Exception) -> str:
    return OVER if isinstance(refused, Over) else str(refused)
