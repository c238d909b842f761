"""Who may do what with whose runs. Every door asks here: pages, API, sockets, streams, exports and admin.

Why so: docs/decisions.md, Rights.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeVar

from django.contrib.auth import get_backends
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q, QuerySet, Value

from engine.models import Gate, Run

from .models.grants import Given

User = AbstractBaseUser | AnonymousUser
Rows = TypeVar("Rows", bound=QuerySet[Any])


class PermissionReach(IntEnum):
    """How far a right goes."""

    NOTHING = 0
    OWN = 1
    ALL = 2


@dataclass(frozen=True)
class RunRight:
    """To do one thing: with the permission to everybody's runs, without it to one's own, if `own`, or to none.

    Whatever it is, it reaches no further than what one may see, and whoever is asked at a gate of a run may see that
    run. So may whoever was given it, and with the permission take it as a file; nobody passes on what they were given.
    What was asked at a gate where persons decide first is seen by nobody before they have. To be staff gives
    nothing: it opens the admin's door.
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
        """Those of these rows that it reaches to; `owner`: where a row says whose its run is."""
        reach = self.reach(user)
        if reach == PermissionReach.NOTHING:
            return rows.none()
        rows = rows.exclude(pk__in=_hidden_from(user))
        if reach == PermissionReach.ALL:
            return rows
        own, asked = Q(**{owner: user.pk}), self.asked(user)
        return rows.filter(own | Q(pk__in=asked)) if asked else rows.filter(own)

    def asked(self, user: User) -> Sequence[Any]:
        """The runs that it takes in beside one's own: those at whose gates one was asked, and those one was given."""
        if self.reach(user) != PermissionReach.OWN:
            return ()
        at_gates = _asked(user) if self == SEE else ()
        return (*at_gates, *_given(user)) if self._takes_given(user) else at_gates

    def _takes_given(self, user: User) -> bool:
        return self == SEE or (self == EXPORT and getattr(user, "has_perm", _has_nothing)(self.permission))

    def one(self, rows: QuerySet[Any], user: User, pk: Any) -> Any | None:
        """The row of this key, a run or a procedure's with its run, where it reaches to it."""
        row = rows.filter(pk=pk).first()
        return row if row is not None and self.covers(user, getattr(row, "run", row)) else None

    def covering(self, users: Collection[Any], run: Run) -> set[Any]:
        """Those of these users, by `pk`, for whom it covers this run. However many, they are asked for at once.

        What a user object remembers of its permissions does not count.
        """
        hiding = Gate.objects.filter(council=run, hides=True).first() if run.parent_id else None
        users = [user for user in users if hiding is None or user.pk in hiding.read_by()]
        # what an owner has anyway, none is asked for
        asked = {user.pk for user in users if not (self.own and user.pk == run.owner_id)}
        having = {name: _having(name, asked) for name in {self.permission, SEE.permission}} if asked else {}

        reaches = {user: self._reach(user, lambda name: user.pk in having.get(name, ())) for user in users}  # noqa: B023
        may = {user.pk for user, reach in reaches.items() if _takes_in(reach, user, run)}
        others = {user.pk for user, reach in reaches.items() if reach > PermissionReach.NOTHING} - may
        if self == SEE and others:
            may |= others & (Gate.objects.filter(run=run).read_by_people() | _given_of(run))
        return may

    def _reach(self, user: User, has: Callable[[str], bool]) -> PermissionReach:
        if not user.is_active:  # nor is whoever has not signed in
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
SHARE = RunRight("engine.export_run", "show it to others")  # by its own right, not because one was given it
REVIEW = RunRight("engine.add_review", "review it", own=False)
# an owner alone may not: it cannot be undone, and takes the texts from everybody
REDACT = RunRight("engine.redact_run", "redact it", own=False)


def _takes_in(reach: PermissionReach, user: User, run: Run) -> bool:
    return reach == PermissionReach.ALL or (
        reach == PermissionReach.OWN and user.pk is not None and run.owner_id == user.pk
    )


def sees_by_grant(user: User, run: Run) -> bool:
    """Whether that it was given lets whoever may see it do so: neither its owner nor whoever may see all."""
    return not _takes_in(SEE.reach(user), user, run) and run.pk in _given(user)


def granted_among(user: Any, runs: Iterable[Any]) -> list[Any]:
    """Those of these runs, by their keys, that this user was given. Nothing is asked of the database for whoever may
    see all, and nothing more than lists have asked for the others."""
    return [] if SEE.reach(user) == PermissionReach.ALL else [run for run in runs if run in _given(user)]


def _hidden_from(user: Any) -> QuerySet[Any]:
    """What is asked at gates that hide it. Few, for they are all pending."""
    return Gate.objects.hidden_from_user(user).order_by().values("council")


def _asked(user: Any) -> Sequence[Any]:
    """The runs at whose gates this user was asked, which its object remembers as it does its permissions.

    Looked up by themselves: beside the owner in one query they would keep a long history from its index.
    """
    _look_beside(user)
    found: Sequence[Any] = user._runs_asked
    return found


def _given(user: Any) -> Collection[Any]:
    """The runs that this user was given by somebody who may still show them, remembered and looked up as `_asked`."""
    _look_beside(user)
    found: Collection[Any] = user._runs_given
    return found


def _look_beside(user: Any) -> None:
    """Both at once; of most people there is neither."""
    if hasattr(user, "_runs_asked"):
        return
    asked, given = Gate.objects.decidable_by(user), Given.objects.active().of(user)
    of = (rows.order_by().values_list("run", Value(number)) for number, rows in enumerate((asked, given)))
    found = set(next(of).union(next(of)))
    user._runs_asked = tuple(run for run, was_given in found if not was_given)
    user._runs_given = (
        {one.run_id for one in still_granted(given)} if any(was_given for _, was_given in found) else set()
    )


def _given_of(run: Run) -> set[Any]:
    return set().union(*(one.all_for_run() for one in still_granted(Given.objects.active().filter(run=run))))


def still_granted(rows: QuerySet[Given]) -> list[Given]:
    """Those of these whose giver could still give it. Each giver is asked for once, however much it gave."""
    found: list[Any] = list(rows)
    reaches = {giver: SHARE.reach(giver) for giver in {one.by for one in found}}
    return [one for one in found if _takes_in(reaches[one.by], one.by, one.run)]


def _has_nothing(permission: str) -> bool:
    return False


def _having(permission: str, users: set[Any]) -> set[Any]:
    """Those of these who have it and are active, in a query for each backend that gives permissions."""
    asked = [backend.with_perm(permission) for backend in get_backends() if hasattr(backend, "with_perm")]
    return {pk for found in asked for pk in found.filter(pk__in=users).values_list("pk", flat=True)}
