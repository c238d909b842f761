"""Validation of new inquiries, for the page, the command line and the API."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from engine.councils import council_complaint, find_council, offered_councils
from engine.llm.tokens import too_long
from engine.models import TITLE_LENGTH, NewDocument
from runs.forms import PlainTextField, SpendField, first_errors, validate_fallback, validate_model
from runs.presets import NAME_LENGTH
from runs.presets.forms import PresetForm, preset_named

from .estimate import least_prompt
from .examples import about_magi
from .models import ATTACHED, DOCUMENTS, ROLES, Collection, Inquiry, RoleKind, Roster, RosterVersion
from .models.presets import ABOUT_LENGTH, posts_of, written_content
from .models.sources import SourceKind
from .presets import ALL_ROLES_FIELD, COUNCIL, CRITICS, MODELS, role_values
from .rules.limits import BOUNDS, QUESTION_LENGTHS, InquiryLimits, question_problem
from .rules.state import MOST_RETRIES

HOST, MOST_HOSTS = re.compile(r"[\w-]+(\.[\w-]+)*"), 50
MODEL_LENGTH, CRITIC_LENGTH = 200, 110
LIMITS = ("moves", "tokens", "pages", "minutes")


class CriticField(PlainTextField):
    """A critic: `model`, `person`, or `council:` and a name or id; the page offers a list."""

    def __init__(self, **more: Any) -> None:
        super().__init__(max_length=CRITIC_LENGTH, **more)

    @staticmethod
    def choices(*chosen: Any) -> list[tuple[str, str]]:
        """Return value and label of each choice. Values in `chosen` that are no longer offered are added: else the list
        would show another one as chosen."""
        named = [(f"{COUNCIL}{one.id}", f"Council {one.name}") for one in offered_councils()]
        found = [("model", "A model"), ("person", "A person, who is waited for"), *named]
        gone = {str(one) for one in chosen if one} - {value for value, _ in found}
        return [*found, *((one, f"{one}, which is not offered") for one in sorted(gone))]


class LimitField(forms.IntegerField):
    """A number between two bounds; empty for the default."""

    def __init__(self, least: int, most: int, **more: Any) -> None:
        wanted = f"Write a number from {least:,} to {most:,}, or nothing."
        wrong = dict.fromkeys(("invalid", "min_value", "max_value"), wanted)
        super().__init__(required=False, min_value=least, max_value=most, error_messages=wrong, **more)

    def to_python(self, value: Any) -> Any:
        return super().to_python(value.replace(",", "") if isinstance(value, str) else value)


class ModelNameField(PlainTextField):
    """Name of a model that a provider of this installation serves."""

    def __init__(self, **more: Any) -> None:
        super().__init__(max_length=MODEL_LENGTH, **more)

    def clean(self, value: Any) -> str:
        return validate_model(super().clean(value))


def limit(name: str, label: str) -> LimitField:
    return LimitField(BOUNDS[name].least, BOUNDS[name].most, label=label)


class RoleFields(forms.Form):
    """Models, critics and limits of an inquiry that a roster can save."""

    fallback = ModelNameField(label="Stands in for it")
    planner_model = ModelNameField(label="Model that plans")
    researcher_model = ModelNameField(label="Model that researches")
    expert_model = ModelNameField(label="Model that answers")
    finalizer_model = ModelNameField(label="Model that words it")
    critics_model = ModelNameField(label="Model of critics")
    plan_critic = CriticField(label="The plan")
    research_critic = CriticField(label="Each result")
    answer_critic = CriticField(label="The answer")
    retry_limit = LimitField(1, MOST_RETRIES, label="Limit of retries")
    two_sites = forms.BooleanField(required=False, label="Claims need two sites")

    def clean_plan_critic(self) -> dict[str, Any]:
        return parse_critic(self.cleaned_data["plan_critic"])

    def clean_research_critic(self) -> dict[str, Any]:
        return parse_critic(self.cleaned_data["research_critic"])

    def clean_answer_critic(self) -> dict[str, Any]:
        return parse_critic(self.cleaned_data["answer_critic"])


class InquiryForm(RoleFields):
    field_order = ("question", "title", "model")

    question = PlainTextField(
        max_length=QUESTION_LENGTHS[1], needed="Write a question. It is empty.", lines=True, label="Question"
    )
    title = PlainTextField(max_length=TITLE_LENGTH, label="Title")
    model = ModelNameField(label="Model")
    roster = PlainTextField(max_length=NAME_LENGTH, label="Roster")
    moves = limit("moves", "Moves of a try")
    tokens = limit("tokens", "Tokens of a step")
    pages = limit("pages", "Pages read")
    minutes = limit("minutes", "Minutes of work")
    spend = SpendField()
    web = forms.BooleanField(required=False, label="The web")
    collections = PlainTextField(max_length=1_000, label="Collections", help_text="Names, with commas between them.")
    hosts = PlainTextField(max_length=1_000, label="Only these sites", help_text="Hosts, with commas between them.")

    def clean_roster(self) -> RosterVersion | None:
        which = self.cleaned_data["roster"]
        version: RosterVersion | None = preset_named(Roster, which).current if which else None
        return version

    def clean_question(self) -> str:
        question = self.cleaned_data["question"]
        if complaint := question_problem(question):
            raise ValidationError(complaint)
        return question

    def clean_web(self) -> bool:
        if self.cleaned_data["web"] and not (settings.SEARCH or settings.INQUIRY_TOOLS):
            raise ValidationError("It cannot look outside: no search is set up here.")
        return self.cleaned_data["web"]

    def clean_collections(self) -> list[str]:
        names = list(dict.fromkeys(one.strip() for one in self.cleaned_data["collections"].split(",") if one.strip()))
        known = set(Collection.objects.filter(name__in=names).values_list("name", flat=True))
        if missing := [one for one in names if one not in known]:
            raise ValidationError(f"There is no collection “{missing[0][:80]}”.")
        return names

    def clean_hosts(self) -> list[str]:
        hosts = [one for one in re.split(r"[,\s]+", self.cleaned_data["hosts"].lower()) if one]
        if wrong := next((one for one in hosts if not HOST.fullmatch(one)), None):
            raise ValidationError(f"“{wrong[:60]}” is no host, as in law.example.")
        return hosts[:MOST_HOSTS]

    def clean_model(self) -> str:
        return self.cleaned_data["model"] or settings.DEFAULT_MODEL

    def clean_fallback(self) -> str:
        return validate_fallback(self.cleaned_data["fallback"], self.cleaned_data.get("model", ""))

    def clean_retry_limit(self) -> int:
        return self.cleaned_data["retry_limit"] or settings.INQUIRY_RETRIES


class InquiryTeamForm(PresetForm, RoleFields):
    model = Roster
    field_order = ("name", "about", "every_model", "fallback")

    about = PlainTextField(max_length=ABOUT_LENGTH, label="Good for")
    every_model = ModelNameField(label="Model")  # `model` is the class of the preset in PresetForm

    def clean(self) -> None:
        super().clean()
        if not self.errors and not self._posts:
            self.add_error("every_model", "It says nothing that is not usual: name a model, a critic or a limit.")

    @property
    def _posts(self) -> dict[str, str]:
        return role_values({**self.data, ALL_ROLES_FIELD: self.data.get("every_model")})

    def values(self) -> dict[str, Any]:
        """Arguments of `Roster.objects.create_first` and `Roster.revise`, without the author; only if valid."""
        return {**{name: self.cleaned_data[name] for name in ("name", "about")}, "posts": self._posts}


def _too_long(values: Mapping[str, Any], titles: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield a problem for each model whose context is too small, as far as its size is known."""
    needed = least_prompt(values["question"], titles)
    for name in (ALL_ROLES_FIELD, "fallback", *MODELS):
        if said := too_long(values[name], needed, "the first requests of this inquiry"):
            yield name, f"{said} Name another model, shorten the question, or attach fewer documents."


def follow_up_problem(row: Inquiry) -> str:
    """Return why no inquiry can follow this one; empty if one can."""
    if not row.run.is_ended:
        return "It is still at work: ask again when it is over."
    return "Its texts were erased: nothing can be taken over." if row.run.redacted else ""


def parse_critic(text: str) -> dict[str, Any]:
    """Return columns of InquiryRole: empty for a model, else for `person`, or `council:` and a name or id.

    Raises ValidationError.
    """
    kind, _, name = text.strip().partition(":")
    if kind in ("", RoleKind.MODEL) and not name:
        return {}
    if kind == RoleKind.PERSON and not name:
        return {"kind": RoleKind.PERSON}
    if kind == RoleKind.COUNCIL and name.strip():
        return _council(name.strip())
    raise ValidationError("Write model, person, or council: and the name or id of the council.")


def _council(which: str) -> dict[str, Any]:
    if complaint := council_complaint(which):
        raise ValidationError(complaint)
    found = find_council(which)
    return {"kind": RoleKind.COUNCIL, "council": found.name, "council_id": found.id}


def form_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with empty roles filled from the named roster, if it exists."""
    form = InquiryForm({"roster": given.get("roster") or ""})
    form.is_valid()
    version = form.cleaned_data.get("roster")
    posts = posts_of(version) if version else {}
    return {**given, **{name: one for name, one in posts.items() if not given.get(name)}}


def submit_values(
    given: dict[str, Any], documents: Iterable[NewDocument] = (), follows: Inquiry | None = None
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return arguments of `Inquiry.objects.submit`, and problems: a field and a sentence each.

    Without any source and without the web, the product's own documents are the sources. `follows`: the inquiry whose
    sources are taken over. The roster is dropped if the roles differ from it.
    """
    form = InquiryForm({name: value for name, value in given.items() if value is not None})
    own = list(documents)
    problems = first_errors(form) if not form.is_valid() else []
    kept = Collection.objects.documents_of(form.cleaned_data.get("collections", ()))
    earlier = [one.as_document() for one in follows.sources.exclude(kind=SourceKind.CALCULATION)] if follows else []
    attached = [*own, *kept, *earlier] or ([] if given.get("web") else list(about_magi()))
    if complaint := ATTACHED.problem(own) or DOCUMENTS.problem(attached):
        problems.append(("documents", complaint))
    if not problems:
        problems += _too_long(form.cleaned_data, [one.title for one in attached])
    if problems:
        return {}, problems
    values = dict(form.cleaned_data)
    models = dict.fromkeys(ROLES, values.pop("model"))
    models |= {post: own for name, posts in MODELS.items() if (own := values.pop(name)) for post in posts}
    limits = InquiryLimits(**{name: bound for name in LIMITS if (bound := values.pop(name)) is not None})
    limits = replace(limits, sites=2) if values.pop("two_sites") else limits
    critics = {post: held for name, post in CRITICS.items() if (held := values.pop(name))}
    values |= {"models": models, "limits": limits}
    if (roster := values["roster"]) and posts_of(roster) != written_content({"posts": role_values(given)})["posts"]:
        values["roster"] = None
    return {**values, "critics": critics, "documents": attached, "follows": follows}, []
