"""What the pages of all presets share: show, create, edit, lock and archive.

Procedures define the content and how it is shown.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Protocol

from django.contrib import messages
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.urls import reverse

from .. import retention
from ..history.rows import build_rows, procedure_rows
from ..procedure.spec import ProcedureSpec
from . import Preset, PresetVersion

NEWEST = 10  # runs on the page of a preset
DescribeChanges = Callable[[Any, Any], list[str]]
"""Returns the differences between two versions, in sentences."""


class PresetSubmission(Protocol):
    """A valid form of a preset; `values` are the arguments of `Preset.revise` except the author."""

    @property
    def retention_days(self) -> int: ...

    def values(self) -> dict[str, Any]: ...

    def refuse_name(self) -> None: ...


def preset_page(
    request: HttpRequest, saved: Preset, versions: Sequence[Any], changes: DescribeChanges
) -> dict[str, Any]:
    """Return the context of a preset's page; `versions` are newest first. Its uses are in `preset_uses`."""
    told = [
        {"version": now, "changes": changes(was, now) if was else []}
        for now, was in zip(versions, [*versions[1:], None], strict=True)
    ]
    return {
        "saved": saved,
        "version": versions[0],
        "versions": told,
        "editable": saved.is_editable_by(request.user),
        "may_make": request.user.has_perm(f"{saved._meta.app_label}.add_{saved.noun}"),
        "obligation": retention.OBLIGATION if retention.is_below_half_year(saved.kept_days) else "",
        "kept_before": previous_retention(saved),
        "page": "library",
    }


def version_page(saved: Preset, versions: Sequence[Any], number: int, changes: DescribeChanges) -> dict[str, Any]:
    """Return the context of the page of one version; `versions` are all of them."""
    numbered = {version.number: version for version in versions}
    if number not in numbered:
        raise Http404
    before = numbered.get(number - 1)
    return {
        "saved": saved,
        "version": numbered[number],
        "changes": changes(before, numbered[number]) if before else [],
        "before": number - 1 if before else None,
        "after": number + 1 if number + 1 in numbered else None,
        "page": "library",
    }


def preset_uses(face: ProcedureSpec[Any, Any], rows: QuerySet[Any], version: str) -> dict[str, Any]:
    """Return the newest of these runs, each with its preset version, which is the column `version`."""
    newest = list(build_rows(rows, face).select_related(version).order_by("-run__created")[:NEWEST])
    versions: list[PresetVersion] = [getattr(one, version) for one in newest]
    return {
        "uses": list(zip(procedure_rows(newest), versions, strict=True)),
        "number": rows.count(),
        "face": face,
        "heading": face.nouns.capitalize(),
        "history": reverse(face.page_name("history")),
    }


def refuse_editor(saved: Preset, user: Any) -> None:
    if not saved.is_editable_by(user):
        raise PermissionDenied(
            f"You may not change the {saved.noun} “{saved.name}”. Ask its owner, or who administers this site."
        )


def create_preset(model: type[Preset], submission: PresetSubmission, owner: Any) -> Any | None:
    """Create a preset from the form; if the name was taken meanwhile, add the form error and return None."""
    try:
        return model.objects.create_first(owner=owner, retention_days=submission.retention_days, **submission.values())
    except IntegrityError:
        submission.refuse_name()
        return None


@transaction.atomic
def revise_preset(saved: Preset, submission: PresetSubmission, author: Any, opened: int) -> str:
    """Save everything or nothing, and return the message for the user. Raises what `Preset.revise` raises."""
    before = saved.name
    version = saved.revise(author=author, opened=opened, **submission.values())
    said = [f"Version {version.number} is saved."] if version.number > opened else []
    if saved.keep_for(submission.retention_days, author):
        said.append(f"Texts are kept {saved.kept}.")
    if saved.name != before and (named_by := saved.named_by()):
        said.append(f"“{before}” is called “{saved.name}” now, and is still meant by {', '.join(named_by)}.")
    return " ".join(said) or "Nothing was changed."


def previous_retention(saved: Preset) -> list[dict[str, Any]]:
    """Return each change of the retention, newest first, with the values before and after."""
    return [
        {"change": now, "days": now.kept, "before": was.kept}
        for was, now in pairwise(saved.changes.all())
        if now.retention_days != was.retention_days
    ][::-1]


def switch_preset(request: HttpRequest, saved: Preset, of_what: str) -> None:
    """Lock, unlock, archive or restore it, as the posted `do` says. `of_what` names the runs that it starts."""
    refuse_editor(saved, request.user)
    noun = saved.noun
    switches = {  # with the message; without one, the page itself shows the change
        "lock": (saved.lock, ""),
        "unlock": (saved.unlock, f"The {noun} is unlocked. Users who may change all {noun}s can change it again."),
        "archive": (saved.archive, ""),
        "bring back": (saved.bring_back, f"The {noun} is back. It is offered for new {of_what} again."),
    }
    turn, said = switches.get(request.POST.get("do", ""), (None, ""))
    if turn is None:
        raise BadRequest
    turn(request.user)
    if said:
        messages.success(request, said)
