from collections.abc import Mapping, Sequence

from asgiref.sync import async_to_sync
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from engine import catalogue, providers
from engine.budgets import Budget, BudgetUsedUp

from .. import procedure, retention
from ..again import earlier_of
from ..estimate import estimate
from ..forms import Submission, agents_in, as_typed
from ..models import AgentValues, Council, CouncilVersion, Judgement, title_of


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    if request.method == "GET" and (earlier := earlier_of(request.GET.get("again", ""), request.user)):
        return _input_page(request, _once_more(earlier), _still(earlier), earlier=earlier)
    if request.method == "GET":
        council = _preselected(request)
        return _input_page(request, Submission(agents=council.agents() if council else None), council)
    posted = as_typed(request.POST)
    council = _council(posted.get("council", ""))
    earlier = earlier_of(posted.get("again", ""), request.user)
    submission = Submission(posted)
    if not submission.is_valid():
        return _input_page(request, submission, council, earlier=earlier)
    values = submission.values()
    version = _version_of(posted.get("council", ""), values["agents"])
    try:
        judgement = procedure.submit(owner=request.user, council=version, earlier=earlier, **values)
    except BudgetUsedUp as error:
        return _input_page(request, submission, council, str(error), earlier=earlier)
    return redirect("live", judgement.pk)


def written_so_far(request: HttpRequest, posted: Mapping[str, str], saved: Council | None = None) -> HttpResponse:
    """The input page again with what was written on it, after a detour to save its agents as a council."""
    submission = Submission(
        title=posted.get("title", ""),
        content=posted.get("content", ""),
        agents=saved.agents() if saved else agents_in(posted),
    )
    council = saved or _council(posted.get("council", ""))
    earlier = earlier_of(posted.get("again", ""), request.user)
    return _input_page(request, submission, council, saved=saved, earlier=earlier)


def _once_more(earlier: Judgement) -> Submission:
    # a title that was taken from the content is taken again from what the content becomes
    title = "" if earlier.title == title_of(earlier.content) else earlier.title
    return Submission(title=title, content=earlier.content, agents=earlier.agents_as_put())


def _still(earlier: Judgement) -> Council | None:
    """The council of that judgement, if it is still offered and still has these agents."""
    council = earlier.council_version.council if earlier.council_version else None
    same = council and not council.archived and council.agents() == earlier.agents_as_put()
    return council if same else None


def _input_page(
    request: HttpRequest,
    submission: Submission,
    council: Council | None,
    refused: str = "",
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
        # the chosen one first: it is always in sight, however many there are
        "councils": sorted(Council.objects.offered().whole(), key=lambda offered: offered != council),
        "council": council.pk if council else None,
        "models": catalogue.offered(catalogue.declared()),
        "kept_for": _kept_for(council),
        "rehearsal": not settings.PROVIDERS,
        "page": "new",
    }
    return render(request, "judgements/new.html", context, status=402 if refused else 200)


def _preselected(request: HttpRequest) -> Council | None:
    """The council that a link names, else the first one."""
    if "council" in request.GET:
        return _council(request.GET["council"])
    return Council.objects.offered().whole().first()


def _kept_for(council: Council | None) -> str:
    return council.kept if council else retention.in_words(settings.RETENTION_DAYS)


def _council(pk: str) -> Council | None:
    return Council.objects.offered().whole().filter(pk=as_number(pk)).first()


def _version_of(pk: str, agents: Sequence[AgentValues]) -> CouncilVersion | None:
    """Whose agents these are, if they are a council's: it may have been archived since the page was loaded."""
    council = Council.objects.filter(pk=as_number(pk)).first()
    return council.version_of(agents) if council else None


def as_number(text: str) -> int:
    """0 for what is none; nothing that we count has it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


@require_GET
def council_agents(request: HttpRequest) -> HttpResponse:
    """The three agent cards of a council, or three empty ones, and how long its texts are kept."""
    council = _council(request.GET.get("council", ""))
    submission = Submission(agents=council.agents() if council else None)
    context = {"agents": submission.agents, "kept_for": _kept_for(council)}
    response = render(request, "judgements/_council_agents.html", context)
    return trigger_client_event(response, "agents-changed", after="settle")


@require_GET
def model_suggestions(request: HttpRequest) -> HttpResponse:
    """The options of the model fields, asked for by the page when it stands: providers may be slow to list theirs."""
    models = catalogue.offered(async_to_sync(catalogue.suggestions)())
    return render(request, "judgements/_models.html", {"models": models})


@require_POST
def expected_cost(request: HttpRequest) -> HttpResponse:
    """What the judgement on the page may cost, as far as it is written."""
    posted = {key: str(value) for key, value in request.POST.items()}
    submission = Submission(posted)
    agents = [{key: posted.get(f"{form.prefix}-{key}", "") for key in form.fields} for form in submission.agents]
    models = [agent["model"] for agent in agents]
    context = {
        "estimate": estimate(posted.get("content", ""), agents) if all(models) else None,
        "rehearsal": all(providers.is_rehearsal(model) for model in models),
        "sameness": providers.sameness(models) if all(models) else "",
        "budgets": Budget.objects.of(request.user.pk),
    }
    return render(request, "judgements/_cost.html", context)
