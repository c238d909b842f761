"""The pages of long-term memories: current versions, proposals of agents, and readers."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from engine.decoding import UnknownEncoding, decoded
from engine.models import record_name
from runs.forms import PlainTextField, posted_values
from runs.text_diff import text_amendments

from .. import memory_files, memory_review
from ..memory_files import DESCRIPTION_LENGTH, LISTS, NAME_LENGTH, TEXT_LENGTH, InvalidMemoryFile, MemoryFile
from ..models import Memory, MemoryVersion
from ..rules import MemoryAccess

LONGEST_FILE = 200_000  # bytes
ADD, CHANGE = "missions.add_memory", "missions.change_memory"
ACCESS_TEXT = {
    MemoryAccess.WHOLE: "has the whole text in every prompt.",
    MemoryAccess.LISTED: "sees name and description, and may activate it.",
    MemoryAccess.NOTHING: "is told nothing of it.",
}
ACCESS_HELP = {
    "except_for": "never get it, whatever is chosen below",
    "active_for": "have the whole text in every prompt",
    "visible_to": "see name and description, and may activate it",
}


class MemoryForm(forms.Form):
    name = PlainTextField(max_length=NAME_LENGTH, needed="Give the memory a name.", label="Name")
    description = PlainTextField(max_length=DESCRIPTION_LENGTH, label="Description")
    text = PlainTextField(max_length=TEXT_LENGTH, lines=True, label="Text")
    active_for = PlainTextField(max_length=4_000, label="Active for")
    visible_to = PlainTextField(max_length=4_000, label="Visible to")
    except_for = PlainTextField(max_length=4_000, label="Except for")

    def as_file(self, front: str = "") -> MemoryFile:
        given = self.cleaned_data
        lists = {name: tuple(filter(None, map(str.strip, given[name].split(",")))) for name in LISTS}
        return MemoryFile(given["name"].strip(), given["description"], given["text"], **lists, front=front)


@require_GET
def memories_page(request: HttpRequest) -> HttpResponse:
    first = MemoryVersion.objects.current().order_by("memory__folded").first()
    return _shown(request, first)


@require_GET
def memory_page(request: HttpRequest, pk: int) -> HttpResponse:
    memory = get_object_or_404(Memory, pk=pk)
    return _shown(request, memory_review.current_version(memory), memory)


def _shown(request: HttpRequest, version: MemoryVersion | None, memory: Memory | None = None) -> HttpResponse:
    memory = memory or (version.memory if version else None)
    asked, tried = request.GET.get("q", "").strip(), request.GET.get("try", "").strip()[:40]
    context: dict[str, Any] = {
        "memory": memory,
        "version": version,
        "versions": list(memory.versions.all()) if memory else [],
        "found": [one for one in MemoryVersion.objects.current().order_by("memory__folded") if _has(one, asked)],
        "q": asked,
        "proposed": [_proposed(one) for one in MemoryVersion.objects.proposed().order_by("pk")],
        "lists": [(name, getattr(version, name), ACCESS_HELP[name]) for name in ACCESS_HELP] if version else [],
        "tried": tried,
        "seen": ACCESS_TEXT[version.visibility_for(tried)] if version and tried else "",
        "may_add": request.user.has_perm(ADD),
        "may_change": request.user.has_perm(CHANGE),
        "page": "library",
    }
    return render(request, "missions/memories/memories.html", context)


def _has(version: MemoryVersion, asked: str) -> bool:
    texts = " ".join((version.memory.name, version.description, version.text)).casefold()
    return all(word in texts for word in asked.casefold().split())


def _proposed(version: MemoryVersion) -> dict[str, Any]:
    """A proposal with its differences from the current version."""
    current = memory_review.current_version(version.memory)
    before = _texts(current) if current else {}
    return {"version": version, "current": current, "changes": text_amendments(before, _texts(version))}


def _texts(version: MemoryVersion) -> dict[str, str]:
    lists = {name.replace("_", " "): ", ".join(getattr(version, name)) for name in LISTS}
    return {"description": version.description, "text": version.text, **lists}


@require_POST
def decide_proposal(request: HttpRequest, pk: int) -> HttpResponse:
    if not request.user.has_perm(CHANGE):
        raise PermissionDenied
    version = get_object_or_404(MemoryVersion, pk=pk)
    try:
        memory_review.decide_proposal(version.pk, record_name(request.user), request.POST.get("do") == "accept")
    except (memory_review.MemoryAlreadyDecided, memory_review.MemoryChanged) as error:
        context = {"line": str(error), "memory": version.memory, "page": "library"}
        return render(request, "missions/memories/refused.html", context, status=409)
    return (
        redirect("memory", version.memory_id) if version.memory.versions.filter(accepted=True) else redirect("memories")
    )


@require_http_methods(["GET", "POST"])
def memory_form(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """Create a memory or a version of one. An uploaded Markdown file only fills in the form."""
    memory = get_object_or_404(Memory, pk=pk) if pk else None
    if not request.user.has_perm(CHANGE if memory else ADD):
        raise PermissionDenied
    current = memory_review.current_version(memory) if memory else None
    if request.method == "GET":
        return _form(
            request, memory, MemoryForm(initial=_as_fields(current.as_file) if current else {}), _number(current)
        )
    posted = posted_values(request.POST)
    if posted.get("do") == "read":
        return _read(request, memory, posted)
    return _saved(request, memory, posted)


def _read(request: HttpRequest, memory: Memory | None, posted: Mapping[str, str]) -> HttpResponse:
    try:
        sent = next(iter(request.FILES.getlist("file")), None)
        initial = _as_fields(memory_files.parse_memory_file(decoded(sent.read(LONGEST_FILE)).text if sent else ""))
    except (UnknownEncoding, InvalidMemoryFile) as error:
        line = str(error) if isinstance(error, InvalidMemoryFile) else f"The file {error}"
        kept = MemoryForm(initial=dict(posted))
        return _form(request, memory, kept, posted.get("base", ""), line=line, status=422)
    return _form(request, memory, MemoryForm(initial=initial), posted.get("base", ""))


def _saved(request: HttpRequest, memory: Memory | None, posted: Mapping[str, str]) -> HttpResponse:
    filled, base = MemoryForm(posted), posted.get("base", "")
    if not filled.is_valid():
        return _form(request, memory, filled, base, status=422)
    current = memory_review.current_version(memory) if memory else None
    said = filled.as_file(current.front if current else "")
    if memory and said.name != memory.name:
        said = MemoryFile(**{**vars(said), "name": memory.name})
    by, number = record_name(request.user), int(base) if base.isdecimal() and len(base) < 9 else 0
    try:
        library = memory.library if memory else ""
        version = memory_review.propose(said, by, library=library, base=number, accepted=True)
    except (InvalidMemoryFile, memory_review.MemoryChanged) as error:
        return _form(request, memory, filled, base, line=str(error), status=422)
    return redirect("memory", version.memory_id)


def _form(
    request: HttpRequest, memory: Memory | None, filled: MemoryForm, base: str, line: str = "", status: int = 200
) -> HttpResponse:
    context = {"form": filled, "memory": memory, "base": base, "line": line, "page": "library", "means": ACCESS_HELP}
    return render(request, "missions/memories/form.html", context, status=status)


def _number(current: MemoryVersion | None) -> str:
    return str(current.number) if current else ""


def _as_fields(said: MemoryFile) -> dict[str, str]:
    lists = {name: ", ".join(getattr(said, name)) for name in LISTS}
    return {"name": said.name, "description": said.description, "text": said.text, **lists}


@require_GET
def memory_file(request: HttpRequest, pk: int) -> HttpResponse:
    memory = get_object_or_404(Memory, pk=pk)
    version = memory_review.current_version(memory)
    text = memory_files.memory_file_text(version.as_file) if version else ""
    answer = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    # otherwise Django would send a non-ASCII name as an encoded word, which browsers do not decode
    answer.headers["Content-Disposition"] = content_disposition_header(True, memory.file)
    return answer
