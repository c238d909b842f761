"""What pages do alike on which something saved is made, changed, locked and archived. What it holds, and how that is
shown, is its procedure's."""

from itertools import pairwise
from typing import Any, Protocol

from django.contrib import messages
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpRequest

from ..saved import Saved


class Submission(Protocol):
    """The form of something saved, once valid: `values` are what `Saved.revise` takes beside who does it."""

    @property
    def retention_days(self) -> int: ...

    def values(self) -> dict[str, Any]: ...

    def refuse_name(self) -> None: ...


def refuse_changer(saved: Saved, user: Any) -> None:
    if not saved.is_editable_by(user):
        raise PermissionDenied(
            f"You may not change the {saved.noun} “{saved.name}”. Ask its owner, or who administers this site."
        )


def founded(model: type[Saved], submission: Submission, owner: Any) -> Any | None:
    """A new one, as the form says; None where the name was taken meanwhile, which the form says then."""
    try:
        return model.objects.found(owner=owner, retention_days=submission.retention_days, **submission.values())
    except IntegrityError:
        submission.refuse_name()
        return None


@transaction.atomic
def revised(saved: Saved, submission: Submission, author: Any, opened: int) -> str:
    """Save all or nothing; the sentence that says what was saved. Raises what `Saved.revise` does."""
    version = saved.revise(author=author, opened=opened, **submission.values())
    said = [f"Version {version.number} is saved."] if version.number > opened else []
    if saved.keep_for(submission.retention_days, author):
        said.append(f"Texts are kept {saved.kept}.")
    return " ".join(said) or "Nothing was changed."


def kept_before(saved: Saved) -> list[dict[str, Any]]:
    """Each change of how long texts are kept, newest first: who changed it when, from what to what."""
    return [
        {"change": now, "days": now.kept, "before": was.kept}
        for was, now in pairwise(saved.changes.all())
        if now.retention_days != was.retention_days
    ][::-1]


def switch(request: HttpRequest, saved: Saved, of_what: str) -> None:
    """Lock, unlock, archive or bring it back, as `do` says. `of_what`: the runs that it starts."""
    refuse_changer(saved, request.user)
    noun = saved.noun
    switches = {  # with what is said of it; where nothing is, the page itself says so from now on
        "lock": (saved.lock, ""),
        "unlock": (saved.unlock, f"The {noun} is unlocked. Whoever may change all {noun}s can change it again."),
        "archive": (saved.archive, ""),
        "bring back": (saved.bring_back, f"The {noun} is back. It is offered for new {of_what} again."),
    }
    turn, said = switches.get(request.POST.get("do", ""), (None, ""))
    if turn is None:
        raise BadRequest
    turn(request.user)
    if said:
        messages.success(request, said)
