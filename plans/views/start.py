"""The page that starts a plan. It works without scripts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engine.llm.providers import is_rehearsal
from engine.models.budgets import Budget, BudgetExceeded
from engine.models.rate_limits import RateLimitReached
from engine.tools import available_tools
from office import example as office_example
from runs import retention
from runs.form_carry_over import TransferredForm, extra_fields, form_pages, transferred_form
from runs.forms import FieldProblem, first_errors, parse_number, posted_values
from runs.procedure.spec import specs
from runs.views.start import typical_cost

from .. import procedure
from ..estimate import planning_cost
from ..examples import EXAMPLES, example_by_key
from ..forms import NO_TEAM, PlanForm, find_team, plan_to_start_from, too_long_for
from ..models import Plan, Project, Team, TeamChanged, TeamVersion, models_of, queries
from ..projects import similar_plans
from ..rules.approval_policy import TeamPolicy, needs_no_approval
from ..rules.enums import StepEffect
from ..rules.policy_text import POLICY_ICONS, policy_columns, policy_summary

TAKE, LOAD = "take-team", "load-office"
MAY_LOAD = "office.add_person"
DRAFT_PREFIX = "plan-new"
FROM = "from"  # the example plan
OWN_FIELDS = frozenset({*PlanForm.base_fields, "team", "team_version", FROM})
MAX_PLANS_NAMED = 3  # listed plans of a project


@dataclass(frozen=True)
class PlanDraft:
    """Content of the page. `team`: current version of the chosen one; `opened`: number of the version that the page
    showed."""

    form: PlanForm
    team: TeamVersion | None
    opened: int = 0
    problems: list[FieldProblem] = field(default_factory=list)


@dataclass(frozen=True)
class RefusedPlan:
    """Why a plan was not started."""

    status: int
    sentence: str


@require_http_methods(["GET", "POST"])
def start_plan(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return _page(request, _initial_draft(request.GET, _chosen_example(request)))
    posted = posted_values(request.POST)
    if come := transferred_form(posted):
        return _page(request, _from_other_page(posted, come))
    if posted.get("do") == LOAD and request.user.has_perm(MAY_LOAD):
        office_example.load()
    if posted.get("do") in (TAKE, LOAD):
        return _page(request, _from_posted(posted))
    return _submitted(request, posted)


def _submitted(request: HttpRequest, posted: Mapping[str, str]) -> HttpResponse:
    begun = _checked(posted)
    try:
        earlier = plan_to_start_from(posted.get(FROM), request.user)
    except ValidationError as error:
        begun.problems.append(FieldProblem(FROM, "begins", "Begin from", str(error.messages[0])))
    if begun.problems:
        return _page(request, begun)
    asked = {"team": _opened(begun), "earlier": earlier, **begun.form.cleaned_data}
    try:
        plan = procedure.submit(owner=request.user, limited=True, watched=True, **asked)
    except TeamChanged as changed:
        return _overtaken(request, posted, changed)
    except BudgetExceeded as error:
        return _page(request, begun, RefusedPlan(402, str(error)))
    except RateLimitReached as reached:
        page = _page(request, begun, RefusedPlan(429, str(reached)))
        page.headers["Retry-After"] = str(reached.seconds)
        return page
    return redirect("plan-live", plan.pk)


def _checked(posted: Mapping[str, str]) -> PlanDraft:
    form, team = PlanForm(posted, auto_id="%s"), _team(posted.get("team", ""))
    form.is_valid()
    problems = [FieldProblem(name, name, str(form.fields[name].label), text) for name, text in first_errors(form)]
    if team is None:
        text = "Choose who is to do it." if _first_team() else NO_TEAM
        problems.append(FieldProblem("team", "teams", "Team", text))
    elif not problems:
        wrong = too_long_for(form.cleaned_data["task"], team)
        problems += [FieldProblem(name, name, "Task", text) for name, text in wrong]
    return PlanDraft(form, team, parse_number(posted.get("team_version", "")), problems)


def _opened(begun: PlanDraft) -> TeamVersion | None:
    """Return the team version that the page showed; the current one if the page did not say."""
    versions = begun.team.team.versions.filter(number=begun.opened) if begun.team else TeamVersion.objects.none()
    return versions.first() or begun.team


def _overtaken(request: HttpRequest, posted: Mapping[str, str], changed: TeamChanged) -> HttpResponse:
    """Show the page again with the team's current version: to start with it is then the user's decision."""
    again = (
        "Choose another team."
        if changed.saved.archived
        else "Its current settings are below. Start again to plan by that."
    )
    return _page(request, _from_posted(posted), RefusedPlan(409, f"{changed} {again}"))


# ---- initial values -----------------------------------------------------------------------------------------


def _chosen_example(request: HttpRequest) -> Plan | None:
    """Return the chosen example plan, if the user may use it."""
    try:
        return plan_to_start_from(request.POST.get(FROM) or request.GET.get(FROM), request.user)
    except ValidationError:
        return None


def _initial_draft(asked: Mapping[str, Any], earlier: Plan | None) -> PlanDraft:
    if example := example_by_key(asked.get("example", "")):
        return _draft(_named_team(example.team), task=example.task)
    if earlier:
        team = _team(str(earlier.team_version.team_id)) or _first_team()
        return _draft(team, task=earlier.task)
    team = _team(asked.get("team", "")) or _first_team()
    task = _example_task(team, asked.get("task", ""))
    return _draft(team, task=task, matter=asked.get("matter", ""))


def _from_other_page(posted: Mapping[str, str], come: TransferredForm) -> PlanDraft:
    """Take over the text from the page of another procedure; fields that only this page has keep their values."""
    team = _team(posted.get("team", "")) or _first_team()
    return _draft(team, **{**_posted_fields(posted), "task": come.text, "title": come.title})


def _from_posted(posted: Mapping[str, str]) -> PlanDraft:
    """Return what was posted, unchecked."""
    return _draft(_team(posted.get("team", "")), **_posted_fields(posted))


def _posted_fields(posted: Mapping[str, str]) -> dict[str, str]:
    return {name: posted.get(name, "") for name in PlanForm.base_fields}


def _draft(team: TeamVersion | None, **typed: str) -> PlanDraft:
    return PlanDraft(PlanForm(initial=typed, auto_id="%s"), team, team.number if team else 0)


def _team(pk: str) -> TeamVersion | None:
    return next((one for one in _teams() if one.team_id == parse_number(pk)), None)


def _first_team() -> TeamVersion | None:
    return next(iter(_teams()), None)


def _teams() -> list[TeamVersion]:
    """Return the current versions of the available teams."""
    return [one.current for one in Team.objects.available().with_content() if one.current]


def _named_team(name: str) -> TeamVersion | None:
    try:
        return find_team(name)
    except ValidationError:  # it was renamed or archived here
        return _first_team()


def _example_task(team: TeamVersion | None, number: str) -> str:
    """Return the team's example task with this number, counted from one; empty if there is none."""
    tasks = team.examples if team else []
    return tasks[parse_number(number) - 1] if 0 < parse_number(number) <= len(tasks) else ""


# ---- the page -----------------------------------------------------------------------------------------------


def _page(request: HttpRequest, begun: PlanDraft, refused: RefusedPlan | None = None) -> HttpResponse:
    team = begun.team
    offered = sorted(_teams(), key=lambda one: one != team)  # the chosen one is first, so that it is visible
    context = {
        "form": begun.form,
        "problems": begun.problems,
        "refused": refused,
        "teams": [(one, policy_summary(TeamPolicy.of(one.policy))) for one in offered],
        "team": team,
        "asks": policy_columns(TeamPolicy.of(team.policy)) if team else [],
        "hands": _agents_with_tools(team) if team else [],
        "tasks": list(enumerate(team.examples, 1)) if team else [],
        "matters": _matters(request.user),
        **_project_outcomes(request.user, begun.form["matter"].value()),
        **_example_choices(request, begun.form["task"].value()),
        "kept_for": team.team.kept if team else retention.format_days(settings.RETENTION_DAYS),
        "rehearsal": not settings.PROVIDERS,
        "examples": EXAMPLES,
        "bare": request.user.has_perm(MAY_LOAD) and office_example.is_wanted(),
        "loaded": request.POST.get("do") == LOAD,
        "kinds": form_pages(),
        "page": "new",
        "begun": DRAFT_PREFIX,
        "come": "plan",
        "along": extra_fields(posted_values(request.POST), OWN_FIELDS.__contains__),
    }
    return render(request, "plans/new.html", context, status=refused.status if refused else 200)


def _agents_with_tools(team: TeamVersion) -> list[dict[str, Any]]:
    """Return the agents with their tools and the tools' effects."""
    effects = {name: StepEffect(tool.effect) for name, tool in available_tools("plan").items()}
    return [
        {"name": one.name, "tools": [_tool(name, effects.get(name)) for name in one.tools_now]}
        for one in team.agents.all()
    ]


def _tool(name: str, effect: StepEffect | None) -> tuple[str, str, str]:
    return (name, POLICY_ICONS[effect], effect.replace("_", " ")) if effect else (name, "warn", "not there")


def _matters(user: Any) -> list[tuple[str, str]]:
    """Return name and title of the user's open projects, newest first."""
    own = Project.objects.existing().filter(owner=user, closed=None)
    return list(own.order_by("-created").values_list("name", "title")[:100])


def _project_outcomes(user: Any, matter: str | None) -> dict[str, Any]:
    """Return the plans of the project whose outcomes the planner will see."""
    plans = Plan.objects.filter(matter__in=Project.objects.existing().filter(owner=user, name=matter or ""))
    plans = plans.select_related("run")
    over = plans.filter(run__outcome__isnull=False, run__redacted=None).order_by("-run__created")
    face = specs()["plan"]
    shown = [(one.run, face.filter_labels(one.run)[1]) for one in over[:MAX_PLANS_NAMED]]
    return {"remembered": shown}


def _example_choices(request: HttpRequest, task: str | None) -> dict[str, Any]:
    """Return the chosen example plan, and plans with similar tasks."""
    chosen = _chosen_example(request)
    found = [one for one in similar_plans(request.user, task or "") if one != chosen]
    return {"begun_from": chosen, "begins": [chosen, *found] if chosen else found}


@require_POST
def expected_cost(request: HttpRequest) -> HttpResponse:
    """Return the cost of planning the typed task, with the plans that the planner will see."""
    posted = posted_values(request.POST)
    team = _team(posted.get("team", ""))
    context: dict[str, Any] = {"team": team, "budgets": Budget.objects.for_user(request.user.pk)}
    if team:
        models = models_of(team)
        rehearsal = any(map(is_rehearsal, models))
        context |= {
            "planning": planning_cost(posted.get("task", ""), models[0], queries.owners_of(team.agents.all())),
            "rehearsal": rehearsal,
            "unasked": needs_no_approval(TeamPolicy.of(team.policy).plan),
            "usual": typical_cost("plan", rehearsed=rehearsal),
        }
    more = _project_outcomes(request.user, posted.get("matter")) | _example_choices(request, posted.get("task"))
    return render(request, "plans/_cost.html", {**context, **more})
