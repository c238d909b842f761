"""API endpoints for gates: list, read and decide.

Why so: engine/DESIGN.md, Gates.
"""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema
from pydantic import ConfigDict

from engine.gate_decisions import (
    DECISION_LENGTH,
    MAX_BATCH,
    DecisionRefused,
    DecisionTooLate,
    GateClosed,
    InvalidAnswer,
    NotAnApprover,
)
from engine.models import Gate
from engine.models.gates import DecisionValue
from runs import run_actions
from runs.access_log import log_view
from runs.approvals import bulk
from runs.approvals.bulk import BulkResult
from runs.approvals.pending import gates_seen_by, may_see, pending_for

from ..procedure.schemas import Flag, GateListOut, StrictSchema, enum_field, problem_responses
from ..procedure.schemas import GateOut as GateObject
from ..procedure.schemas import text_field as length
from ..run_object import gate_entry, gate_object
from .errors import ApiError, field_errors
from .responses import address_of, json_response, not_found, reject_unknown_parameters
from .scopes import TokenScope, credential_of, requires_scope

router = Router()
PAGE_SIZE = 50
STATUSES: Mapping[type[DecisionRefused], int] = {NotAnApprover: 403, GateClosed: 409, DecisionTooLate: 410}


class GateListQuery(Schema):
    """Which of those that wait."""

    model_config = ConfigDict(extra="forbid")

    mine: Flag = Field(False, description="Only those that wait for the owner of the token.")
    full: Flag = Field(False, description="Whole gates, of which each may have hundreds of kilobytes.")
    cursor: int = Field(0, ge=0, description="Where the page begins: part of the address that the page before gives.")


class DecisionBody(StrictSchema):
    decision: Annotated[
        str, enum_field(DecisionValue.APPROVE, DecisionValue.REJECT, DecisionValue.ANSWER, DecisionValue.OVERRIDE)
    ] = Field(description="Override where a council refuses.")
    choice: str = Field("", description="One of the gate's choices, where it has some for this decision.")
    text: Annotated[str, length(DECISION_LENGTH)] = Field("", description="Why, in words; stays in the record.")
    answer: Any = Field(None, description="What the gate asks for, where that is more than words.")
    digest: str = Field(
        "",
        description="SHA-256 of the text that was read: another one is refused with 409. Needed where the decision is "
        "about what is sent out of this installation.",
    )


class GateReference(StrictSchema):
    id: int
    digest: str = Field("", description="SHA-256 of the text that was read.")


class BulkDecisionBody(StrictSchema):
    gates: Annotated[list[GateReference], Field(min_length=1, max_length=MAX_BATCH)]
    decision: Annotated[str, enum_field(DecisionValue.APPROVE, DecisionValue.REJECT)] = Field(
        description="Of all of them."
    )
    choice: str = Field("", description="One of the gates' choices, where they have some for this decision.")
    text: Annotated[str, length(DECISION_LENGTH)] = Field("", description="Why, in words; stays in the record of each.")


class BulkDecisionResult(StrictSchema):
    id: int
    status: int = Field(description="As the answer to each alone would have it: 200, 403, 409, 410 or 422.")
    detail: str = Field(description="Why nothing was decided there; empty where it was.")
    gate: GateObject | None


class BulkDecisionResponse(StrictSchema):
    results: list[BulkDecisionResult]


@router.get(
    "/gates",
    response=GateListOut,
    openapi_extra=problem_responses(422),
    url_name="gates",
    summary="List what waits to be decided, oldest first",
)
def gates(request: HttpRequest, asked: Query[GateListQuery]) -> HttpResponse:
    reject_unknown_parameters(request, *GateListQuery.model_fields)
    owner, address = credential_of(request).owner, address_of(request)
    found = pending_for(owner) if asked.mine else gates_seen_by(owner).pending()
    found = found.with_decisions() if asked.full else found.defer("text")
    rows = list(found.filter(pk__gt=asked.cursor).order_by("pk")[: PAGE_SIZE + 1])
    page, to_object = rows[:PAGE_SIZE], gate_object if asked.full else gate_entry
    chosen = {name: 1 for name in ("mine", "full") if getattr(asked, name)}
    further = urlencode(chosen | {"cursor": page[-1].pk}) if len(rows) > PAGE_SIZE else ""
    following = f"{address}{request.path}?{further}" if further else None
    return json_response({"results": [to_object(gate, address) for gate in page], "next": following})


def _kind_of_all(request: HttpRequest, said: BulkDecisionBody) -> str:
    return _found(request, said.gates[0].id).run.procedure


@router.post(
    "/gates/decide",
    response=BulkDecisionResponse,
    openapi_extra=problem_responses(400, 403, 404, 413, 415, 422),
    url_name="gates-decide",
    summary="Decide at many gates of one run",
)
@requires_scope(TokenScope.DECIDE, _kind_of_all)
def decide_all(request: HttpRequest, said: BulkDecisionBody) -> HttpResponse:
    """Makes the same decision at gates of one run that have one kind or one tool, with a result for each.

    A refusal at one gate does not stop the others. External actions are decided one by one: with such a gate in the
    list nothing is decided.
    """
    found, address = [_found(request, one.id) for one in said.gates], address_of(request)
    read = list(zip(found, (one.digest for one in said.gates), strict=True))
    words = {"decision": said.decision, "text": said.text, "choice": said.choice}
    try:
        results = bulk.decide_batch(read, credential_of(request).owner, **words)
    except InvalidAnswer as refused:
        raise field_errors(refused.problems) from refused
    return json_response({"results": [_one_of_many(result, address) for result in results]})


@router.get(
    "/gates/{int:id}",
    response=GateObject,
    openapi_extra=problem_responses(404, 422),
    url_name="gate",
    summary="Look at a gate",
)
def gate(request: HttpRequest, id: int) -> HttpResponse:
    reject_unknown_parameters(request)
    return json_response(gate_object(_found(request, id), address_of(request)))


def _kind(request: HttpRequest, id: int, said: DecisionBody) -> str:
    return _found(request, id).run.procedure


@router.post(
    "/gates/{int:id}/decide",
    response=GateObject,
    openapi_extra=problem_responses(400, 403, 404, 409, 410, 413, 415, 422),
    url_name="gate-decide",
    summary="Decide at a gate",
)
@requires_scope(TokenScope.DECIDE, _kind)
def decide(request: HttpRequest, id: int, said: DecisionBody) -> HttpResponse:
    """The first decision that closes the gate is in effect; a later one gets 409 with who was first."""
    _found(request, id)
    return json_response(gate_object(gate_response(request, id, **said.model_dump()), address_of(request)))


def gate_response(request: HttpRequest, pk: int, **said: Any) -> Gate:
    """Decide for the caller and return the gate. Raises ApiError if it is refused."""
    try:
        return run_actions.decide(pk, credential_of(request).owner, **said)
    except InvalidAnswer as refused:
        raise field_errors(refused.problems) from refused
    except DecisionRefused as refused:
        raise ApiError(STATUSES[type(refused)], str(refused)) from refused


def _one_of_many(result: BulkResult, address: str) -> dict[str, Any]:
    if not (refused := result.refused):
        return {"id": result.gate.pk, "status": 200, "detail": "", "gate": gate_object(result.gate, address)}
    status = 422 if isinstance(refused, InvalidAnswer) else STATUSES[type(refused)]
    return {"id": result.gate.pk, "status": status, "detail": str(refused), "gate": None}


def _found(request: HttpRequest, pk: int) -> Gate:
    found = Gate.objects.with_decisions().filter(pk=pk).first()
    if found is None or not may_see(found, credential_of(request).owner):
        raise not_found("gate")
    log_view(found.run, credential_of(request).owner)
    return found
