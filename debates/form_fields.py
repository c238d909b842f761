"""Fields of the forms for debates and panels: rules, options, members."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from engine.names import look_alike
from runs.forms import NumberedForm, PlainTextField, choice_field, has_text, validate_fallback, validate_model
from runs.rights import SEE, PermissionReach

from .models import (
    DEFAULT_REPLY_HOURS,
    MEANING_LENGTH,
    NAME_LENGTH,
    WHO_LENGTH,
    WORD_LENGTH,
    HistoryView,
    OptionDirection,
)
from .rules import state as rules
from .rules.outcome import NO_DECISION, DecisionRule

LEAST_MEMBERS, LEAST_OPTIONS = 2, 2
MAX_REPLY_HOURS = 24 * 365  # hours

DEFAULT_SWITCHES = ("first", "reply", "call", "challenge")
RESERVED_NAMES = ("Chair", "Timekeeper", "everyone")
RESERVED_WORDS = (rules.ABSTAIN, NO_DECISION, "no decision")
RULES = {
    DecisionRule.MAJORITY: "Majority of all members",
    DecisionRule.TWO_THIRDS: "Two thirds of all members",
    DecisionRule.UNANIMOUS: "All that do not abstain",
    DecisionRule.PLURALITY: "Most verdicts, at least two",
    DecisionRule.MEDIAN: "The middle one of ordered options",
    DecisionRule.NONE: "Nothing: verdicts are not counted",
}


class DebateRulesForm(forms.Form):
    """The rules of a panel or debate, without members and options."""

    timekeeper = PlainTextField(
        max_length=200,
        label="Timekeeper's model",
        help_text="Runs the clock, never judges. What it says of verdicts and time comes from the record, with a "
        "model or without.",
    )
    rule = choice_field(
        "What decides",
        RULES.items(),
        DecisionRule.MAJORITY,
        f"There is no such rule. There are: {', '.join(DecisionRule)}.",
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
    reply_within = forms.IntegerField(
        label="Hours that a person has for a turn",
        help_text="Then the turn is skipped. Empty: it waits.",
        required=False,
        initial=DEFAULT_REPLY_HOURS,
        min_value=1,
        max_value=MAX_REPLY_HOURS,
        error_messages=dict.fromkeys(
            ("invalid", "min_value", "max_value"),
            f"Write a number of hours, 1 to {MAX_REPLY_HOURS:,}, or nothing to wait without end.",
        ),
    )
    first = forms.BooleanField(label="Ask each member alone first", required=False, initial=True)
    reply = forms.BooleanField(label="Who is asked answers next", required=False, initial=True)
    call = forms.BooleanField(label="Call members that are silent too long", required=False, initial=True)
    challenge = forms.BooleanField(label="When all agree, hear the case against it", required=False, initial=True)
    free_floor = forms.BooleanField(label="The last speaker may be drawn again", required=False)
    advisory = forms.BooleanField(label="Its outcome advises: people decide", required=False)
    view = choice_field(
        "How members see it",
        HistoryView.choices,
        HistoryView.PERSPECTIVE,
        f"There are: {', '.join(HistoryView.values)}.",
        "Names alone sway models: held both ways, a debate can be compared.",
    )

    def clean_timekeeper(self) -> str:
        return validate_model(self.cleaned_data["timekeeper"])

    def clean_most(self) -> int:
        given = self.cleaned_data["most"]
        return rules.USUAL_MOST if given is None else given


class DebateOptionForm(NumberedForm):
    noun = "option"

    word = PlainTextField(max_length=WORD_LENGTH)
    direction = choice_field(
        "direction", OptionDirection.choices, OptionDirection.BETWEEN, "There are: for, between, against."
    )
    meaning = PlainTextField(max_length=MEANING_LENGTH)

    def __init__(self, number: int, posted: Mapping[str, Any] | None, initial: Mapping[str, Any]) -> None:
        super().__init__(number, posted, initial)
        self.need("word", f"Give option {number} a word, as in WAIT.")
        self.fields["word"].label = self.label
        self.fields["direction"].label = f"Direction of option {number}"
        self.fields["meaning"].label = f"What option {number} means"

    def clean_word(self) -> str:
        word = self.cleaned_data["word"]
        if look_alike(word, RESERVED_WORDS):
            raise ValidationError(f"“{word}” is always possible and is no option. Call this one otherwise.")
        return word


class SeatForm(NumberedForm):
    """Form of one seat, for a model or a person."""

    noun = "member"

    name = PlainTextField(max_length=NAME_LENGTH, label="Name")
    model = PlainTextField(max_length=200, label="Model")
    fallback = PlainTextField(
        max_length=200, label="Fallback model", help_text="Asked when the model fails twice, or for good."
    )
    who = PlainTextField(max_length=WHO_LENGTH, lines=True)

    def __init__(self, number: int, posted: Mapping[str, Any] | None, initial: Mapping[str, Any]) -> None:
        super().__init__(number, posted, initial)
        self.need("name", f"Give member {number} a name.")

    def clean_name(self) -> str:
        name = self.cleaned_data["name"]
        if look_alike(name, RESERVED_NAMES):
            raise ValidationError(f"“{name}” is somebody else at this table. Give member {self.number} another name.")
        return name

    def clean_model(self) -> str:
        return validate_model(self.cleaned_data["model"])

    def check_description(self) -> None:
        """Add an error if a model's seat has no description: without one it is like any other member."""
        if not self.errors.keys() & {"who"} and not has_text(self.cleaned_data.get("who", "")):
            self.add_error("who", f"Say who member {self.number} is: what it knows, and what it looks at.")


class DebateMemberForm(SeatForm):
    user = PlainTextField(
        max_length=150,
        label="A person's account",
        help_text="Instead of a model. The debate waits when it is that person's turn.",
    )
    field_order = ("name", "model", "user", "fallback", "who")

    def __init__(
        self, number: int, posted: Mapping[str, Any] | None, initial: Mapping[str, Any], by: User | None = None
    ) -> None:
        """`by`: the user who submits, who may seat only certain persons; None for the command line, which may seat
        anyone."""
        super().__init__(number, posted, initial)
        self.by = by

    def clean_user(self) -> User | None:
        given = self.cleaned_data["user"]
        if not given:
            return None
        found = User.objects.filter(username=given, is_active=True).first()
        if self.by is None or SEE.reach(self.by) == PermissionReach.ALL:
            if found is None:
                raise ValidationError(f"Nobody here is called “{given}”. A person on a seat needs an account.")
        elif found is None or not _knows(self.by, found):
            # the same words whether or not there is such an account
            raise ValidationError(f"You share no group with a person called “{given}”. Seat yourself, or one who does.")
        return found

    def clean_fallback(self) -> str:
        return validate_fallback(self.cleaned_data["fallback"], self.cleaned_data.get("model", ""))

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
        if model and not user:
            self.check_description()


def _knows(by: User, other: User) -> bool:
    return by == other or by.groups.filter(pk__in=other.groups.values("pk")).exists()


class PanelSeatForm(SeatForm):
    """`user`: the person that the input page named, kept unchecked."""

    person = forms.BooleanField(
        label="A person sits here",
        required=False,
        help_text="Each debate names whom. The debate waits when it is that person's turn.",
    )
    user = forms.CharField(required=False, max_length=150, strip=False)
    field_order = ("name", "model", "person", "fallback", "who")

    def clean_fallback(self) -> str:
        model = self.cleaned_data.get("model", "") or settings.DEFAULT_MODEL
        return validate_fallback(self.cleaned_data["fallback"], model)

    def clean(self) -> None:
        if self.cleaned_data.get("person"):
            for name in ("model", "fallback"):
                if self.cleaned_data.get(name):
                    self.add_error(name, "A person sits here. Leave it empty, or take the person away.")
        else:
            self.check_description()
        self.cleaned_data.pop("user", None)
