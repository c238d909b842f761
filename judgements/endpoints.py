"""The HTTP API of judgements. Who calls, and what an error looks like, is the site's business.

Why so: docs/decisions.md, The API.
"""

from functools import partial
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from ninja import Query

from engine.llm import catalogue
from engine.llm.providers import is_rehearsal
from runs.api.answers import history_answer, json_answer, take_only
from runs.api.endpoints import router_of
from runs.api.limits import submits
from runs.api.refusals import Faults, Refusal, wrong_fields
from runs.api.saved import list_answer, part, saved_one
from runs.api.schemas import SoughtSaved, placed, problems
from runs.api.scopes import Scope, credential, needs
from runs.api.submitting import OnceKey, OneOfMany, submitted, submitted_together
from runs.face import faces
from runs.forms import as_read
from runs.history import History

from . import procedure, receipt_endpoints, rules, schemas
from .filters import HistoryForm
from .forms import Submission, council_named
from .models import Council, CouncilChanged, Judgement

router = router_of("judgement", lists=False)
router.add_router("", receipt_endpoints.router)

# ---- submitting -------------------------------------------------------------------------------------------


@router.post(
    "/judgements",
    response={202: schemas.Judgement},
    openapi_extra=problems(400, 402, 403, 409, 413, 415, 422, 429, also={202: placed("judgement")}),
    summary="Submit a judgement",
)
@needs(Scope.SUBMIT, "judgement")
@submits
def submit(request: HttpRequest, asked: schemas.NewJudgement, key: OnceKey = None) -> HttpResponse:
    """Three agents judge the content: those that are given, or a council's. An agent has name, model and criteria.

    A council judges as it is now: 409 where its version is another than the one that is named. 403 for agents of one's
    own where only councils may be asked. 402 where a budget has not enough left: nothing changes by asking again soon.
    The same request under the same key brings the judgement that was submitted first.
    """
    return submitted(request, "judgement", asked, key, partial(_submit, request, asked))


@router.post(
    "/judgements/batch",
    response={202: schemas.SubmittedJudgements},
    openapi_extra=problems(400, 402, 403, 409, 413, 415, 422, 429),
    summary="Submit many judgements",
)
@needs(Scope.SUBMIT, "judgement")
@submits
def submit_many(request: HttpRequest, asked: schemas.ManyJudgements) -> HttpResponse:
    """All of them are submitted, in this order, or none: then `errors` names each fault under its number. Each counts
    as a submission, and has a key of its own, under which the whole can be sent again."""
    if len(asked.judgements) > settings.USER_SUBMISSIONS:
        most = f"{settings.USER_SUBMISSIONS} at most are submitted at once here."
        raise wrong_fields([("judgements", most)])
    ones = [_one_of_many(request, one) for one in asked.judgements]
    return submitted_together(request, "judgement", ones, "judgements")


def _one_of_many(request: HttpRequest, one: schemas.OneOfMany) -> OneOfMany:
    alone = schemas.NewJudgement(**one.model_dump(exclude={"key"}, exclude_unset=True))
    return OneOfMany(alone, one.key, partial(_submit, request, alone))


def _submit(request: HttpRequest, asked: schemas.NewJudgement, **once: str) -> Judgement:
    faults, council = Faults(), None
    with faults.noted():
        council = _named(asked)
    agents = council.agents() if council else [_values(agent) for agent in asked.agents or ()]
    submission = Submission.of(asked.title or "", asked.content, agents)
    if not submission.is_valid():
        # of agents that are not there nothing is said
        own = [one for one in submission.problems if agents or not one.path.startswith("agents.")]
        faults.add((problem.path, problem.message) for problem in own)
    faults.refuse()
    values = submission.values() | {"council": council.current if council else None}
    try:
        return procedure.submit(owner=credential(request).owner, limited=True, **once, **values)
    except CouncilChanged as error:
        raise Refusal(409, f"{error} Nothing was submitted.") from error


def _named(asked: schemas.NewJudgement) -> Council | None:
    if (asked.agents is None) == (asked.council is None):
        raise wrong_fields([("agents", "Name either three agents or a council, one of the two.")])
    if asked.council is None:
        if asked.version is not None:
            raise wrong_fields([("version", "It is a council's. Name the council, too.")])
        return None
    try:
        council = council_named(asked.council)
    except ValidationError as error:
        raise wrong_fields([("council", str(error.message))]) from error
    number = council.number
    if asked.version not in (None, number):
        raise Refusal(409, f"“{council.name}” has version {number} now, not {asked.version}. Nothing was submitted.")
    return council


def _values(agent: schemas.NewAgent) -> dict[str, str]:
    return {name: value or "" for name, value in agent.model_dump().items()}


# ---- lists ------------------------------------------------------------------------------------------------


@router.get(
    "/judgements",
    response=schemas.Judgements,
    openapi_extra=problems(422),
    summary="List judgements, newest first",
)
def judgements(request: HttpRequest, asked: Query[schemas.SoughtJudgements]) -> HttpResponse:
    take_only(request, *schemas.SoughtJudgements.model_fields)
    history = History(credential(request).owner, _sought(asked), face=faces()["judgement"])
    return history_answer(request, asked, history, "judgement")


@router.get(
    "/councils", response=schemas.Councils, openapi_extra=problems(422), summary="The councils that can be asked"
)
def councils(request: HttpRequest, asked: Query[SoughtSaved]) -> HttpResponse:
    """Who sits there, and not by which criteria they judge."""
    take_only(request, *SoughtSaved.model_fields)
    return list_answer(asked, Council.objects.offered().whole(), short=_council_in_short, whole=_council)


@router.get(
    "/councils/{name}", response=schemas.Council, openapi_extra=problems(404, 422), summary="One council, by name or id"
)
def council(request: HttpRequest, name: str) -> HttpResponse:
    """As it is now, with the criteria of its agents."""
    take_only(request)
    return json_answer(_council(saved_one(Council, name)))


@router.get("/models", response=schemas.Models, openapi_extra=problems(422), summary="The models that can be asked")
async def models(request: HttpRequest) -> HttpResponse:
    """What the providers list, the default model first. Any other name at a known provider may be written, too."""
    take_only(request)
    offered = catalogue.offered(await catalogue.suggestions())
    default = settings.DEFAULT_MODEL
    return json_answer(
        {"results": [{"name": n, "default": n == default, "rehearsal": is_rehearsal(n)} for n in offered]}
    )


def _sought(asked: schemas.SoughtJudgements) -> dict[str, Any]:
    """As the page's filters take it."""
    form = HistoryForm(
        {
            "q": asked.q,
            "outcome": asked.status,
            "council": _number_of(asked.council),
            "since": asked.since,
            "until": asked.until,
        }
    )
    if not form.is_valid():
        names = {"outcome": "status"}
        raise wrong_fields((names.get(name, name), str(errors[0])) for name, errors in form.errors.items())
    return form.sought


def _number_of(council: str) -> int | str:
    """Councils have names here; a renamed one is found by the name that it has now."""
    if not council:
        return ""
    known = Council.objects.values_list("name", "pk")
    return next((pk for name, pk in known if as_read(name) == as_read(council)), council)


def _council(council: Council) -> dict[str, Any]:
    agents = [
        {"seat": seat, **agent, "fallback": agent["fallback"] or None}
        for seat, agent in zip(rules.SEATS, council.agents(), strict=True)
    ]
    version = council.number
    return {"id": council.pk, "name": council.name, "version": version, "agents": agents}


def _council_in_short(council: Council) -> dict[str, Any]:
    found = _council(council)
    return {**found, "agents": [part(agent, "seat", "name", "model") for agent in found["agents"]]}
