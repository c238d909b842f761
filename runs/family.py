"""Which run has made another or is about it, and which that one has made: as far as somebody may see them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from engine.models import Fork, Gate, Run
from engine.search import label

from .face import Snapshot, face_of, faces
from .fragments import Fragment, fragment_of
from .models.search import ABOUT, SearchText, found_by
from .rights import SEE, User

MOST = 100


@dataclass(frozen=True)
class Relative:
    """Another run beside this one, and the step that binds them."""

    step: str
    title: str
    word: str
    address: str


def family_of(run: Run, user: User) -> dict[str, Any]:
    """What a page says of both."""
    parent = Run.objects.filter(pk=run.parent_id).first() if run.parent_id else None
    children = Run.objects.filter(parent=run.pk, procedure__in=faces()).order_by("created", "pk")
    return {
        "made_by": _relative(parent, step_of(run)) if parent and SEE.covers(user, parent) else None,
        "about": _relative(about, "") if (about := _about(run)) and SEE.covers(user, about) else None,
        "about_it": [_relative(one, "") for one in SEE.within(_about_it(run.pk), user)[:MOST]] if run.over else [],
        "forked_from": forked_from(run, user),
        "forks": [_relative(one, place_of(one.fork)) for one in SEE.within(_forks(run), user)[:MOST]],
        "made": [_relative(child, step_of(child)) for child in SEE.within(children, user)[:MOST]],
    }


def _forks(run: Run) -> QuerySet[Run]:
    found = Run.objects.filter(fork__origin=run.pk, procedure__in=faces())
    return found.select_related("fork__origin").order_by("created", "pk")


def forked_from(run: Run, user: User) -> Relative | None:
    """The run from which this one goes on, where this person may see it."""
    fork = Fork.objects.filter(run=run.pk).select_related("origin").first()
    return _relative(fork.origin, place_of(fork)) if fork and SEE.covers(user, fork.origin) else None


def place_of(fork: Fork) -> str:
    """Where it left its origin, as in "after step 3"."""
    forks = face_of(fork.origin).forks
    return f"after {forks.unit if forks else 'step'} {fork.number}"


def note_about(run: UUID, other: UUID) -> None:
    """This run is about what came of the other one: each then leads to the other. It says nothing to anybody else, and
    is no part of the record, for its text names the other one."""
    SearchText.objects.add(run, [label(ABOUT, other.hex)])


def _about(run: Run) -> Run | None:
    marks = SearchText.objects.labels_of([run.pk]).get(run.pk, set())
    found = next((one for one in marks if one.startswith(label(ABOUT, ""))), None)
    return Run.objects.filter(pk=UUID(found.removeprefix(label(ABOUT, "")))).first() if found else None


def _about_it(pk: UUID) -> QuerySet[Run]:
    found = found_by(Run.objects.filter(procedure__in=faces()), [[label(ABOUT, pk.hex)]], few=False)
    return Run.objects.filter(pk__in=[run.pk for run in found.only("pk")[:MOST]])


def mark_of(seen: Snapshot[Any]) -> str:
    """Another one as soon as it has made one more, or one of those comes to its end or may be seen. It says nothing of
    them; empty where none is ever made."""
    if not face_of(seen.run).waits:
        return ""
    counts = {name: Count(name) for name in ("pk", "ended", "override", "redacted")}
    made = Run.objects.filter(parent=seen.run.pk).aggregate(**{f"n_{name}": count for name, count in counts.items()})
    return " ".join(map(str, [*made.values(), sum(gate.hides for gate in seen.gates)]))


def mark_shown(mark: str) -> Iterator[Fragment]:
    if mark:
        yield fragment_of("", "made", {"made_mark": mark}, replayed=False)


def step_of(run: Run) -> str:
    """What people call the step that it was made in: of a gate its title, else its place on the page of that run."""
    gate = Gate.objects.filter(council=run.pk).first()
    if gate and gate.title:
        return gate.title
    if run.parent is None:
        return run.step
    key = (run.parent.pk, run.step)
    place, _ = face_of(run.parent).places({key}).get(key, ("", ""))
    return place or run.step


def _relative(run: Run, step: str) -> Relative:
    face = face_of(run)
    return Relative(step, run.shown_title, face.shown(run)[1], face.address("live", run.pk))


def bound_to(run: Run, user: User) -> list[Relative]:
    """What it has made, all the way down, and what has taken over texts of it: both may repeat those of this one."""
    taken = face_of(run).bound(run.pk).values("pk")
    held = Q(pk__in=Run.objects.below(run.pk)) | Q(pk__in=taken) | Q(pk__in=_about_it(run.pk))
    below = Run.objects.filter(held, redacted=None, procedure__in=faces())
    return [_relative(one, one.step) for one in SEE.within(below.order_by("created", "pk"), user)]
