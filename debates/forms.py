"""What a new debate must be, for every door: the page, the command line, the API."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils import timezone

from engine.llm.prices import DOLLAR
from engine.models import TITLE_LENGTH
from runs.forms import FieldProblem, Text, as_read, first_errors, known_fallback, known_model

from .attached import Attached
from .models import (
    MEANING_LENGTH,
    MOST_MEMBERS,
    MOST_OPTIONS,
    NAME_LENGTH,
    QUESTION_LENGTH,
    SWITCHES,
    USUAL_REPLY,
    WHO_LENGTH,
    WORD_LENGTH,
    Direction,
    MemberValues,
    OptionValues,
    View,
)
from .rules import course as rules
from .rules.outcome import NO_DECISION, Rule

LEAST_MEMBERS, LEAST_OPTIONS = 2, 2
LONGEST_REPLY = 24 * 365  # hours
MOST_DOLLARS = 1_000_000
SEED_WORD_LENGTH = 200

ON_AT_FIRST = ("first", "reply", "call", "challenge")
RESERVED_NAMES = ("Chair", "Timekeeper", "everyone")
RESERVED_WORDS = (rules.ABSTAIN, NO_DECISION, "no decision")
RULES = {
    Rule.MAJORITY: "Majority of all members",
    Rule.TWO_THIRDS: "Two thirds of all members",
    Rule.UNANIMOUS: "All that do not abstain",
    Rule.PLURALITY: "Most verdicts, at least two",
    Rule.MEDIAN: "The middle one of ordered options",
    Rule.NONE: "Nothing: the verdicts stand",
}
_LEAST = {"option": LEAST_OPTIONS, "member": LEAST_MEMBERS}
_MOST = {"option": MOST_OPTIONS, "member": MOST_MEMBERS}
_SAME = {"option": "word", "member": "name"}  # by which they are told from one another
_SEED = re.compile(r"[0-9a-fA-F]{64}")


def _choice(
    label: str, choices: Iterable[tuple[str, str]], initial: str, wrong: str, help_text: str = ""
) -> forms.ChoiceField:
    """Empty is what it is at first."""
    return forms.TypedChoiceField(
        label=label,
        help_text=help_text,
        choices=list(choices),
        required=False,
        initial=initial,
        empty_value=initial,
        error_messages={"invalid_choice": wrong},
    )


class DebateForm(forms.Form):
    title = Text(max_length=TITLE_LENGTH, label="Title")
    question = Text(max_length=QUESTION_LENGTH, needed="Write what is to be decided. It is empty.", lines=True)
    timekeeper = Text(
        max_length=200,
        label="Timekeeper's model",
        help_text="Runs the clock, never judges. What it says of verdicts and time comes from the record, with a "
        "model or without.",
    )
    rule = _choice(
        "What decides",
        RULES.items(),
        Rule.MAJORITY,
        f"There is no such rule. There are: {', '.join(Rule)}.",
        "A tie, or too few, is “no decision”, never a coin.",
    )
    most = forms.IntegerField(
        label="At most so many messages",
        help_text="A reminder every 4, a deadline every 20. You can give more time while it runs.",
        required=False,
        initial=rules.USUAL_MOST,
        min_value=rules.LEAST_MOST,
        max_value=rules.MOST,
        error_messages=dict.fromkeys(
            ("invalid", "min_value", "max_value"), f"Write a number from {rules.LEAST_MOST} to {rules.MOST}."
        ),
    )
    spend = forms.DecimalField(
        label="At most so many dollars",
        help_text="Closing statements are held before it is used up.",
        required=False,
        min_value=Decimal("0.01"),
        max_value=MOST_DOLLARS,
        max_digits=16,
        decimal_places=9,
        error_messages=dict.fromkeys(
            ("invalid", "min_value", "max_value", "max_digits", "max_decimal_places", "max_whole_digits"),
            f"Write an amount in dollars, as in 3.00: at least 0.01 and at most {MOST_DOLLARS:,}. Or nothing.",
        ),
    )
    until = Text(max_length=40, label="Until", help_text="In UTC. Then it closes, however far it is.")
    reply_within = forms.IntegerField(
        label="Hours that a person has for a turn",
        help_text="Then the turn is skipped. Empty: it waits.",
        required=False,
        initial=USUAL_REPLY,
        min_value=1,
        max_value=LONGEST_REPLY,
        error_messages=dict.fromkeys(
            ("invalid", "min_value", "max_value"),
            f"Write a number of hours, 1 to {LONGEST_REPLY:,}, or nothing to wait without end.",
        ),
    )
    first = forms.BooleanField(label="Ask each member alone first", required=False, initial=True)
    reply = forms.BooleanField(label="Who is asked answers next", required=False, initial=True)
    call = forms.BooleanField(label="Call whoever is silent too long", required=False, initial=True)
    challenge = forms.BooleanField(label="When all agree, hear the case against it", required=False, initial=True)
    free_floor = forms.BooleanField(label="The last speaker may be drawn again", required=False)
    view = _choice(
        "How members see it",
        View.choices,
        View.PERSPECTIVE,
        f"There are: {', '.join(View.values)}.",
        "Names alone sway models: held both ways, a debate can be compared.",
    )
    seed = Text(
        max_length=64,
        label="Seed",
        help_text="Of an earlier debate, to hold it again with the same draws.",
    )
    word = Text(
        max_length=SEED_WORD_LENGTH,
        label="A word for the draw",
        help_text="It takes part in who is drawn, so that nobody can have chosen the seed.",
    )

    def clean_timekeeper(self) -> str:
        return known_model(self.cleaned_data["timekeeper"])

    def clean_most(self) -> int:
        given = self.cleaned_data["most"]
        return rules.USUAL_MOST if given is None else given

    def clean_spend(self) -> int | None:
        """In billionths of a dollar."""
        given = self.cleaned_data["spend"]
        return None if given is None else int(given * DOLLAR)

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


class Numbered(forms.Form):
    """One of several. `label` says which one, as in "Member 2"."""

    noun = ""

    def __init__(self, number: int, posted: Mapping[str, Any] | None, initial: Mapping[str, Any]) -> None:
        super().__init__(posted, initial=dict(initial), prefix=f"{self.noun[0]}{number}", auto_id="%s")
        self.number = number

    @property
    def label(self) -> str:
        return f"{self.noun.capitalize()} {self.number}"

    def need(self, name: str, sentence: str) -> None:
        field = cast(Text, self.fields[name])
        field.required, field.needed = True, sentence
        field.error_messages["required"] = sentence


class OptionForm(Numbered):
    noun = "option"

    word = Text(max_length=WORD_LENGTH)
    direction = _choice("direction", Direction.choices, Direction.BETWEEN, "There are: for, between, against.")
    meaning = Text(max_length=MEANING_LENGTH)

    def __init__(self, number: int, posted: Mapping[str, Any] | None, initial: Mapping[str, Any]) -> None:
        super().__init__(number, posted, initial)
        self.need("word", f"Give option {number} a word, as in WAIT.")
        self.fields["word"].label = self.label
        self.fields["direction"].label = f"Direction of option {number}"
        self.fields["meaning"].label = f"What option {number} means"

    def clean_word(self) -> str:
        word = self.cleaned_data["word"]
        if as_read(word) in map(as_read, RESERVED_WORDS):
            raise ValidationError(f"“{word}” is always possible and is no option. Call this one otherwise.")
        return word


class MemberForm(Numbered):
    noun = "member"

    name = Text(max_length=NAME_LENGTH, label="Name")
    model = Text(max_length=200, label="Model")
    user = Text(
        max_length=150,
        label="A person's account",
        help_text="Instead of a model. The debate waits when it is that person's turn.",
    )
    fallback = Text(max_length=200, label="Fallback model", help_text="Asked when the model fails twice, or for good.")
    who = Text(max_length=WHO_LENGTH, lines=True)

    def __init__(self, number: int, posted: Mapping[str, Any] | None, initial: Mapping[str, Any]) -> None:
        super().__init__(number, posted, initial)
        self.need("name", f"Give member {number} a name.")

    def clean_name(self) -> str:
        name = self.cleaned_data["name"]
        if as_read(name) in map(as_read, RESERVED_NAMES):
            raise ValidationError(f"“{name}” is somebody else at this table. Give member {self.number} another name.")
        return name

    def clean_model(self) -> str:
        return known_model(self.cleaned_data["model"])

    def clean_user(self) -> User | None:
        given = self.cleaned_data["user"]
        if not given:
            return None
        found = User.objects.filter(username=given, is_active=True).first()
        if found is None:
            raise ValidationError(f"Nobody here is called “{given}”. A person on a seat needs an account.")
        return found

    def clean_fallback(self) -> str:
        return known_fallback(self.cleaned_data["fallback"], self.cleaned_data.get("model", ""))

    def clean(self) -> None:
        if self.errors.keys() & {"model", "user"}:
            return
        model, user = self.cleaned_data.get("model"), self.cleaned_data.get("user")
        if not model and not user:
            self.add_error("model", f"Choose a model for member {self.number}, or seat a person there.")
        if model and user:
            self.add_error("user", "A seat is a model's or a person's. Leave one of the two empty.")
        if user and self.cleaned_data.get("fallback"):
            self.add_error("fallback", "Nothing stands in for a person. Leave the fallback empty.")


def count_in(posted: Mapping[str, Any], noun: str) -> int:
    """How many of them a page posted, at most one more than there may be: enough to say that it is too many."""
    numbers = re.compile(rf"{noun[0]}(\d{{1,2}})-\w+")
    found = (int(match[1]) for key in posted if (match := numbers.fullmatch(key)))
    return min(max(found, default=0), _MOST[noun] + 1)


def typed_in(posted: Mapping[str, Any]) -> dict[str, Any]:
    """All that a page posted, unchecked, as a form is started from it."""
    own: dict[str, Any] = {name: posted.get(name, "") for name in DebateForm.base_fields}
    for noun, form in (("option", OptionForm), ("member", MemberForm)):
        own[f"{noun}s"] = [
            {name: posted.get(f"{noun[0]}{number}-{name}", "") for name in form.base_fields}
            for number in range(1, count_in(posted, noun) + 1)
        ]
    return own


def _places(noun: str, posted: Mapping[str, Any] | None, given: Sequence[Any]) -> list[tuple[int, Any]]:
    """The numbers of its forms, each with what it starts from."""
    count = max(len(given), _LEAST[noun]) if posted is None else count_in(posted, noun)
    return [(number, given[number - 1] if number <= len(given) else {}) for number in range(1, count + 1)]


class Submission:
    """The form of a new debate: its own fields, its options and its members, checked together."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        options: Sequence[OptionValues] = (),
        members: Sequence[MemberValues] = (),
        attached: Attached | None = None,
        **own: Any,
    ) -> None:
        """`data` as a page posts it (question, o1-word, m1-name, ...); all else to start an unposted form from, but for
        what is attached, which was read already."""
        self.own = DebateForm(data, initial=own, auto_id="%s")
        self.options = [OptionForm(number, data, one) for number, one in _places("option", data, options)]
        self.members = [MemberForm(number, data, one) for number, one in _places("member", data, members)]
        self.attached = attached or Attached()
        self._wrong_counts: list[FieldProblem] = []

    @classmethod
    def of(
        cls,
        options: Sequence[Mapping[str, str]],
        members: Sequence[Mapping[str, str]],
        attached: Attached | None = None,
        **own: Any,
    ) -> "Submission":
        """From values instead of a posted page: texts, numbers, and whether a switch is on."""
        data = {key: "on" if value is True else value for key, value in own.items() if value not in (None, "")}
        data = {key: value for key, value in data.items() if value is not False}
        for noun, given in (("option", options), ("member", members)):
            for number, one in enumerate(given[: _MOST[noun] + 1], start=1):
                data |= {f"{noun[0]}{number}-{key}": value for key, value in one.items()}
        return cls(data, attached=attached)

    def is_valid(self) -> bool:
        valid = [form.is_valid() for form in (self.own, *self.options, *self.members)]
        for noun, given in self._lists:
            self._refuse_count(noun, len(given))
            self._refuse_equal(noun, given)
        self._refuse_person_twice()
        self._refuse_too_few_messages()
        return all(valid) and not self.problems

    def values(self) -> dict[str, Any]:
        """What `Debate.objects.submit` takes beside the owner, once valid."""
        own = dict(self.own.cleaned_data)
        switches = {name: own.pop(name) for name in SWITCHES}
        lists = {f"{noun}s": [form.cleaned_data for form in given] for noun, given in self._lists}
        return {**own, **lists, "switches": switches, "documents": self.attached.documents}

    @property
    def problems(self) -> list[FieldProblem]:
        """What is to be corrected; nothing of a form that was not posted."""
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
        return [*found, *self.attached.problems]

    @property
    def _lists(self) -> list[tuple[str, Sequence[Numbered]]]:
        return [("option", self.options), ("member", self.members)]

    def _refuse_count(self, noun: str, count: int) -> None:
        least, most = _LEAST[noun], _MOST[noun]
        if not least <= count <= most:
            problem = FieldProblem(f"{noun}s", f"{noun}s", f"{noun.capitalize()}s", f"Name {least} to {most} of them.")
            self._wrong_counts = [*(one for one in self._wrong_counts if one.path != problem.path), problem]

    def _refuse_equal(self, noun: str, given: Sequence[Numbered]) -> None:
        name, first = _SAME[noun], dict[str, int]()
        for form in given:
            read = as_read(form.cleaned_data.get(name, ""))
            if read in first:
                form.add_error(name, f"{noun.capitalize()} {first[read]} has this {name} already. Take another.")
            elif read:
                first[read] = form.number

    def _refuse_person_twice(self) -> None:
        seats: dict[Any, int] = {}
        for form in self.members:
            user = form.cleaned_data.get("user")
            if user in seats:
                form.add_error("user", f"{user} sits on seat {seats[user]} already. One seat for each person.")
            elif user:
                seats[user] = form.number

    def _refuse_too_few_messages(self) -> None:
        most = self.own.cleaned_data.get("most")
        if most is not None and most < len(self.members) <= MOST_MEMBERS:
            self.own.add_error("most", f"There are {len(self.members)} members: let each say something.")
