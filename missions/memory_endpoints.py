"""The HTTP API of long-term memories: read, propose, accept.

Why so: missions/DESIGN.md, Memory.
"""

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from engine.models import record_name
from runs.api.errors import ApiError, field_errors
from runs.api.responses import json_response, not_found, reject_unknown_parameters
from runs.api.scopes import TokenScope, credential_of, requires_scope
from runs.procedure.schemas import problem_responses

from . import memory_review, schemas
from .memory_files import LISTS, InvalidMemoryFile, MemoryFile
from .models import MemoryVersion
from .models.memories import Memory
from .rules import fold_name

router = Router()
ACCEPT = "missions.change_memory"
Library = Annotated[str, Query(description="The name of a library; empty: everybody's.", max_length=80)]


Version = Annotated[int | None, Query(ge=1, description="Another version than the one that holds.")]


def memory_summary(one: MemoryVersion) -> dict[str, Any]:
    memory, mission = one.memory, one.mission_id
    state = "proposed" if one.decided is None else "accepted" if one.accepted else "refused"
    return {
        **{name: getattr(memory, name) for name in ("name", "file", "library")},
        "version": one.number,
        "base": one.base,
        "state": state,
        **{name: getattr(one, name) for name in ("description", "by", "decided_by")},
        "mission": str(mission) if mission else None,
    }


def memory_object(one: MemoryVersion) -> dict[str, Any]:
    return {**memory_summary(one), **{name: getattr(one, name) for name in ("text", *LISTS)}}


@router.get(
    "/memories",
    response=schemas.MemoryListOut,
    openapi_extra=problem_responses(422),
    summary="Long-term memories of crews",
)
def memories(request: HttpRequest, asked: Query[schemas.SoughtMemories]) -> HttpResponse:
    """Current versions and proposals; without texts and lists of readers, unless `full` is set."""
    reject_unknown_parameters(request, *schemas.SoughtMemories.model_fields)
    held = MemoryVersion.objects.current(asked.library).order_by("memory__folded")
    waits = MemoryVersion.objects.proposed().filter(memory__library=asked.library).order_by("pk")
    if asked.full:
        return json_response({"results": list(map(memory_object, held)), "proposals": list(map(memory_object, waits))})
    short = [list(map(memory_summary, some.defer("text", "front", *LISTS))) for some in (held, waits)]
    return json_response(dict(zip(("results", "proposals"), short, strict=True)))


@router.get(
    "/memories/{name}",
    response=schemas.MemoryOut,
    openapi_extra=problem_responses(404, 422),
    summary="One memory, with its text",
)
def memory(request: HttpRequest, name: str, library: Library = "", version: Version = None) -> HttpResponse:
    """The current version, or another one, such as a proposal."""
    reject_unknown_parameters(request, "library", "version")
    one = _named(name, library)
    found = memory_review.current_version(one) if version is None else one.versions.filter(number=version).first()
    if found is None:
        raise not_found("memory")
    return json_response(memory_object(found))


@router.post(
    "/memories",
    response={201: schemas.MemoryOut},
    openapi_extra=problem_responses(400, 403, 409, 413, 415, 422),
    summary="Propose a memory",
)
@requires_scope(TokenScope.SUBMIT, "mission")
def propose_memory(request: HttpRequest, asked: schemas.NewMemory) -> HttpResponse:
    """Missions use it once somebody has accepted it."""
    said = MemoryFile(asked.name, asked.description, asked.text, **_lists(asked))
    version = _done(lambda: memory_review.propose(said, _by(request), library=asked.library, base=0))
    return json_response(memory_object(version), HTTPStatus.CREATED)


@router.patch(
    "/memories/{name}",
    response=schemas.MemoryOut,
    openapi_extra=problem_responses(400, 403, 404, 409, 413, 415, 422),
    summary="Propose another version of a memory",
)
@requires_scope(TokenScope.SUBMIT, "mission")
def change_memory(request: HttpRequest, name: str, asked: schemas.MemoryChange, library: Library = "") -> HttpResponse:
    """Fields that are left out stay as they are. 409 where `base` is no longer the current version."""
    reject_unknown_parameters(request, "library")
    current = memory_review.current_version(_named(name, library))
    if current is None:
        raise not_found("memory")
    texts = {one: getattr(asked, one) for one in ("description", "text") if getattr(asked, one) is not None}
    said = MemoryFile(**{**vars(current.as_file), **texts, **_lists(asked)})
    version = _done(lambda: memory_review.propose(said, _by(request), library=library, base=asked.base))
    return json_response(memory_object(version))


@router.post(
    "/memories/{name}/accept",
    response=schemas.MemoryOut,
    openapi_extra=problem_responses(400, 403, 404, 409, 413, 415, 422),
    summary="Accept or refuse what was proposed",
)
@requires_scope(TokenScope.ACCEPT, "mission")
def accept_memory(
    request: HttpRequest, name: str, asked: schemas.MemoryDecision, library: Library = ""
) -> HttpResponse:
    """An accepted version is used from each agent's next step on. This needs the scope `accept` and the permission to
    change memories, so that programs that propose memories cannot accept them."""
    reject_unknown_parameters(request, "library")
    if not credential_of(request).owner.has_perm(ACCEPT):
        raise ApiError(403, "You may not accept memories. Ask who administers this site for the right to.")
    version = _named(name, library).versions.filter(number=asked.version).first()
    if version is None:
        raise not_found("memory")
    return json_response(
        memory_object(_done(lambda: memory_review.decide_proposal(version.pk, _by(request), asked.accept)))
    )


def _named(name: str, library: str) -> Memory:
    found = Memory.objects.filter(library=library, folded=fold_name(name)).first()
    if found is None:
        raise not_found("memory")
    return found


def _by(request: HttpRequest) -> str:
    return record_name(credential_of(request).owner)


def _lists(asked: schemas.MemoryChange | schemas.NewMemory) -> dict[str, Any]:
    return {name: tuple(getattr(asked, name)) for name in LISTS if getattr(asked, name) is not None}


def _done(do: Callable[[], MemoryVersion]) -> MemoryVersion:
    try:
        return do()
    except (memory_review.MemoryChanged, memory_review.MemoryAlreadyDecided) as late:
        raise ApiError(409, str(late)) from late
    except InvalidMemoryFile as wrong:
        raise field_errors([("memory", str(wrong))]) from wrong
