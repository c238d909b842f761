"""The outbox as those see it who may: their letters, from which runs and steps these came."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import PermissionsMixin

from engine.models import Letter, Run

from .face import face_of, faces
from .rights import SEE, User

PAGE = 50
MOST_COUNTED = 10_000
State = Letter.State
SIGNS: Mapping[str, str] = {
    State.DRAFT: "idle",
    State.TO_SEND: "clock",
    State.SENDING: "dots",
    State.SENT: "out",
    State.KEPT: "pause",
    State.UNCERTAIN: "warn",
}
WORDS: Mapping[str, str] = {**dict(State.choices), State.KEPT: "Kept", State.UNCERTAIN: "Uncertain"}
ANSWERS: Mapping[str, str] = {
    State.SENT: "It was sent: leave it so",
    State.TO_SEND: "It was not sent: send it now",
    State.KEPT: "Leave it: keep it, and send nothing",
}
"""What a person can say of one of which nobody knows, and what follows."""


@dataclass(frozen=True)
class Post:
    """One letter. `address` leads to the step that wrote it, which is called `place`; one of no run has neither."""

    letter: Letter
    word: str
    sign: str
    title: str = ""
    address: str = ""
    place: str = ""


@dataclass(frozen=True)
class Outbox:
    posts: Sequence[Post]
    counts: Mapping[str, int]
    older: int  # the key of the last one, where there are more


def outbox(user: User, state: str = "", before: int = 0) -> Outbox:
    seen = seen_by(user)
    keys = seen.order_by("-pk").values_list("pk", "state")[:MOST_COUNTED]
    counts = Counter(state for _, state in keys)
    asked = seen.filter(state=state) if state else seen
    asked = asked.filter(pk__lt=before) if before else asked
    found = list(asked.select_related("run").order_by("-pk")[: PAGE + 1])
    older = found[PAGE - 1].pk if len(found) > PAGE else 0
    return Outbox(_posts(found[:PAGE]), counts, older)


def seen_by(user: User) -> Any:
    """The letters that this person may see."""
    everything = Letter.objects.all()
    if isinstance(user, PermissionsMixin) and user.has_perm("engine.view_letter"):
        return everything
    return everything.seen_by(user, SEE.within(Run.objects.all(), user).values("pk"))


def _posts(letters: Sequence[Letter]) -> list[Post]:
    keys = defaultdict(set)
    for one in letters:
        if one.run and one.run.procedure in faces():
            keys[one.run.procedure].add((one.run.pk, one.step))
    places = {name: faces()[name].places(steps) for name, steps in keys.items()}
    return [_post(one, places.get(one.run.procedure, {}) if one.run else {}) for one in letters]


def _post(letter: Letter, places: Mapping[Any, tuple[str, str]]) -> Post:
    said = {"word": WORDS[letter.state], "sign": SIGNS[letter.state]}
    if not letter.run or letter.run.procedure not in faces():
        return Post(letter, **said)
    place, anchor = places.get((letter.run.pk, letter.step), ("", ""))
    address = face_of(letter.run).address("live", letter.run.pk)
    address = f"{address}#{anchor}" if anchor else address
    return Post(letter, **said, title=letter.run.shown_title, address=address, place=place)
