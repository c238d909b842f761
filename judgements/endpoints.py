"""HTTP endpoints of judgements. Authentication and the format of errors belong to the site.

Why so: runs/DESIGN.md, The API.
"""

from functools import partial
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from ninja import Query

from engine.llm import model_list
from engine.llm.providers import is_rehearsal
from runs.api.endpoints import run_router
from runs.api.errors import ApiError, FieldErrors, field_errors
from runs.api.idempotent_submit import BatchItem, IdempotencyHeader, submit_many_response, submit_response
from runs.api.rate_limit_headers import count_submission
from runs.api.responses import history_response, json_response, reject_unknown_parameters
from runs.api.saved import list_answer, part, saved_one
from runs.api.scopes import TokenScope, credential_of, requires_scope
from runs.forms import field_label
from runs.history.query import RunHistory
from runs.procedure.schemas import SoughtSaved, location_response, problem_responses
from runs.procedure.spec import specs

from . import procedure, receipts_api, rules, schemas
from .forms import JudgementContentForm, JudgementSubmission, council_named
from .history import JudgementHistoryForm
from .models import Council, CouncilChanged, Judgement

router = run_router("judgement", lists=False)
router.add_router("", receipts_api.router)

# ---- submitting -------------------------------------------------------------------------------------------


@router.post(
    "/judgements",
    response={202: schemas.JudgementOut},
    openapi_extra=problem_responses(400, 402, 403, 409, 413, 415, 422, 429, also={202: location_response("judgement")}),
    summary="Submit a judgement",
)
@requires_scope(TokenScope.SUBMIT, "judgement")
@count_submission
def submit(request: HttpRequest, asked: schemas.NewJudgement, key: IdempotencyHeader = None) -> HttpResponse:
    """Submit a content to three agents or to a council. An agent has a name, a model and criteria.

    A council judges in its current version: 409 if that is not the version that is named. 403 for your own agents
    where only councils are permitted. 402 if a budget has too little left: retrying soon does not help. The same
    request with the same key returns the judgement that was submitted first.
    """
    return submit_response(request, "judgement", asked, key, partial(_submit, request, asked))


@router.post(
    "/judgements/batch",
    response={202: schemas.JudgementBatchOut},
    openapi_extra=problem_responses(400, 402, 403, 409, 413, 415, 422, 429),
    summary="Submit many judgements",
)
@requires_scope(TokenScope.SUBMIT, "judgement")
@count_submission
def submit_many(request: HttpRequest, asked: schemas.NewJudgementBatch) -> HttpResponse:
    """Submit all of them, in this order, or none: then `errors` lists each problem by its number. Each counts as
    one submission and has its own key, so that the whole batch can be sent again."""
    if len(asked.judgements) > settings.USER_SUBMISSIONS:
        most = f"{settings.USER_SUBMISSIONS} at most are submitted at once here."
        raise field_errors([("judgements", most)])
    ones = [_one_of_many(request, one) for one in asked.judgements]
    return submit_many_response(request, "judgement", ones, "judgements")


def _one_of_many(request: HttpRequest, one: schemas.NewJudgementInBatch) -> BatchItem:
    alone = schemas.NewJudgement(**one.model_dump(exclude={"key"}, exclude_unset=True))
    return BatchItem(alone, one.key, partial(_submit, request, alone))


def _submit(request: HttpRequest, asked: schemas.NewJudgement, **once: str) -> Judgement:
    faults, council = FieldErrors(), None
    with faults.has():
        council = _named(asked)
    agents = council.agents() if council else [_values(agent) for agent in asked.agents or ()]
    submission = JudgementSubmission.of(
        {name: getattr(asked, name) or "" for name in JudgementContentForm.base_fields}, agents
    )
    if not submission.is_valid():
        # for missing agents no problem is reported
        own = [one for one in submission.problems if agents or not one.path.startswith("agents.")]
        faults.add((problem.path, problem.message) for problem in own)
    faults.raise_if_any()
    values = submission.values() | {"council": council.current if council else None}
    try:
        return procedure.submit(owner=credential_of(request).owner, limited=True, **once, **values)
    except CouncilChanged as error:
        raise ApiError(409, f"{error} Nothing was submitted.") from error


def _named(asked: schemas.NewJudgement) -> Council | None:
    if (asked.agents is None) == (asked.council is None):
        raise field_errors([("agents", "Name either three agents or a council, one of the two.")])
    if asked.council is None:
        if asked.version is not None:
            raise field_errors([("version", "It is a council's. Name the council, too.")])
        return None
    try:
        council = council_named(asked.council)
    except ValidationError as error:
        raise field_errors([("council", str(error.message))]) from error
    number = council.number
    if asked.version not in (None, number):
        raise ApiError(409, f"“{council.name}” has version {number} now, not {asked.version}. Nothing was submitted.")
    return council


def _values(agent: schemas.NewJudgementAgent) -> dict[str, str]:
    return {name: value or "" for name, value in agent.model_dump().items()}


# ---- lists ------------------------------------------------------------------------------------------------


@router.get(
    "/judgements",
    response=schemas.JudgementListOut,
    openapi_extra=problem_responses(422),
    summary="List judgements, newest first",
)
def judgements(request: HttpRequest, asked: Query[schemas.JudgementListQuery]) -> HttpResponse:
    reject_unknown_parameters(request, *schemas.JudgementListQuery.model_fields)
    history = RunHistory(credential_of(request).owner, _sought(asked), face=specs()["judgement"])
    return history_response(request, asked, history, "judgement")


@router.get(
    "/councils",
    response=schemas.CouncilListOut,
    openapi_extra=problem_responses(422),
    summary="The councils that can be asked",
)
def councils(request: HttpRequest, asked: Query[SoughtSaved]) -> HttpResponse:
    """List councils with their agents, without the criteria."""
    reject_unknown_parameters(request, *SoughtSaved.model_fields)
    return list_answer(asked, Council.objects.available().with_content(), short=_council_in_short, whole=_council)


@router.get(
    "/councils/{name}",
    response=schemas.CouncilOut,
    openapi_extra=problem_responses(404, 422),
    summary="One council, by name or id",
)
def council(request: HttpRequest, name: str) -> HttpResponse:
    """Return the current version of a council, with the criteria of its agents."""
    reject_unknown_parameters(request)
    return json_response(_council(saved_one(Council, name)))


@router.get(
    "/models",
    response=schemas.ModelListOut,
    openapi_extra=problem_responses(422),
    summary="The models that can be asked",
)
async def models(request: HttpRequest) -> HttpResponse:
    """List the models of the providers, the default model first. Any other name at a known provider is accepted
    too."""
    reject_unknown_parameters(request)
    offered = model_list.offered_models(await model_list.model_suggestions())
    default = settings.DEFAULT_MODEL
    return json_response(
        {"results": [{"name": n, "default": n == default, "rehearsal": is_rehearsal(n)} for n in offered]}
    )


def _sought(asked: schemas.JudgementListQuery) -> dict[str, Any]:
    """Return the search terms, checked by the form of the page's filters."""
    form = JudgementHistoryForm({**asked.model_dump(), "outcome": asked.status, "council": _number_of(asked.council)})
    if not form.is_valid():
        names = {"outcome": "status"}
        raise field_errors((names.get(name, name), str(errors[0])) for name, errors in form.errors.items())
    return form.search_terms


def _number_of(council: str) -> int | str:
    """Return the id of the council that has this name now; an unknown name stays as it is."""
    if not council:
        return ""
    known = Council.objects.values_list("name", "pk")
    return next((pk for name, pk in known if field_label(name) == field_label(council)), council)


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
