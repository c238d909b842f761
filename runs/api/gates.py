"""What waits for somebody, and what a program says there.

Why so: docs/decisions.md, Gates.
"""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from ninja import Field, Query, Router, Schema
from pydantic import ConfigDict

from engine.gates import DECISION_LENGTH, MAX_BATCH, Closed, DoesNotFit, NotAsked, NotDecided, TooLate
from engine.models import Gate
from engine.models.gates import Decision
from runs import batches, steering
from runs.batches import Result
from runs.deciding import for_me, may_see, seen_by
from runs.given_looks import note_look

from .answers import address_of, json_answer, missing, take_only
from .objects import gate_entry, gate_object
from .refusals import Refusal, wrong_fields
from .schemas import Flag, Gates, Strict, one_of, problems
from .schemas import Gate as GateObject
from .schemas import text as length
from .scopes import Scope, credential, needs

router = Router()
PAGE = 50
STATUSES: Mapping[type[NotDecided], int] = {NotAsked: 403, Closed: 409, TooLate: 410}


class SoughtGates(Schema):
    """Which of those that wait."""

    model_config = ConfigDict(extra="forbid")

    mine: Flag = Field(False, description="Only those that wait for the owner of the token.")
    full: Flag = Field(False, description="Whole gates, of which each may have hundreds of kilobytes.")
    cursor: int = Field(0, ge=0, description="Where the page begins: part of the address that the page before gives.")


class Said(Strict):
    decision: Annotated[str, one_of(Decision.APPROVE, Decision.REJECT, Decision.ANSWER, Decision.OVERRIDE)] = Field(
        description="Override where a council refuses."
    )
    choice: str = Field("", description="One of the gate's choices, where it has some for this decision.")
    text: Annotated[str, length(DECISION_LENGTH)] = Field("", description="Why, in words; stays in the record.")
    answer: Any = Field(None, description="What the gate asks for, where that is more than words.")
    digest: str = Field(
        "",
        description="SHA-256 of the text that was read: another one is refused with 409. Needed where the decision is "
        "about what is sent out of this installation.",
    )


class GateOfMany(Strict):
    id: int
    digest: str = Field("", description="SHA-256 of the text that was read.")


class SaidAtMany(Strict):
    gates: Annotated[list[GateOfMany], Field(min_length=1, max_length=MAX_BATCH)]
    decision: Annotated[str, one_of(Decision.APPROVE, Decision.REJECT)] = Field(description="Of all of them.")
    choice: str = Field("", description="One of the gates' choices, where they have some for this decision.")
    text: Annotated[str, length(DECISION_LENGTH)] = Field("", description="Why, in words; stays in the record of each.")


class OneDecided(Strict):
    id: int
    status: int = Field(description="As the answer to each alone would have it: 200, 403, 409, 410 or 422.")
    detail: str = Field(description="Why nothing was decided there; empty where it was.")
    gate: GateObject | None


class Decided(Strict):
    results: list[OneDecided]


@router.get(
    "/gates",
    response=Gates,
    openapi_extra=problems(422),
    url_name="gates",
    summary="List what waits to be decided, oldest first",
)
def gates(request: HttpRequest, asked: Query[SoughtGates]) -> HttpResponse:
    take_only(request, *SoughtGates.model_fields)
    owner, address = credential(request).owner, address_of(request)
    found = for_me(owner) if asked.mine else seen_by(owner).pending()
    found = found.whole() if asked.full else found.defer("text")
    rows = list(found.filter(pk__gt=asked.cursor).order_by("pk")[: PAGE + 1])
    page, to_object = rows[:PAGE], gate_object if asked.full else gate_entry
    chosen = {name: 1 for name in ("mine", "full") if getattr(asked, name)}
    further = urlencode(chosen | {"cursor": page[-1].pk}) if len(rows) > PAGE else ""
    following = f"{address}{request.path}?{further}" if further else None
    return json_answer({"results": [to_object(gate, address) for gate in page], "next": following})


def _kind_of_all(request: HttpRequest, said: SaidAtMany) -> str:
    return _found(request, said.gates[0].id).run.procedure


@router.post(
    "/gates/decide",
    response=Decided,
    openapi_extra=problems(400, 403, 404, 413, 415, 422),
    url_name="gates-decide",
    summary="Decide at many gates of one run",
)
@needs(Scope.DECIDE, _kind_of_all)
def decide_all(request: HttpRequest, said: SaidAtMany) -> HttpResponse:
    """The same at gates of one run and one kind, or about one tool. One result each: none stops the others. What
    is sent out is decided one by one: with such a gate among them nothing is decided."""
    found, address = [_found(request, one.id) for one in said.gates], address_of(request)
    read = list(zip(found, (one.digest for one in said.gates), strict=True))
    words = {"decision": said.decision, "text": said.text, "choice": said.choice}
    try:
        results = batches.decide(read, credential(request).owner, **words)
    except DoesNotFit as refused:
        raise wrong_fields(refused.problems) from refused
    return json_answer({"results": [_one_of_many(result, address) for result in results]})


@router.get(
    "/gates/{int:id}", response=GateObject, openapi_extra=problems(404, 422), url_name="gate", summary="Look at a gate"
)
def gate(request: HttpRequest, id: int) -> HttpResponse:
    take_only(request)
    return json_answer(gate_object(_found(request, id), address_of(request)))


def _kind(request: HttpRequest, id: int, said: Said) -> str:
    return _found(request, id).run.procedure


@router.post(
    "/gates/{int:id}/decide",
    response=GateObject,
    openapi_extra=problems(400, 403, 404, 409, 410, 413, 415, 422),
    url_name="gate-decide",
    summary="Decide at a gate",
)
@needs(Scope.DECIDE, _kind)
def decide(request: HttpRequest, id: int, said: Said) -> HttpResponse:
    """The first decision that closes it holds; who comes second gets 409 with who was first."""
    _found(request, id)
    return json_answer(gate_object(decided(request, id, **said.model_dump()), address_of(request)))


def decided(request: HttpRequest, pk: int, **said: Any) -> Gate:
    """The gate after the caller has said this there; refused in a sentence."""
    try:
        return steering.decide(pk, credential(request).owner, **said)
    except DoesNotFit as refused:
        raise wrong_fields(refused.problems) from refused
    except NotDecided as refused:
        raise Refusal(STATUSES[type(refused)], str(refused)) from refused


def _one_of_many(result: Result, address: str) -> dict[str, Any]:
    if not (refused := result.refused):
        return {"id": result.gate.pk, "status": 200, "detail": "", "gate": gate_object(result.gate, address)}
    status = 422 if isinstance(refused, DoesNotFit) else STATUSES[type(refused)]
    return {"id": result.gate.pk, "status": status, "detail": str(refused), "gate": None}


def _found(request: HttpRequest, pk: int) -> Gate:
    found = Gate.objects.whole().filter(pk=pk).first()
    if found is None or not may_see(found, credential(request).owner):
        raise missing("gate")
    note_look(found.run, credential(request).owner)
    return found
