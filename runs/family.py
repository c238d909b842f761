"""Which run has made another, and which that one has made: as far as somebody may see them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from engine.models import Gate, Run

from .face import Snapshot, face_of, faces
from .fragments import Fragment, fragment_of
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
        "made": [_relative(child, step_of(child)) for child in SEE.within(children, user)[:MOST]],
    }


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
    """What people call the step that it was made in: of a gate its title."""
    gate = Gate.objects.filter(council=run.pk).first()
    return gate.title if gate and gate.title else run.step


def _relative(run: Run, step: str) -> Relative:
    face = face_of(run)
    return Relative(step, run.shown_title, face.shown(run)[1], face.address("live", run.pk))


def bound_to(run: Run, user: User) -> list[Relative]:
    """What it has made, all the way down, and what has taken over texts of it: both may repeat those of this one."""
    taken = face_of(run).bound(run.pk).values("pk")
    held = Q(pk__in=Run.objects.below(run.pk)) | Q(pk__in=taken)
    below = Run.objects.filter(held, redacted=None, procedure__in=faces())
    return [_relative(one, one.step) for one in SEE.within(below.order_by("created", "pk"), user)]
