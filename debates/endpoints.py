"""HTTP endpoints of debates. Authentication and the format of errors belong to the site.

Why so: runs/DESIGN.md, The API.
"""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from ninja import Query

from engine.models.budgets import BudgetExceeded
from runs.api.endpoints import run_router
from runs.api.errors import ApiError, FieldErrors, field_errors
from runs.api.idempotent_submit import IdempotencyHeader, checked_encoding, submit_response
from runs.api.rate_limit_headers import count_submission
from runs.api.responses import get_run_or_refuse, json_response, reject_unknown_parameters, run_response
from runs.api.saved import list_answer, saved_one
from runs.api.scopes import TokenScope, credential_of, requires_scope
from runs.procedure.schemas import SoughtSaved, location_response, problem_responses
from runs.rights import EXPORT, SEE, STEER

from . import moderation, procedure, schemas
from .attachments import FILES, DebateAttachments, from_text
from .forms import DebateSubmission, panel_named, values_of_version
from .models import Debate, Panel, PanelChanged, PanelVersion
from .record.xml_export import render_debate_xml
from .responses import message_objects, panel_in_short, panel_object
from .rules.state import SteeringKind

router = run_router("debate")

After = Annotated[int, Query(ge=0, description="The number of the newest message that is known already.")]

# ---- submitting -------------------------------------------------------------------------------------------


@router.post(
    "/debates",
    response={202: schemas.DebateOut},
    openapi_extra=problem_responses(400, 402, 403, 409, 413, 415, 422, 429, also={202: location_response("debate")}),
    summary="Submit a debate",
)
@requires_scope(TokenScope.SUBMIT, "debate")
@count_submission
def submit_debate(request: HttpRequest, asked: schemas.NewDebate, key: IdempotencyHeader = None) -> HttpResponse:
    """Submit a question: two to nine members argue about it until each has stated its verdict; a rule gives the
    outcome.

    Options, members and rules are those that are given, or a panel's. Given values replace the panel's, and then the
    debate is no longer by that panel. 409 if the panel's version is not the one that is named. 402 if a budget has
    less left than the maximum cost, which `estimate` shows: retrying soon does not help. The same request with the
    same key returns the debate that was submitted first.
    """
    attached = _attached(request, asked)
    digests = [one.digest for one in attached.documents] if request.FILES else ()
    return submit_response(request, "debate", asked, key, partial(_submit, request, asked, attached), digests)


def _attached(request: HttpRequest, asked: schemas.NewDebate) -> DebateAttachments:
    found = DebateAttachments(encoding=checked_encoding(asked.encoding))
    for number, one in enumerate(asked.documents):
        found.add(f"documents.{number}", partial(from_text, one.title or "", one.text))
    found.add_files(request.FILES.getlist(FILES))
    return found


def _submit(request: HttpRequest, asked: schemas.NewDebate, attached: DebateAttachments, **once: str) -> Debate:
    faults, panel = FieldErrors(), None
    with faults.has():
        panel = _named(asked)
    own = asked.model_dump(
        exclude={"panel", "version", "options", "members", "documents", "encoding"}, exclude_unset=bool(panel)
    )
    given = {name: list(map(_texts, some)) for name in ("options", "members") if (some := getattr(asked, name))}
    values = {"options": [], "members": [], **(values_of_version(panel) if panel else {}), **own, **given}
    owner = credential_of(request).owner
    submission = DebateSubmission.of(**values, attached=attached, by=owner)
    if not submission.is_valid():
        # while the panel is unknown, what it would have supplied is not reported as missing
        unknown = {"options", "members"} - given.keys() if faults else set()
        found = ((problem.path, problem.message) for problem in submission.problems)
        faults.add((path, said) for path, said in found if path not in unknown)
    faults.raise_if_any()
    try:
        return procedure.submit(owner=owner, limited=True, panel=panel, **once, **submission.values())
    except PanelChanged as error:
        raise ApiError(409, f"{error} Nothing was submitted.") from error


def _named(asked: schemas.NewDebate) -> PanelVersion | None:
    if asked.panel is None:
        missing = [name for name in ("options", "members") if getattr(asked, name) is None]
        if asked.version is not None:
            raise field_errors([("version", "It is a panel's. Name the panel, too.")])
        if missing:
            raise field_errors((name, "Name them, or a panel that has them.") for name in missing)
        return None
    try:
        version = panel_named(asked.panel)
    except ValidationError as error:
        raise field_errors([("panel", str(error.message))]) from error
    if asked.version not in (None, version.number):
        raise ApiError(
            409, f"“{version.name}” has version {version.number} now, not {asked.version}. Nothing was submitted."
        )
    return version


def _texts(one: schemas.NewDebateOption | schemas.NewDebateMember) -> dict[str, str]:
    return {name: value or "" for name, value in one.model_dump().items()}


# ---- panels -----------------------------------------------------------------------------------------------


@router.get(
    "/panels", response=schemas.PanelListOut, openapi_extra=problem_responses(422), summary="The panels to debate by"
)
def panels(request: HttpRequest, asked: Query[SoughtSaved]) -> HttpResponse:
    """List panels with their members and options, without the members' instructions."""
    reject_unknown_parameters(request, *SoughtSaved.model_fields)
    found = [one.current for one in Panel.objects.available().with_content() if one.current]
    return list_answer(asked, found, short=panel_in_short, whole=panel_object)


@router.get(
    "/panels/{name}",
    response=schemas.PanelOut,
    openapi_extra=problem_responses(404, 422),
    summary="One panel, by name or id",
)
def panel(request: HttpRequest, name: str) -> HttpResponse:
    """Return the current version of a panel, with all its content."""
    reject_unknown_parameters(request)
    return json_response(panel_object(saved_one(Panel, name).current))


# ---- messages ---------------------------------------------------------------------------------------------


@router.get(
    "/debates/{uuid:id}/messages",
    response=schemas.DebateMessageListOut,
    openapi_extra=problem_responses(404, 422),
    summary="What was said in a debate",
)
def debate_messages(request: HttpRequest, id: UUID, after: After = 0) -> HttpResponse:
    """List all messages, or those after a number."""
    reject_unknown_parameters(request, "after")
    return json_response({"results": message_objects(get_run_or_refuse(request, id, "debate"), after=after)})


@router.post(
    "/debates/{uuid:id}/messages",
    response={202: schemas.DebateOut},
    openapi_extra=problem_responses(400, 403, 404, 409, 413, 415, 422),
    summary="Say something as the chair",
)
@requires_scope(TokenScope.STEER, "debate")
def post_debate_message(
    request: HttpRequest, id: UUID, asked: schemas.DebateMessageIn, key: IdempotencyHeader = None
) -> HttpResponse:
    """Post a message to everyone or to one member; `ask` gives that member the floor next. 409 with the reason if
    that is not possible."""
    by, to = credential_of(request).owner, None if asked.to == "everyone" else asked.to
    return _done(request, id, partial(moderation.post_message, id, by, asked.text, to=to, ask=asked.ask, key=key or ""))


@router.get(
    "/debates/{uuid:id}/record.xml",
    response={200: None},
    openapi_extra=problem_responses(
        403, 404, also={200: {"content": {"application/xml": {"schema": {"type": "string"}}}}}
    ),
    summary="What was said in a debate, as XML",
)
def debate_xml(request: HttpRequest, id: UUID) -> HttpResponse:
    """Export question, options, members, documents by their digests, all messages, acts and the outcome, in the
    elements that members read. An `Act` names who did it (`by`), the message after which (`after`), and its
    `number` among the acts, which are numbered separately. Only the record has prompts, raw answers and what
    verifies them."""
    reject_unknown_parameters(request)
    text = render_debate_xml(get_run_or_refuse(request, id, "debate", EXPORT))
    return HttpResponse(text, content_type="application/xml; charset=utf-8", headers={"Cache-Control": "no-store"})


# ---- steering ---------------------------------------------------------------------------------------------


@router.post(
    "/debates/{uuid:id}/steer",
    response={202: schemas.DebateOut},
    openapi_extra=problem_responses(400, 402, 403, 404, 409, 413, 415, 422),
    summary="Steer a debate",
)
@requires_scope(TokenScope.STEER, "debate")
def steer_debate(
    request: HttpRequest, id: UUID, asked: schemas.SteeringIn, key: IdempotencyHeader = None
) -> HttpResponse:
    """Steer a debate. As the chair: give a member the floor next, allow twenty more messages, close after this
    message or at once, end without a closing, recall a withdrawn member, give up a member whose model fails. As
    a person on a seat: withdraw. 409 with the reason if that is not possible."""
    by, once = credential_of(request).owner, key or ""
    if asked.kind == SteeringKind.WITHDRAW:
        leave = partial(moderation.withdraw_member, id, by, asked.verdict or "", asked.reasoning or "", once)
        return _done(request, id, leave, seated=True)
    act = partial(moderation.apply_steering, id, by, asked.kind, seat=asked.member, amount=asked.amount, key=once)
    return _done(request, id, act)


def _done(request: HttpRequest, pk: UUID, do: Callable[[], Any], *, seated: bool = False) -> HttpResponse:
    """Apply a change and return the run. `seated`: done by a person on a seat, who need not have the right to
    steer."""
    get_run_or_refuse(request, pk, "debate", SEE if seated else STEER)
    try:
        do()
    except moderation.ModerationRefused as refused:
        raise ApiError(409, str(refused)) from refused
    except BudgetExceeded as error:
        raise ApiError(402, str(error)) from error
    return run_response(request, get_run_or_refuse(request, pk, "debate"), HTTPStatus.ACCEPTED)
