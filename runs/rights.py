"""Who may do what with whose runs, for every interface: pages, API, sockets, streams, exports and admin.

Why so: runs/DESIGN.md, Rights.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeVar

from django.contrib.auth import get_backends
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q, QuerySet, Value

from engine.models import Gate, Run

from .models.grants import AccessGrant

User = AbstractBaseUser | AnonymousUser
Rows = TypeVar("Rows", bound=QuerySet[Any])


class PermissionReach(IntEnum):
    """Whose runs a right covers."""

    NOTHING = 0
    OWN = 1
    ALL = 2


@dataclass(frozen=True)
class RunRight:
    """The right to do one thing: with the permission on all runs, otherwise on own runs if `own`, else on none.

    - No right reaches further than the right to see a run.
    - Users who must decide at a gate of a run may see it. So may users with a grant, who may also export it with the
    permission. A grant cannot be passed on.
    - A council's run at a gate where people decide first is hidden from them until they have decided.
    - Being staff grants nothing but access to the admin.
    """

    permission: str
    deed: str
    own: bool = True

    def refusal(self, noun: str) -> str:
        return f"You may see this {noun}, but not {self.deed}. An administrator can give you the right to."

    def reach(self, user: User) -> PermissionReach:
        return self._reach(user, getattr(user, "has_perm", _has_nothing))

    def covers(self, user: User, run: Run) -> bool:
        reach = self.reach(user)
        if (
            reach > PermissionReach.NOTHING
            and run.parent_id
            and Gate.objects.filter(council=run).hidden_from_user(user).exists()
        ):
            return False
        if _takes_in(reach, user, run):
            return True
        if reach == PermissionReach.NOTHING:
            return False
        asked = self == SEE and Gate.objects.filter(run=run).decidable_by(user).exists()
        return asked or (self._takes_given(user) and run.pk in _given(user))

    def within(self, rows: Rows, user: User, owner: str = "owner_id") -> Rows:
        """Filter rows that the right covers; `owner` is the lookup of the run's owner."""
        reach = self.reach(user)
        if reach == PermissionReach.NOTHING:
            return rows.none()
        rows = rows.exclude(pk__in=_hidden_from(user))
        if reach == PermissionReach.ALL:
            return rows
        own, asked = Q(**{owner: user.pk}), self.asked(user)
        return rows.filter(own | Q(pk__in=asked)) if asked else rows.filter(own)

    def asked(self, user: User) -> Sequence[Any]:
        """Return runs that it covers in addition to the user's own: gates to decide, and grants."""
        if self.reach(user) != PermissionReach.OWN:
            return ()
        at_gates = _asked(user) if self == SEE else ()
        return (*at_gates, *_given(user)) if self._takes_given(user) else at_gates

    def _takes_given(self, user: User) -> bool:
        return self == SEE or (self == EXPORT and getattr(user, "has_perm", _has_nothing)(self.permission))

    def one(self, rows: QuerySet[Any], user: User, pk: Any) -> Any | None:
        """Return the row with this key, a run or a procedure's row, if the right covers it; otherwise None."""
        row = rows.filter(pk=pk).first()
        return row if row is not None and self.covers(user, getattr(row, "run", row)) else None

    def covering(self, users: Collection[Any], run: Run) -> set[Any]:
        """Return the keys of those users for whom the right covers this run.

        The number of queries does not depend on the number of users. Permissions cached on a user object are ignored.
        """
        hiding = Gate.objects.filter(council=run, hides=True).first() if run.parent_id else None
        users = [user for user in users if hiding is None or user.pk in hiding.looked_user_keys()]
        # owners need no permission for their own run
        asked = {user.pk for user in users if not (self.own and user.pk == run.owner_id)}
        having = {name: _having(name, asked) for name in {self.permission, SEE.permission}} if asked else {}

        reaches = {user: self._reach(user, lambda name: user.pk in having.get(name, ())) for user in users}  # noqa: B023
        may = {user.pk for user, reach in reaches.items() if _takes_in(reach, user, run)}
        others = {user.pk for user, reach in reaches.items() if reach > PermissionReach.NOTHING} - may
        if self == SEE and others:
            may |= others & (Gate.objects.filter(run=run).asked_user_keys() | _given_of(run))
        return may

    def _reach(self, user: User, has: Callable[[str], bool]) -> PermissionReach:
        if not user.is_active:  # neither is an anonymous user
            return PermissionReach.NOTHING
        here = (
            PermissionReach.ALL
            if has(self.permission)
            else PermissionReach.OWN
            if self.own
            else PermissionReach.NOTHING
        )
        return here if self == SEE else min(here, SEE._reach(user, has))


SEE = RunRight("engine.view_run", "see it")
STEER = RunRight("engine.steer_run", "cancel, retry or steer it")
EXPORT = RunRight("engine.export_run", "take its record as a file")
SHARE = RunRight("engine.export_run", "show it to others")  # by own right; a grant is not enough
REVIEW = RunRight("engine.add_review", "review it", own=False)
# not for an owner alone: it cannot be undone and removes the texts for everybody
REDACT = RunRight("engine.redact_run", "redact it", own=False)


def _takes_in(reach: PermissionReach, user: User, run: Run) -> bool:
    return reach == PermissionReach.ALL or (
        reach == PermissionReach.OWN and user.pk is not None and run.owner_id == user.pk
    )


def sees_by_grant(user: User, run: Run) -> bool:
    """Return whether the user sees the run only by a grant: neither as owner nor by permission."""
    return not _takes_in(SEE.reach(user), user, run) and run.pk in _given(user)


def granted_among(user: Any, runs: Iterable[Any]) -> list[Any]:
    """Return those of these runs, by key, that the user sees by a grant.

    No query for users who may see all; for others none beyond those that lists have already made.
    """
    return [] if SEE.reach(user) == PermissionReach.ALL else [run for run in runs if run in _given(user)]


def _hidden_from(user: Any) -> QuerySet[Any]:
    """Return council runs at gates that hide them. They are few, because all are pending."""
    return Gate.objects.hidden_from_user(user).order_by().values("council")


def _asked(user: Any) -> Sequence[Any]:
    """Return the runs at whose gates the user may decide, cached on the user object like permissions.

    A separate query: combined with the owner, it would keep a long history from its index.
    """
    _look_beside(user)
    found: Sequence[Any] = user._runs_asked
    return found


def _given(user: Any) -> Collection[Any]:
    """Return the runs with a valid grant for this user, cached like `_asked`."""
    _look_beside(user)
    found: Collection[Any] = user._runs_given
    return found


def _look_beside(user: Any) -> None:
    """Read both in one query; most users have neither."""
    if hasattr(user, "_runs_asked"):
        return
    asked, given = Gate.objects.decidable_by(user), AccessGrant.objects.active().of(user)
    of = (rows.order_by().values_list("run", Value(number)) for number, rows in enumerate((asked, given)))
    found = set(next(of).union(next(of)))
    user._runs_asked = tuple(run for run, was_given in found if not was_given)
    user._runs_given = (
        {one.run_id for one in still_granted(given)} if any(was_given for _, was_given in found) else set()
    )


def _given_of(run: Run) -> set[Any]:
    return set().union(*(one.user_keys() for one in still_granted(AccessGrant.objects.active().filter(run=run))))


def still_granted(rows: QuerySet[AccessGrant]) -> list[AccessGrant]:
    """Filter grants whose giver may still share the run. Each giver is checked once."""
    found: list[Any] = list(rows)
    reaches = {giver: SHARE.reach(giver) for giver in {one.by for one in found}}
    return [one for one in found if _takes_in(reaches[one.by], one.by, one.run)]


def _has_nothing(permission: str) -> bool:
    return False


def _having(permission: str, users: set[Any]) -> set[Any]:
    """Return those users who have the permission and are active; one query for each backend."""
    asked = [backend.with_perm(permission) for backend in get_backends() if hasattr(backend, "with_perm")]
    return {pk for found in asked for pk in found.filter(pk__in=users).values_list("pk", flat=True)}
