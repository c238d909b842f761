"""What a new inquiry must be, for every door: the page, the command line, the API."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from engine.models import TITLE_LENGTH, NewDocument
from runs.forms import Spend, Text, first_errors, known_model

from .examples import about_magi
from .models import DOCUMENTS, POSTS, PostKind
from .rules.course import MOST_RETRIES
from .rules.facts import Station
from .rules.limits import QUESTION_LENGTHS, question_complaint

MODEL_LENGTH, CRITIC_LENGTH = 200, 110
COUNCIL = "council:"
CRITICS = {
    "plan_critic": Station.CRITIC_PLANNER,
    "research_critic": Station.CRITIC_RESEARCHER,
    "answer_critic": Station.CRITIC_EXPERT,
}


class InquiryForm(forms.Form):
    question = Text(
        max_length=QUESTION_LENGTHS[1], needed="Write a question. It is empty.", lines=True, label="Question"
    )
    title = Text(max_length=TITLE_LENGTH, label="Title")
    model = Text(max_length=MODEL_LENGTH, label="Model", help_text="Of all posts; empty is the default one.")
    retry_limit = forms.IntegerField(
        label="Sent back at most",
        required=False,
        min_value=1,
        max_value=MOST_RETRIES,
        error_messages=dict.fromkeys(
            ("invalid", "min_value", "max_value"), f"Write a number from 1 to {MOST_RETRIES}, or nothing."
        ),
    )
    spend = Spend()
    plan_critic = Text(max_length=CRITIC_LENGTH, label="The plan")
    research_critic = Text(max_length=CRITIC_LENGTH, label="Each result")
    answer_critic = Text(max_length=CRITIC_LENGTH, label="The answer")

    def clean_plan_critic(self) -> dict[str, Any]:
        return critic_of(self.cleaned_data["plan_critic"])

    def clean_research_critic(self) -> dict[str, Any]:
        return critic_of(self.cleaned_data["research_critic"])

    def clean_answer_critic(self) -> dict[str, Any]:
        return critic_of(self.cleaned_data["answer_critic"])

    def clean_question(self) -> str:
        question = self.cleaned_data["question"]
        if complaint := question_complaint(question):
            raise ValidationError(complaint)
        return question

    def clean_model(self) -> str:
        return known_model(self.cleaned_data["model"]) or settings.DEFAULT_MODEL

    def clean_retry_limit(self) -> int:
        return self.cleaned_data["retry_limit"] or settings.INQUIRY_RETRIES


def critic_of(said: str) -> dict[str, Any]:
    """Columns of a post: nothing or `model`, `person`, or `council:` and its name. ValidationError."""
    kind, _, name = said.strip().partition(":")
    if kind in ("", PostKind.MODEL) and not name:
        return {}
    if kind == PostKind.PERSON and not name:
        return {"kind": PostKind.PERSON}
    if kind == PostKind.COUNCIL and name.strip():
        return {"kind": PostKind.COUNCIL, "council": name.strip()}
    raise ValidationError("Write model, person, or council: and the name of the council.")


def asked(given: dict[str, Any], documents: Iterable[NewDocument] = ()) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """What `Inquiry.objects.submit` takes, and what is wrong with it, by fields. Without documents those of the product
    itself are looked in."""
    form = InquiryForm({name: value for name, value in given.items() if value is not None})
    attached = list(documents) or list(about_magi())
    problems = first_errors(form) if not form.is_valid() else []
    if complaint := DOCUMENTS.complaint(attached):
        problems.append(("documents", complaint))
    if problems:
        return {}, problems
    values = dict(form.cleaned_data)
    models = dict.fromkeys(POSTS, values.pop("model"))
    critics = {post: held for name, post in CRITICS.items() if (held := values.pop(name))}
    return {**values, "models": models, "critics": critics, "documents": attached}, []
