"""The outbox for its viewers: emails with the runs and steps that wrote them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import PermissionsMixin

from engine.models import Letter, Run

from ..procedure.spec import spec_of_run, specs
from ..rights import SEE, User

PAGE = 50
MOST_COUNTED = 10_000
State = Letter.State
STATE_ICONS: Mapping[str, str] = {
    State.DRAFT: "idle",
    State.TO_SEND: "clock",
    State.SENDING: "dots",
    State.SENT: "out",
    State.KEPT: "pause",
    State.UNCERTAIN: "warn",
}
STATE_LABELS: Mapping[str, str] = {**dict(State.choices), State.KEPT: "Kept", State.UNCERTAIN: "Uncertain"}
RESOLUTIONS: Mapping[str, str] = {
    State.SENT: "It was sent: leave it so",
    State.TO_SEND: "It was not sent: send it now",
    State.KEPT: "Leave it: keep it, and send nothing",
}
"""Decisions of a person about an uncertain email, with their effect."""


@dataclass(frozen=True)
class OutboxEmail:
    """One email. `address` leads to the step that wrote it, named `place`; both are empty without a run."""

    letter: Letter
    word: str
    sign: str
    title: str = ""
    address: str = ""
    place: str = ""


@dataclass(frozen=True)
class EmailOutbox:
    posts: Sequence[OutboxEmail]
    counts: Mapping[str, int]
    older: int  # the key of the last one if there are more, else 0


def outbox(user: User, state: str = "", before: int = 0) -> EmailOutbox:
    seen = emails_seen_by(user)
    keys = seen.order_by("-pk").values_list("pk", "state")[:MOST_COUNTED]
    counts = Counter(state for _, state in keys)
    asked = seen.filter(state=state) if state else seen
    asked = asked.filter(pk__lt=before) if before else asked
    found = list(asked.select_related("run").order_by("-pk")[: PAGE + 1])
    older = found[PAGE - 1].pk if len(found) > PAGE else 0
    return EmailOutbox(_posts(found[:PAGE]), counts, older)


def emails_seen_by(user: User) -> Any:
    """Return the emails that this user may see."""
    everything = Letter.objects.all()
    if isinstance(user, PermissionsMixin) and user.has_perm("engine.view_letter"):
        return everything
    return everything.seen_by(user, SEE.within(Run.objects.all(), user).values("pk"))


def _posts(letters: Sequence[Letter]) -> list[OutboxEmail]:
    keys = defaultdict(set)
    for one in letters:
        if one.run and one.run.procedure in specs():
            keys[one.run.procedure].add((one.run.pk, one.step))
    places = {name: specs()[name].step_labels(steps) for name, steps in keys.items()}
    return [_post(one, places.get(one.run.procedure, {}) if one.run else {}) for one in letters]


def _post(letter: Letter, places: Mapping[Any, tuple[str, str]]) -> OutboxEmail:
    said = {"word": STATE_LABELS[letter.state], "sign": STATE_ICONS[letter.state]}
    if not letter.run or letter.run.procedure not in specs():
        return OutboxEmail(letter, **said)
    place, anchor = places.get((letter.run.pk, letter.step), ("", ""))
    address = spec_of_run(letter.run).address("live", letter.run.pk)
    address = f"{address}#{anchor}" if anchor else address
    return OutboxEmail(letter, **said, title=letter.run.shown_title, address=address, place=place)
