import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from engine.llm import model_list, providers
from engine.models.budgets import Budget, BudgetExceeded
from engine.models.rate_limits import RateLimitReached
from runs import retention
from runs.form_carry_over import TransferredForm, extra_fields, form_pages, transferred_form
from runs.forms import parse_number, posted_values
from runs.views.start import typical_cost

from .. import procedure
from ..estimate import estimate
from ..examples import EXAMPLES, JudgementExample, example_by_key
from ..forms import JudgementContentForm, JudgementSubmission, posted_agents
from ..models import AgentValues, Council, CouncilChanged, CouncilRequired, CouncilVersion, Judgement
from ..presets import describe_changes
from ..rerun import earlier_judgement


@require_http_methods(["GET", "POST"])
def start_judgement(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return _first_page(request)
    posted = posted_values(request.POST)
    if come := transferred_form(posted):
        return _come(request, posted, come)
    earlier = earlier_judgement(posted.get("again", ""), request.user)
    submission = JudgementSubmission(posted)
    if not submission.is_valid():
        return _input_page(request, submission, _chosen(posted), _archived(request, posted), earlier=earlier)
    values = submission.values()
    opened = _opened(posted, values["agents"])
    try:
        judgement = procedure.submit(
            owner=request.user, council=opened, earlier=earlier, limited=True, watched=True, **values
        )
    except CouncilChanged as changed:
        return _overtaken(request, posted, changed, earlier)
    except CouncilRequired as error:
        # without a chosen council, the next one that is chosen brings its own agents
        return _input_page(request, submission, NO_COUNCIL, RefusedJudgement(403, str(error)), earlier=earlier)
    except BudgetExceeded as error:
        return _input_page(request, submission, _chosen(posted), RefusedJudgement(402, str(error)), earlier=earlier)
    except RateLimitReached as reached:
        page = _input_page(request, submission, _chosen(posted), RefusedJudgement(429, str(reached)), earlier=earlier)
        page.headers["Retry-After"] = str(reached.seconds)
        return page
    return redirect("live", judgement.pk)


def _come(request: HttpRequest, posted: Mapping[str, str], come: TransferredForm) -> HttpResponse:
    """Show the page with the text of another procedure's page. Agents that were written here before are kept."""
    chosen = _chosen(posted) if "a1-name" in posted else _as_it_is(_preselected(request))
    agents = posted_agents(posted) if "a1-name" in posted else chosen.council.agents() if chosen.council else None
    submission = JudgementSubmission(initial={"title": come.title, "content": come.text}, agents=agents)
    return _input_page(request, submission, chosen)


OWN_FIELDS = re.compile("|".join([*JudgementContentForm.base_fields, r"council|version|again|a\d-\w+"]))


def draft_context(
    request: HttpRequest,
    posted: Mapping[str, str],
    saved: Council | None = None,
    refused: "RefusedJudgement | None" = None,
) -> HttpResponse:
    """Show the input page again with its draft, after a detour to save the agents as a council."""
    submission = JudgementSubmission(initial=posted, agents=saved.agents() if saved else posted_agents(posted))
    chosen = _as_it_is(saved) if saved else _chosen(posted)
    earlier = earlier_judgement(posted.get("again", ""), request.user)
    refused = refused or (None if saved else _archived(request, posted))
    return _input_page(request, submission, chosen, refused, saved=saved, earlier=earlier)


# ---- where the agents come from ---------------------------------------------------------------------------


@dataclass(frozen=True)
class ChosenCouncil:
    """The council chosen on the page, and the number of the version that the page's agents came from."""

    council: Council | None = None
    version: int = 0


NO_COUNCIL = ChosenCouncil()


@dataclass(frozen=True)
class RefusedJudgement:
    """Why a judgement was not started, and what has changed in its council since the page was opened."""

    status: int
    sentence: str
    changes: Sequence[str] = ()


def _first_page(request: HttpRequest) -> HttpResponse:
    if example := example_by_key(request.GET.get("example", "")):
        chosen, agents = _to_try(request, example)
        return _input_page(request, JudgementSubmission(initial={"content": example.content}, agents=agents), chosen)
    council = _preselected(request)
    earlier = earlier_judgement(request.GET.get("again", ""), request.user)
    if earlier is None:
        return _input_page(
            request, JudgementSubmission(agents=council.agents() if council else None), _as_it_is(council)
        )
    still = _still(earlier)
    if still or _may_choose_agents(request):
        return _input_page(request, _once_more(earlier, earlier.agents_as_put()), _as_it_is(still), earlier=earlier)
    council = _council_of(earlier) or council
    submission = _once_more(earlier, council.agents() if council else [])
    return _input_page(request, submission, _as_it_is(council), earlier=earlier)


def _to_try(request: HttpRequest, example: JudgementExample) -> tuple[ChosenCouncil, Sequence[AgentValues]]:
    """Return the council that has an example's agents, and the agents. Without such a council they are the user's
    own; users who may not choose agents get those of the first council."""
    offered = Council.objects.available().with_content()
    council = next((one for one in offered if example.is_of(one.agents())), None)
    if council is None and not _may_choose_agents(request):
        council = offered.first()
    agents = council.agents() if council else example.agents(settings.DEFAULT_MODEL)
    return _as_it_is(council), agents


def _may_choose_agents(request: HttpRequest) -> bool:
    """Return whether the user may choose any agents. Otherwise the page offers only a council's agents, unchanged."""
    return cast(User, request.user).has_perm("judgements.own_agents")


def _as_it_is(council: Council | None) -> ChosenCouncil:
    return ChosenCouncil(council, council.number if council else 0)


def _chosen(posted: Mapping[str, str]) -> ChosenCouncil:
    return ChosenCouncil(_council(posted.get("council", "")), parse_number(posted.get("version", "")))


def _opened(posted: Mapping[str, str], agents: Sequence[AgentValues]) -> CouncilVersion | None:
    """Return the version that the page's agents came from. If the page names none, it is the newest one that has
    them."""
    council = Council.objects.filter(pk=parse_number(posted.get("council", ""))).first()
    if council is None:
        return None
    number = parse_number(posted.get("version", ""))
    return council.versions.filter(number=number).first() or council.version_of(agents)


def _overtaken(
    request: HttpRequest, posted: Mapping[str, str], changed: CouncilChanged, earlier: Judgement | None
) -> HttpResponse:
    """Show the posted values again with the council's current agents, so that starting with them is a decision. If
    the council is archived, the posted agents stay, as the user's own."""
    council = _council(str(changed.saved.pk))
    submission = JudgementSubmission(initial=posted, agents=council.agents() if council else posted_agents(posted))
    then = "Its current agents are below. Start again to judge by them." if council else _instead(request)
    differs = (
        describe_changes(changed.opened.as_saved(), council.current.as_saved()) if council and council.current else []
    )
    refused = RefusedJudgement(409, f"{changed} {then}", differs)
    return _input_page(request, submission, _as_it_is(council), refused, earlier=earlier)


def _archived(request: HttpRequest, posted: Mapping[str, str]) -> RefusedJudgement | None:
    """Return that the chosen council was archived, or None if it was not."""
    council = Council.objects.filter(pk=parse_number(posted.get("council", ""))).exclude(archived=None).first()
    return (
        RefusedJudgement(200, f"The council “{council.name}” was archived meanwhile. {_instead(request)}")
        if council
        else None
    )


def _instead(request: HttpRequest) -> str:
    """Return what to do if a council was archived."""
    without = ", or start again without its name: its agents are still below"
    return f"It judges nothing new. Choose another one{without if _may_choose_agents(request) else ''}."


def _once_more(earlier: Judgement, agents: Sequence[AgentValues]) -> JudgementSubmission:
    return JudgementSubmission(initial=earlier.as_submitted(), agents=agents)


def _still(earlier: Judgement) -> Council | None:
    """Return the council of that judgement if it is still available and still has these agents."""
    council = _council_of(earlier)
    return council if council and council.agents() == earlier.agents_as_put() else None


def _council_of(earlier: Judgement) -> Council | None:
    """Return the council of that judgement in its current version, if it is still available."""
    council = earlier.council_version.council if earlier.council_version else None
    return council if council and not council.archived else None


def _input_page(
    request: HttpRequest,
    submission: JudgementSubmission,
    chosen: ChosenCouncil,
    refused: RefusedJudgement | None = None,
    saved: Council | None = None,
    earlier: Judgement | None = None,
) -> HttpResponse:
    context = {
        "form": submission.content,
        "agents": submission.agents,
        "problems": submission.problems,
        "refused": refused,
        "saved": saved,
        "earlier": earlier,
        # the chosen one first, so that it is always visible
        "councils": sorted(Council.objects.available().with_content(), key=lambda offered: offered != chosen.council),
        "council": chosen.council.pk if chosen.council else None,
        "came_from": chosen.version,
        "fixed": not _may_choose_agents(request),
        "models": model_list.offered_models(model_list.declared_models()),
        "kept_for": _kept_for(chosen.council),
        "rehearsal": not settings.PROVIDERS,
        "examples": () if earlier else EXAMPLES,  # a rerun offers no examples
        # open if there are errors to correct, or no names for the short form
        "change_open": any(form.errors or not form["name"].value() for form in submission.agents),
        "first_visit": request.method == "GET" and not earlier and not _has_judged(request),
        "kinds": form_pages(),
        "begun": "new",
        "come": "judgement",
        "along": extra_fields(posted_values(request.POST), OWN_FIELDS.fullmatch),
        "page": "new",
    }
    return render(request, "judgements/new.html", context, status=refused.status if refused else 200)


def _has_judged(request: HttpRequest) -> bool:
    return Judgement.objects.filter(run__owner=request.user.pk).exists()


def _preselected(request: HttpRequest) -> Council | None:
    """Return the council that a link names, else the first one."""
    if "council" in request.GET:
        return _council(request.GET["council"])
    return Council.objects.available().with_content().first()


def _kept_for(council: Council | None) -> str:
    return council.kept if council else retention.format_days(settings.RETENTION_DAYS)


def _council(pk: str) -> Council | None:
    return Council.objects.available().with_content().filter(pk=parse_number(pk)).first()


# ---- parts of the page ------------------------------------------------------------------------------------


@require_GET
def council_agents(request: HttpRequest) -> HttpResponse:
    """Return the three agents of a council or of an example, or three empty ones, as cards and in short, with their
    retention time. For an example, an event carries its text to the page."""
    example = example_by_key(request.GET.get("example", ""))
    if example:
        chosen, agents = _to_try(request, example)
    else:
        chosen = _as_it_is(_council(request.GET.get("council", "")))
        agents = chosen.council.agents() if chosen.council else []
    context = {
        "agents": JudgementSubmission(agents=agents).agents,
        "came_from": chosen.version,
        "fixed": not _may_choose_agents(request),
        "kept_for": _kept_for(chosen.council),
    }
    response = render(request, "judgements/_council_agents.html", context)
    if example:
        council = str(chosen.council.pk) if chosen.council else ""
        trigger_client_event(response, "example-came", {"content": example.content, "council": council})
    return trigger_client_event(response, "agents-changed", after="settle")


@require_GET
def model_suggestions(request: HttpRequest) -> HttpResponse:
    """Return the options of the model fields. The page requests them after it has loaded: providers may be slow."""
    models = model_list.offered_models(async_to_sync(model_list.model_suggestions)())
    return render(request, "judgements/_models.html", {"models": models})


@require_POST
def expected_cost(request: HttpRequest) -> HttpResponse:
    """Return the estimated cost of the judgement on the page, as far as it is filled in."""
    posted = {key: str(value) for key, value in request.POST.items()}
    submission = JudgementSubmission(posted)
    agents = [{key: posted.get(f"{form.prefix}-{key}", "") for key in form.fields} for form in submission.agents]
    models = [agent["model"] for agent in agents]
    rehearsal = all(providers.is_rehearsal(model) for model in models)
    context = {
        "estimate": estimate(posted.get("content", ""), agents) if all(models) else None,
        "rehearsal": rehearsal,
        "alike": _alike(models),
        "sameness": providers.independence_warning(models) if all(models) else "",
        "budgets": Budget.objects.for_user(request.user.pk),
        "usual": typical_cost("judgement", rehearsed=rehearsal),
    }
    return render(request, "judgements/_cost.html", context)


def _alike(models: Sequence[str]) -> str:
    """Return how many agents ask the same model, in few words; empty if no two do."""
    asked = [model for model in models if model and not providers.is_rehearsal(model)]
    return {2: "two ask one model", 3: "all ask one model"}.get(max(map(asked.count, asked), default=0), "")
