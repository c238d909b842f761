"""The page that starts an inquiry. It works without scripts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engine.decoding import USUAL
from engine.llm import model_list
from engine.models import NewDocument
from engine.models.budgets import BudgetExceeded
from engine.models.rate_limits import RateLimitReached
from engine.web.url_policy import host_of
from runs import retention
from runs.form_carry_over import extra_fields, form_pages, transferred_form
from runs.forms import FieldProblem, parse_number, posted_values
from runs.procedure.spec import specs
from runs.views.row_lookup import row_for
from toolbox import documents

from .. import procedure
from ..estimate import estimate
from ..examples import FILES, QUESTIONS
from ..forms import LIMITS, CriticField, InquiryForm, follow_up_problem, submit_values
from ..models import ATTACHED, ROLES, Collection, Inquiry, Roster
from ..models.presets import posts_of
from ..presets import CRITICS, FIELDS
from ..rules.limits import BOUNDS

BEGUN, UNANSWERED = "inquiry-new", "unanswered"
ROLE_FIELDS = (
    ("planner", "Planner", "Up to 8 steps of research and 8 of the expert.", "plan_critic"),
    ("researcher", "Researcher", "One step at a time, with tools.", "research_critic"),
    ("expert", "Expert", "Answers with all results, and works out numbers.", "answer_critic"),
    ("finalizer", "Finalizer", "Words the answer, and how it was reached.", ""),
)
OWN_FIELDS = frozenset((*InquiryForm.base_fields, "encoding"))
UPLOADS = "documents"


@dataclass(frozen=True)
class RefusedInquiry:
    """Why an inquiry was not started."""

    status: int
    sentence: str


@dataclass
class InquiryDraft:
    form: InquiryForm
    problems: list[FieldProblem] = field(default_factory=list)


@require_http_methods(["GET", "POST"])
def start_inquiry(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        example = parse_number(request.GET.get("example", ""))
        question = QUESTIONS[example - 1] if 0 < example <= len(QUESTIONS) else _unanswered_question(request)
        roster = _roster_values(parse_number(request.GET.get("roster", "")))
        return _page(request, InquiryDraft(_draft_form(question=question, **roster)))
    posted = posted_values(request.POST)
    if take := parse_number(posted.get("take", "")):
        return _page(request, InquiryDraft(_draft_form(**{**_own(posted), **_roster_values(take)})))
    if come := transferred_form(posted):
        return _page(request, InquiryDraft(_draft_form(**{**_own(posted), "question": come.text, "title": come.title})))
    return _submitted(request, posted)


def _submitted(request: HttpRequest, posted: Mapping[str, str]) -> HttpResponse:
    attached, unreadable = _attached(request, posted.get("encoding", "").strip())
    values, problems = submit_values(_own(posted), attached, _followed(request))
    form = InquiryForm(posted, auto_id="%s")
    form.is_valid()
    if problems or unreadable:
        labels = {name: str(one.label) for name, one in form.fields.items()} | {UPLOADS: "Documents"}
        found = [FieldProblem(name, name, labels[name], said) for name, said in [*problems, *unreadable]]
        return _page(request, InquiryDraft(form, found))
    try:
        inquiry = procedure.submit(owner=request.user, limited=True, watched=True, **values)
    except BudgetExceeded as error:
        return _page(request, InquiryDraft(form), RefusedInquiry(402, str(error)))
    except RateLimitReached as reached:
        page = _page(request, InquiryDraft(form), RefusedInquiry(429, str(reached)))
        page.headers["Retry-After"] = str(reached.seconds)
        return page
    return redirect("inquiry-live", inquiry.pk)


def _attached(request: HttpRequest, encoding: str) -> tuple[list[NewDocument], list[tuple[str, str]]]:
    """Return readable files, and a problem for each of the others."""
    found, wrong = documents.uploaded(request.FILES.getlist(UPLOADS), ATTACHED, encoding)
    return found, [(UPLOADS, said) for said in wrong]


def _followed(request: HttpRequest) -> Inquiry | None:
    """Return the inquiry to follow: the user must see it, and it must have ended and not be erased."""
    try:
        pk = UUID((request.POST.get("follows") or request.GET.get("follows") or "").strip())
    except ValueError:
        return None
    row = row_for(request, specs()["inquiry"], pk)
    return None if follow_up_problem(row) else row


def _unanswered_question(request: HttpRequest) -> str:
    """Return the question of the followed inquiry if it was not answered, else an empty text."""
    followed = _followed(request)
    return followed.question if followed and followed.run.outcome == UNANSWERED else ""


def _roster_values(pk: int) -> dict[str, str]:
    """Return the form's values for a roster; fields that it does not set are emptied."""
    found = Roster.objects.available().with_content().filter(pk=pk).first()
    if found is None or found.current is None:
        return {}
    return {**dict.fromkeys(FIELDS, ""), **posts_of(found.current), "roster": found.name}


def _own(posted: Mapping[str, str]) -> dict[str, str]:
    return {name: posted.get(name, "") for name in InquiryForm.base_fields}


def _searched_by() -> str:
    """Return who receives the words of a search; empty if the web cannot be used."""
    by = settings.SEARCH
    asked = [by.get("tool") or host_of(by["address"])] if by else []
    return ", ".join([*asked, *settings.INQUIRY_TOOLS])


def _draft_form(**typed: str) -> InquiryForm:
    return InquiryForm(initial=typed, auto_id="%s")


def _limits(form: InquiryForm) -> Iterator[tuple[Any, str]]:
    """Yield each limit's field with its default."""
    yield form["retry_limit"], str(settings.INQUIRY_RETRIES)
    yield from ((form[name], f"{BOUNDS[name].usual:,}") for name in LIMITS)


def _posts(form: InquiryForm) -> Iterator[dict[str, Any]]:
    for name, title, does, critic in ROLE_FIELDS:
        shown = {"name": name, "title": title, "does": does, "model": form[f"{name}_model"]}
        yield {**shown, "critic": form[critic] if critic else None}


def _page(request: HttpRequest, begun: InquiryDraft, refused: RefusedInquiry | None = None) -> HttpResponse:
    context: dict[str, Any] = {
        "form": begun.form,
        "problems": begun.problems,
        "refused": refused,
        "limits": list(_limits(begun.form)),
        "posts": list(_posts(begun.form)),
        "models": model_list.offered_models(model_list.declared_models()),
        "default_model": settings.DEFAULT_MODEL or "None is set up",
        "examples": list(enumerate(QUESTIONS, 1)),
        "own": FILES,
        "readable": documents.READABLE,
        "encoding": posted_values(request.POST).get("encoding", ""),
        "encodings": USUAL,
        "kept_for": retention.format_days(settings.RETENTION_DAYS),
        "rehearsal": not settings.PROVIDERS,
        "outside": _searched_by(),
        "critics": CriticField.choices(*(begun.form[name].value() for name in CRITICS)),
        "rosters": Roster.objects.available().order_by("name"),
        "follows": _followed(request),
        "estimate": estimate(dict.fromkeys(ROLES, settings.DEFAULT_MODEL), {}) if settings.DEFAULT_MODEL else None,
        "collections": Collection.objects.all(),
        "kinds": form_pages(),
        "page": "new",
        "begun": BEGUN,
        "come": "inquiry",
        "along": extra_fields(posted_values(request.POST), OWN_FIELDS.__contains__),
    }
    return render(request, "inquiries/new.html", context, status=refused.status if refused else 200)
