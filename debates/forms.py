"""Forms that validate a new debate or panel for every interface: page, command line and API."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils import timezone

from engine.llm.tokens import too_long
from engine.models import TITLE_LENGTH, NewDocument
from engine.models.documents import document_label
from engine.names import look_alike
from runs import retention
from runs.forms import FieldProblem, NumberedForm, PlainTextField, SpendField, first_errors
from runs.presets.forms import PresetForm, preset_named

from .attachments import DebateAttachments
from .estimate import least_prompt, tokens_of
from .form_fields import (
    LEAST_MEMBERS,
    LEAST_OPTIONS,
    DebateMemberForm,
    DebateOptionForm,
    DebateRulesForm,
    PanelSeatForm,
    SeatForm,
)
from .models import (
    MOST_MEMBERS,
    MOST_OPTIONS,
    QUESTION_LENGTH,
    SWITCHES,
    MemberDict,
    OptionDict,
    Panel,
    PanelVersion,
)

SEED_WORD_LENGTH = 200

_LEAST = {"option": LEAST_OPTIONS, "member": LEAST_MEMBERS}
_MOST = {"option": MOST_OPTIONS, "member": MOST_MEMBERS}
_SAME = {"option": "word", "member": "name"}  # the field that must be unique
_SEED = re.compile(r"[0-9a-fA-F]{64}")


class DebateForm(DebateRulesForm):
    field_order = ("title", "question")

    title = PlainTextField(max_length=TITLE_LENGTH, label="Title")
    question = PlainTextField(
        max_length=QUESTION_LENGTH, needed="Write what is to be decided. It is empty.", lines=True
    )
    spend = SpendField(help_text="Closing statements are held before it is used up.")
    until = PlainTextField(max_length=40, label="Until", help_text="In UTC. Then it closes, however far it is.")
    seed = PlainTextField(
        max_length=64,
        label="Seed",
        help_text="Of an earlier debate, to hold it again with the same draws.",
    )
    word = PlainTextField(
        max_length=SEED_WORD_LENGTH,
        label="A word for the draw",
        help_text="It takes part in who is drawn, so that nobody can have chosen the seed.",
    )

    def clean_until(self) -> datetime | None:
        given = self.cleaned_data["until"]
        if not given:
            return None
        try:
            moment = datetime.fromisoformat(given)
        except ValueError as error:
            raise ValidationError("Write the moment as in 2026-11-21T18:00, in UTC, or nothing.") from error
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        if moment <= timezone.now():
            raise ValidationError("This moment is over. Name one that is to come, or none.")
        return moment

    def clean_seed(self) -> bytes | None:
        given = self.cleaned_data["seed"]
        if given and not _SEED.fullmatch(given):
            raise ValidationError("A seed has 64 hexadecimal digits. To take part in the draw, give a word instead.")
        return bytes.fromhex(given) if given else None

    def clean(self) -> None:
        if self.cleaned_data.get("seed") and self.cleaned_data.get("word"):
            self.add_error("word", "Give either a seed or a word, one of the two.")


def count_in(posted: Mapping[str, Any], noun: str) -> int:
    """Return how many options or members a page posted, at most one more than permitted: enough to report that."""
    numbers = re.compile(rf"{noun[0]}(\d{{1,2}})-\w+")
    found = (int(match[1]) for key in posted if (match := numbers.fullmatch(key)))
    return min(max(found, default=0), _MOST[noun] + 1)


def typed_in(posted: Mapping[str, Any]) -> dict[str, Any]:
    """Return all values that a page posted, unchecked, as initial values of a form."""
    own: dict[str, Any] = {name: posted.get(name, "") for name in DebateForm.base_fields}
    for noun, form in (("option", DebateOptionForm), ("member", PanelSeatForm)):
        own[f"{noun}s"] = [
            {name: posted.get(f"{noun[0]}{number}-{name}", "") for name in form.base_fields}
            for number in range(1, count_in(posted, noun) + 1)
        ]
    return own


def _places(noun: str, posted: Mapping[str, Any] | None, given: Sequence[Any]) -> list[tuple[int, Any]]:
    """Return the numbers of the forms, each with its initial values."""
    count = max(len(given), _LEAST[noun]) if posted is None else count_in(posted, noun)
    return [(number, given[number - 1] if number <= len(given) else {}) for number in range(1, count + 1)]


class DebateFormset:
    """A form of its own fields, options and members, validated together."""

    seat: type[SeatForm] = DebateMemberForm

    def __init__(
        self,
        own: forms.Form,
        data: Mapping[str, Any] | None,
        options: Sequence[Mapping[str, Any]],
        members: Sequence[Mapping[str, Any]],
        **seated: Any,
    ) -> None:
        self.own = own
        self.options = [DebateOptionForm(number, data, one) for number, one in _places("option", data, options)]
        self.members = [self.seat(number, data, one, **seated) for number, one in _places("member", data, members)]
        self._wrong_counts: list[FieldProblem] = []

    def is_valid(self) -> bool:
        valid = [form.is_valid() for form in (self.own, *self.options, *self.members)]
        for noun, given in self._lists:
            self._refuse_count(noun, len(given))
            self._refuse_equal(noun, given)
        self._refuse_too_few_messages()
        return all(valid) and not self.problems

    def values(self) -> dict[str, Any]:
        """Return all values. Call only if valid."""
        own = dict(self.own.cleaned_data)
        switches = {name: own.pop(name) for name in SWITCHES}
        lists = {f"{noun}s": [form.cleaned_data for form in given] for noun, given in self._lists}
        return {**own, **lists, "switches": switches}

    @property
    def problems(self) -> list[FieldProblem]:
        """Problems of all fields, empty if the form was not posted."""
        found = [
            FieldProblem(name, name, str(self.own.fields[name].label or name.capitalize()), message)
            for name, message in first_errors(self.own)
        ]
        for noun, given in self._lists:
            found += [one for one in self._wrong_counts if one.path == f"{noun}s"]
            for form in given:
                for name, message in first_errors(form):
                    path = f"{noun}s.{form.number - 1}.{name}"
                    found.append(FieldProblem(path, f"{form.prefix}-{name}", f"{form.label}, {name}", message))
        return found

    @property
    def _lists(self) -> list[tuple[str, Sequence[NumberedForm]]]:
        return [("option", self.options), ("member", self.members)]

    def _refuse_count(self, noun: str, count: int) -> None:
        least, most = _LEAST[noun], _MOST[noun]
        if not least <= count <= most:
            problem = FieldProblem(f"{noun}s", f"{noun}s", f"{noun.capitalize()}s", f"Name {least} to {most} of them.")
            self._wrong_counts = [*(one for one in self._wrong_counts if one.path != problem.path), problem]

    def _refuse_equal(self, noun: str, given: Sequence[NumberedForm]) -> None:
        name, earlier = _SAME[noun], dict[str, int]()
        for form in given:
            said = form.cleaned_data.get(name, "")
            if same := look_alike(said, earlier):
                form.add_error(name, f"{noun.capitalize()} {earlier[same]} has this {name} already. Take another.")
            else:
                earlier[said] = form.number

    def _refuse_too_few_messages(self) -> None:
        most = self.own.cleaned_data.get("most")
        if most is not None and most < len(self.members) <= MOST_MEMBERS:
            self.own.add_error("most", f"There are {len(self.members)} members: let each say something.")


class DebateSubmission(DebateFormset):
    """Form of a new debate."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        options: Sequence[OptionDict] = (),
        members: Sequence[MemberDict] = (),
        attached: DebateAttachments | None = None,
        by: User | None = None,
        switches: Mapping[str, bool] | None = None,
        **own: Any,
    ) -> None:
        """`data` as a page posts it (question, o1-word, m1-name, ...); the other arguments are initial values of an
        unposted form, except `attached`, which was read already, and `by`, the user who submits."""
        form = DebateForm(data, initial={**own, **(switches or {})}, auto_id="%s")
        super().__init__(form, data, options, members, by=by)
        self.attached = attached or DebateAttachments()

    @classmethod
    def of(
        cls,
        options: Sequence[Mapping[str, str]],
        members: Sequence[Mapping[str, str]],
        attached: DebateAttachments | None = None,
        by: User | None = None,
        **own: Any,
    ) -> "DebateSubmission":
        """Build the form from values instead of a posted page: texts, numbers, and booleans for switches."""
        data = {key: "on" if value is True else value for key, value in own.items() if value not in (None, "")}
        data = {key: value for key, value in data.items() if value is not False}
        for noun, given in (("option", options), ("member", members)):
            for number, one in enumerate(given[: _MOST[noun] + 1], start=1):
                data |= {f"{noun[0]}{number}-{key}": value for key, value in one.items()}
        return cls(data, attached=attached, by=by)

    def is_valid(self) -> bool:
        super().is_valid()
        self._refuse_person_twice()
        self._refuse_what_is_too_long()
        return not self.problems

    def values(self) -> dict[str, Any]:
        """Return the arguments of `Debate.objects.submit` except the owner. Call only if valid."""
        return {**super().values(), "documents": self.attached.documents}

    @property
    def problems(self) -> list[FieldProblem]:
        return [*super().problems, *self.attached.problems]

    def _refuse_person_twice(self) -> None:
        seats: dict[Any, int] = {}
        for form in self.members:
            user = form.cleaned_data.get("user")
            if user in seats:
                form.add_error("user", f"{user} sits on seat {seats[user]} already. One seat for each person.")
            elif user:
                seats[user] = form.number

    def _refuse_what_is_too_long(self) -> None:
        """Add an error for each model whose context length is known and too small."""
        documents = self.attached.documents
        read = tokens_of(self.own.cleaned_data.get("question", ""), documents)
        needed = least_prompt(read, self.own.cleaned_data.get("most") or 0)
        for form in self.members:
            for name in ("model", "fallback"):
                if said := too_long(form.cleaned_data.get(name, ""), needed, "this debate"):
                    form.add_error(name, f"{said} {_what_to_shorten(documents)}")


def _what_to_shorten(documents: Sequence[NewDocument]) -> str:
    if not documents:
        return "Name another model, allow fewer messages, or shorten the question."
    number, longest = max(enumerate(documents, 1), key=lambda one: len(one[1].text))
    length = f"{document_label(number)}, {longest.title}, with {len(longest.text):,} characters"
    return f"Name another model, or shorten the documents: the longest is {length}."


# ---- panels -------------------------------------------------------------------------------------------------


class PanelForm(PresetForm, DebateRulesForm):
    model = Panel
    field_order = ("name", "retention_days", "short")


class PanelSubmission(DebateFormset):
    """Form of a panel, new or changed: a name, options, rules, and members whose models may be empty."""

    seat = PanelSeatForm

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        panel: Panel | None = None,
        options: Sequence[Mapping[str, Any]] = (),
        members: Sequence[Mapping[str, Any]] = (),
        retention_days: int | None = None,
        switches: Mapping[str, bool] | None = None,
        **own: Any,
    ) -> None:
        """`data` as a page posts it; `panel` is the one to change. `retention_days`: defaults to that of the panel,
        or of a new one."""
        days = (panel or Panel()).kept_days if retention_days is None else retention_days
        start = {"retention_days": days, "short": retention.is_below_half_year(days), **own, **(switches or {})}
        super().__init__(PanelForm(panel, data, initial=start, auto_id="%s"), data, options, members)

    def values(self) -> dict[str, Any]:
        """Return the content of a panel's version. Call only if valid."""
        return {name: value for name, value in super().values().items() if name not in ("retention_days", "short")}

    @property
    def retention_days(self) -> int:
        """Days that texts are stored. Read only if valid."""
        return self.own.cleaned_data["retention_days"]

    def refuse_name(self) -> None:
        cast(PanelForm, self.own).refuse_name()


def panel_named(which: str | int) -> PanelVersion:
    """Return the current version of the available panel with this name or id. Raises ValidationError without one."""
    return preset_named(Panel, which).current


def values_of_version(version: PanelVersion) -> dict[str, Any]:
    """Return the content of a panel's version as `DebateSubmission.of` takes it."""
    values = version.values()
    members = [{name: text for name, text in one.items() if name != "person"} for one in values["members"]]
    return {**values, **values["switches"], "members": members, "switches": None}
