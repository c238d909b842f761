"""Columns of plans that are no evidence, held against what is: the order of steps, and the matter."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Min

from .models import Matter, Plan, Revision, Step

Wrong = Iterator[tuple[UUID, str]]
AT_ONCE = timedelta(minutes=1)  # a matter and its first plan are of one transaction


def out_of_order(runs: Sequence[UUID]) -> Wrong:
    """Whose steps do not stand in the places that its revisions gave them, or were dropped by none of them; of older
    ones nobody knows."""
    revisions: dict[UUID, dict[int, Any]] = defaultdict(dict)
    for one in Revision.objects.filter(plan__in=runs).exclude(planned=None).order_by("number"):
        revisions[one.plan_id][one.number] = one.places
    known = {plan: places for plan, places in revisions.items() if None not in places.values()}
    for step in Step.objects.filter(plan__in=list(known)).order_by("pk"):
        places = known[step.plan_id]
        if _positions(places.values()).get(step.number) != step.position:
            yield step.plan_id, f"Its {step} stands in another place than it was planned for."
        if step.last_in is not None and not _drops(places, step.last_in + 1, step.number):
            yield step.plan_id, f"Its {step} was dropped by another revision than it says."


def _positions(revisions: Iterable[Sequence[int]]) -> dict[int, int]:
    """Of each step, by the last revision that has it."""
    found: dict[int, int] = {}
    for places in revisions:
        last = max(found.values(), default=0)
        found |= {number: position for position, number in enumerate(places, last + 1)}
    return found


def _drops(revisions: Mapping[int, Sequence[int]], by: int, step: int) -> bool:
    """Whether this revision has planned steps, and comes after all that have this one."""
    with_it = max((number for number, places in revisions.items() if step in places), default=0)
    return by > with_it and bool(revisions.get(by))


def of_other_matters(runs: Sequence[UUID]) -> Wrong:
    plans = Plan.objects.filter(pk__in=runs).exclude(matter=None).select_related("run", "matter")
    firsts = Matter.objects.filter(plans__in=plans).annotate(first=Min("plans__run__created"))
    began = dict(firsts.values_list("pk", "first"))
    for plan in plans:
        if plan.matter and (text := _of_matter(plan, plan.matter, began[plan.matter.pk] - plan.matter.created)):
            yield plan.pk, text


def _of_matter(plan: Plan, matter: Matter, late: timedelta) -> str:
    if matter.owner_id != plan.run.owner_id:
        return "Its matter is said to be somebody else's."
    if not -AT_ONCE < late < AT_ONCE:
        return "Its matter was not made with the first plan of it."
    if (matter.erased is None) != bool(matter.name):
        return "Its matter has lost its name, and was not taken away, or has it still."
    if matter.erased and plan.run.created > matter.erased + AT_ONCE:
        return "It was begun in a matter that had been taken away."
    called = plan.matter_name if matter.erased is None and plan.run.redacted is None else None
    return "Its matter was called otherwise." if called is not None and called != matter.name else ""
