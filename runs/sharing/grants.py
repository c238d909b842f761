"""Access to one record for users with an account. Granting and revoking it is noted in the record.

Why so: runs/DESIGN.md, Sharing.
"""

from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils import timezone

from engine.models import Run, after_deadlock

from .. import reviews
from ..formatting import user_label
from ..models import AccessGrant
from ..models.grants import TO_LENGTH
from ..rights import SEE
from ..show_notes import ended_note, made_note
from .links import share_refusal

MAX_GRANTS = 100  # users and groups of one record
PERSON, GROUP = "person", "group"
UNKNOWN_NAME_TEXT = "There is nobody and no group of that name."


def find_grantee(name: str) -> tuple[Any, Any]:
    """Return the user or the group of this name, the other being None.

    Raises ValueError with a message if there is none or more than one.
    """
    people, groups = _called(name)
    if not people and not groups:
        raise ValueError(UNKNOWN_NAME_TEXT)
    if len(people) + len(groups) > 1:
        raise ValueError(f"More than one is called “{name}”: write “person {name}” or “group {name}”.")
    if people:
        return people[0], None
    if not User.objects.filter(groups=groups[0], is_active=True).exists():
        raise ValueError(f"Nobody is a member of “{groups[0].name}”.")
    return None, groups[0]


def _called(name: str) -> tuple[list[User], list[Group]]:
    """Return all users and groups with this name. The prefix "person" or "group" selects one of both."""
    sort, _, rest = name.partition(" ")
    people = User.objects.filter(username__in=_names(name, sort, rest, PERSON), is_active=True)
    return list(people), list(Group.objects.filter(name__in=_names(name, sort, rest, GROUP)))


def _names(name: str, said: str, rest: str, sort: str) -> list[str]:
    return [name, rest.strip()] if said.casefold() == sort else [name]


@after_deadlock
@transaction.atomic
def grant_access(run: Run, by: Any, name: str) -> AccessGrant:
    """Grant access and note it in the record. Raises ValueError with a message if it is refused."""
    run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    if reason := share_refusal(run):
        raise ValueError(reason)
    user, group = find_grantee(name)
    if user and SEE.covers(user, run):
        raise ValueError(f"{user_label(user)} may see it already.")
    to = user_label(user) if user else f"group {group.name}"
    there = AccessGrant.objects.filter(run=run, ended=None)
    if there.filter(user=user, group=group).exists():
        raise ValueError(f"It was given to {to} already.")
    if there.count() >= MAX_GRANTS:
        raise ValueError(
            f"{MAX_GRANTS} people and groups were given it, as many as there may be. Take it back from one first."
        )
    given = AccessGrant.objects.create(run=run, user=user, group=group, to=to[:TO_LENGTH], by=by)
    reviews.add_note(run, by, made_note(given))
    return given


@after_deadlock
@transaction.atomic
def revoke_access(given: AccessGrant, by: Any) -> None:
    """Revoke it immediately, also for users who have the record open."""
    run = Run.objects.select_for_update(no_key=True).get(pk=given.run_id)
    if AccessGrant.objects.filter(pk=given.pk, ended=None).update(ended=timezone.now()):
        reviews.add_note(run, by, ended_note(given))
