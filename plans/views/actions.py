"""Messages and changes of steps from the live page. With scripts the answer is the form alone; without them it is the
live page, or a page with the form and its errors."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engine.run_control import RunEnded
from runs.forms import first_errors, parse_number, posted_values
from runs.procedure.spec import specs
from runs.rights import STEER
from runs.views.row_lookup import row_for

from .. import comments, viewer_actions
from ..display import message_readers
from ..forms import CommentForm, StepEditForm
from ..models import Plan, PlanStep
from ..models.queries import why_not
from ..rules.actions import PLAN_ENDED_TEXT, PlanAction

SAVED_TEXT = "Said. It is heard before the next move."


@require_POST
def post_comment(request: HttpRequest, pk: UUID) -> HttpResponse:
    plan = row_for(request, specs()["plan"], pk, STEER)
    form = CommentForm(posted_values(request.POST))
    if not form.is_valid():
        return _message_form(request, plan, 422, line=" ".join(sentence for _, sentence in first_errors(form)))
    try:
        comments.post_comment(
            pk, request.user, form.cleaned_data["text"], parse_number(request.POST.get("to", "")) or None
        )
    except (comments.CommentRefused, comments.NoSuchStep, RunEnded) as refused:
        return _message_form(request, plan, 409, line=_why(refused))
    if request.htmx:  # type: ignore[attr-defined]
        return _message_form(request, plan, 200, line=SAVED_TEXT)
    return redirect(specs()["plan"].page_name("live"), pk)


def _message_form(request: HttpRequest, plan: Plan, status: int, **more: Any) -> HttpResponse:
    typed = "" if status == 200 else request.POST.get("text", "")
    context = {
        "display": {"id": str(plan.pk)},
        **message_readers(plan),
        "typed": typed,
        "to": parse_number(request.POST.get("to", "")),
        "refused": status != 200,
        **more,
    }
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "plans/_say.html", context, status=status)
    return render(request, "plans/said.html", {**specs()["plan"].page(plan.pk), **context}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def edit_step(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Show or post the form that changes a step that has not started."""
    plan = row_for(request, specs()["plan"], pk, STEER)
    found = next((one for one in plan.steps_now if one.number == number), None)
    if found is None:
        raise Http404
    if request.method != "POST":
        if refused := why_not(PlanAction.CHANGE, plan, found):
            return _step_form(request, plan, found, 409, problems=[("", refused)])
        return _step_form(request, plan, found)
    form = StepEditForm(
        posted_values(request.POST), tools=request.POST.getlist(f"tools {request.POST.get('owner', '')}")
    )
    if not form.is_valid():
        return _step_form(request, plan, found, 422, problems=first_errors(form))
    try:
        comments.change_step(pk, request.user, number, _change_of(found, form, request))
    except comments.InvalidComment as wrong:
        return _step_form(request, plan, found, 422, problems=list(wrong.problems))
    except (comments.CommentRefused, RunEnded) as refused:
        return _step_form(request, plan, found, 409, problems=[("", _why(refused))])
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "plans/_changed.html", {"step": found})
    return redirect(specs()["plan"].page_name("live"), pk)


def _change_of(step: PlanStep, form: StepEditForm, request: HttpRequest) -> dict[str, Any]:
    """Return the change; without tools if "the planner names them" is ticked and no tool was chosen."""
    asked = form.change
    same = asked["owner"] == step.owner and set(asked["tools"]) == set(step.tools)
    untouched = same or (asked["owner"] != step.owner and not asked["tools"])
    return {**asked, "tools": None} if request.POST.get("planner") and untouched else asked


def _step_form(request: HttpRequest, plan: Plan, found: PlanStep, status: int = 200, **more: Any) -> HttpResponse:
    context = {"step": found, "display": {"id": str(plan.pk)}, **viewer_actions.step_edit_form(plan, found), **more}
    if status != 200:
        context |= {name: request.POST.get(name, "") for name in ("action", "needs")}
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "plans/_change.html", context, status=status)
    return render(
        request, "plans/change.html", {**specs()["plan"].page(plan.pk), "plan": plan, **context}, status=status
    )


def _why(refused: Exception) -> str:
    return PLAN_ENDED_TEXT if isinstance(refused, RunEnded) else str(refused)
