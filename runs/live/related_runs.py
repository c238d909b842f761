"""Relations between runs, as far as the user may see them: parent, children, forks, and runs about another one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from engine.models import Fork, Gate, Run
from engine.text.search_terms import label_term

from ..models.search import ABOUT, SearchText, matching_runs
from ..procedure.fragments import PageFragment, fragment_of
from ..procedure.spec import RunSnapshot, spec_of_run, specs
from ..rights import SEE, User

MOST = 100


@dataclass(frozen=True)
class RelatedRun:
    """A related run, and the step that connects it."""

    step: str
    title: str
    word: str
    address: str


def related_runs(run: Run, user: User) -> dict[str, Any]:
    """Return the related runs for a page."""
    parent = Run.objects.filter(pk=run.parent_id).first() if run.parent_id else None
    children = Run.objects.filter(parent=run.pk, procedure__in=specs()).order_by("created", "pk")
    return {
        "made_by": _relative(parent, parent_step(run)) if parent and SEE.covers(user, parent) else None,
        "about": _relative(about, "") if (about := _about(run)) and SEE.covers(user, about) else None,
        "about_it": [_relative(one, "") for one in SEE.within(_about_it(run.pk), user)[:MOST]] if run.is_ended else [],
        "forked_from": forked_from(run, user),
        "forks": [_relative(one, place_of(one.fork)) for one in SEE.within(_forks(run), user)[:MOST]],
        "made": [_relative(child, parent_step(child)) for child in SEE.within(children, user)[:MOST]],
    }


def _forks(run: Run) -> QuerySet[Run]:
    found = Run.objects.filter(fork__origin=run.pk, procedure__in=specs())
    return found.select_related("fork__origin").order_by("created", "pk")


def forked_from(run: Run, user: User) -> RelatedRun | None:
    """Return the run from which this one was forked, if the user may see it."""
    fork = Fork.objects.filter(run=run.pk).select_related("origin").first()
    return _relative(fork.origin, place_of(fork)) if fork and SEE.covers(user, fork.origin) else None


def place_of(fork: Fork) -> str:
    """Return the place of the fork in its origin, as in "after step 3"."""
    forks = spec_of_run(fork.origin).forks
    return f"after {forks.unit if forks else 'step'} {fork.number}"


def relation_note(run: UUID, other: UUID) -> None:
    """Note that `run` is about the result of `other`, so that their pages link to each other.

    It reveals nothing to others, and is not in the record, since the text of `run` names the other one.
    """
    SearchText.objects.add(run, [label_term(ABOUT, other.hex)])


def _about(run: Run) -> Run | None:
    marks = SearchText.objects.labels_of([run.pk]).get(run.pk, set())
    found = next((one for one in marks if one.startswith(label_term(ABOUT, ""))), None)
    return Run.objects.filter(pk=UUID(found.removeprefix(label_term(ABOUT, "")))).first() if found else None


def _about_it(pk: UUID) -> QuerySet[Run]:
    found = matching_runs(Run.objects.filter(procedure__in=specs()), [[label_term(ABOUT, pk.hex)]], few=False)
    return Run.objects.filter(pk__in=[run.pk for run in found.only("pk")[:MOST]])


def relation_mark(seen: RunSnapshot[Any]) -> str:
    """Return a mark that changes when a child run is created, ends, is overridden or redacted, or becomes visible.

    It reveals nothing about the children. Empty for procedures without child runs.
    """
    if not spec_of_run(seen.run).waits:
        return ""
    counts = {name: Count(name) for name in ("pk", "ended", "override", "redacted")}
    made = Run.objects.filter(parent=seen.run.pk).aggregate(**{f"n_{name}": count for name, count in counts.items()})
    return " ".join(map(str, [*made.values(), sum(gate.hides for gate in seen.gates)]))


def related_runs_fragment(mark: str) -> Iterator[PageFragment]:
    if mark:
        yield fragment_of("", "made", {"made_mark": mark}, replayed=False)


def parent_step(run: Run) -> str:
    """Return a name for the parent's step: the gate's title, or its place on the parent's page."""
    gate = Gate.objects.filter(council=run.pk).first()
    if gate and gate.title:
        return gate.title
    if run.parent is None:
        return run.step
    key = (run.parent.pk, run.step)
    place, _ = spec_of_run(run.parent).step_labels({key}).get(key, ("", ""))
    return place or run.step


def _relative(run: Run, step: str) -> RelatedRun:
    face = spec_of_run(run)
    return RelatedRun(step, run.shown_title, face.filter_labels(run)[1], face.address("live", run.pk))


def readable_through(run: Run, user: User) -> list[RelatedRun]:
    """Return visible descendants and runs that contain texts of this one, because both may repeat them."""
    taken = spec_of_run(run).related_run_ids(run.pk).values("pk")
    held = Q(pk__in=Run.objects.descendants_of(run.pk)) | Q(pk__in=taken) | Q(pk__in=_about_it(run.pk))
    below = Run.objects.filter(held, redacted=None, procedure__in=specs())
    return [_relative(one, one.step) for one in SEE.within(below.order_by("created", "pk"), user)]
