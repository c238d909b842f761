"""Which run has made another or is about it, and which that one has made: as far as somebody may see them."""

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
    """Another run beside this one, and the step that binds them."""

    step: str
    title: str
    word: str
    address: str


def related_runs(run: Run, user: User) -> dict[str, Any]:
    """What a page says of both."""
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
    """The run from which this one goes on, where this person may see it."""
    fork = Fork.objects.filter(run=run.pk).select_related("origin").first()
    return _relative(fork.origin, place_of(fork)) if fork and SEE.covers(user, fork.origin) else None


def place_of(fork: Fork) -> str:
    """Where it left its origin, as in "after step 3"."""
    forks = spec_of_run(fork.origin).forks
    return f"after {forks.unit if forks else 'step'} {fork.number}"


def relation_note(run: UUID, other: UUID) -> None:
    """This run is about what came of the other one: each then leads to the other. It says nothing to anybody else, and
    is no part of the record, for its text names the other one."""
    SearchText.objects.add(run, [label_term(ABOUT, other.hex)])


def _about(run: Run) -> Run | None:
    marks = SearchText.objects.labels_of([run.pk]).get(run.pk, set())
    found = next((one for one in marks if one.startswith(label_term(ABOUT, ""))), None)
    return Run.objects.filter(pk=UUID(found.removeprefix(label_term(ABOUT, "")))).first() if found else None


def _about_it(pk: UUID) -> QuerySet[Run]:
    found = matching_runs(Run.objects.filter(procedure__in=specs()), [[label_term(ABOUT, pk.hex)]], few=False)
    return Run.objects.filter(pk__in=[run.pk for run in found.only("pk")[:MOST]])


def relation_mark(seen: RunSnapshot[Any]) -> str:
    """Another one as soon as it has made one more, or one of those comes to its end or may be seen. It says nothing of
    them; empty where none is ever made."""
    if not spec_of_run(seen.run).waits:
        return ""
    counts = {name: Count(name) for name in ("pk", "ended", "override", "redacted")}
    made = Run.objects.filter(parent=seen.run.pk).aggregate(**{f"n_{name}": count for name, count in counts.items()})
    return " ".join(map(str, [*made.values(), sum(gate.hides for gate in seen.gates)]))


def relation_visible(mark: str) -> Iterator[PageFragment]:
    if mark:
        yield fragment_of("", "made", {"made_mark": mark}, replayed=False)


def parent_step(run: Run) -> str:
    """What people call the step that it was made in: of a gate its title, else its place on the page of that run."""
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
    """What it has made, all the way down, and what has taken over texts of it: both may repeat those of this one."""
    taken = spec_of_run(run).related_run_ids(run.pk).values("pk")
    held = Q(pk__in=Run.objects.descendants_of(run.pk)) | Q(pk__in=taken) | Q(pk__in=_about_it(run.pk))
    below = Run.objects.filter(held, redacted=None, procedure__in=specs())
    return [_relative(one, one.step) for one in SEE.within(below.order_by("created", "pk"), user)]
