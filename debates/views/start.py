"""Page that starts a debate. It works without scripts: buttons add and remove options and members."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engine.decoding import USUAL
from engine.llm import model_list, providers
from engine.models import NewDocument
from engine.models.budgets import Budget, BudgetExceeded
from engine.models.documents import document_label
from engine.models.rate_limits import RateLimitReached
from runs import retention
from runs.form_carry_over import TransferredForm, extra_fields, form_pages, transferred_form
from runs.forms import parse_number, posted_values
from runs.views.start import typical_cost
from toolbox import documents

from .. import procedure, rerun
from ..attachments import FILES, DebateAttachments, from_text, restore_attachments, sign_attachments
from ..estimate import estimate, tokens_of
from ..examples import EXAMPLES, example_by_key
from ..forms import MOST_MEMBERS, MOST_OPTIONS, SWITCHES, DebateForm, DebateSubmission, typed_in
from ..models import DOCUMENTS, Debate, MemberDict, OptionDict, Panel, PanelChanged, PanelVersion

TAKE_PANEL_BUTTON = "take-panel"
CHANGE = re.compile(r"(add|remove)-(option|member|document)(?:-(\d))?")
IDS = {"option": "word", "member": "name"}  # the field that gets the focus after adding one
DRAFT_PREFIX = "debate-new"


@dataclass(frozen=True)
class PasteForm:
    """A pasted document that is not attached yet."""

    title: str = ""
    text: str = ""


EMPTY_PASTE_FORM = PasteForm()


@dataclass(frozen=True)
class ChosenPanel:
    """The panel chosen on the page, and the number of the version that the page's values came from."""

    panel: Panel | None = None
    version: int = 0


NONE = ChosenPanel()


@dataclass(frozen=True)
class RefusedDebate:
    """Why a debate was not started."""

    status: int
    sentence: str


@require_http_methods(["GET", "POST"])
def start_debate(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return _page(request, *_first(request))
    posted = posted_values(request.POST)
    attached, pasted = attachments_of(request, posted)
    if come := transferred_form(posted):
        return _come(request, posted, come, attached, pasted)
    if posted.get("do") == TAKE_PANEL_BUTTON:
        return _page(
            request,
            take_attachment(request, posted, attached),
            _as_it_is(_panel(posted.get("panel", ""))),
            pasted=pasted,
        )
    if change := CHANGE.fullmatch(posted.get("do", "")):
        begun = DebateSubmission(**change_rows(posted, *change.groups()), attached=attached)
        return _page(request, begun, _chosen(posted), focus=focus_target(posted, change), pasted=pasted)
    return _submitted(request, posted, attached, pasted)


def _submitted(
    request: HttpRequest, posted: Mapping[str, str], attached: DebateAttachments, pasted: PasteForm
) -> HttpResponse:
    submission = DebateSubmission(posted, attached=attached, by=cast(User, request.user))
    if not submission.is_valid():
        return _page(request, submission, _chosen(posted), pasted=pasted)
    values = submission.values()
    try:
        debate = procedure.submit(
            owner=request.user, limited=True, watched=True, panel=_opened(posted), earlier=_earlier(request), **values
        )
    except PanelChanged as meanwhile:
        return _overtaken(request, posted, attached, meanwhile)
    except BudgetExceeded as error:
        return _page(request, submission, _chosen(posted), RefusedDebate(402, str(error)))
    except RateLimitReached as reached:
        page = _page(request, submission, _chosen(posted), RefusedDebate(429, str(reached)))
        page.headers["Retry-After"] = str(reached.seconds)
        return page
    return redirect("debate-live", debate.pk)


OWN_FIELDS = re.compile(
    rf"[om]\d+-\w+|d\d+|again|encoding|panel|panel_version|paste|paste_title|{'|'.join(DebateForm.base_fields)}"
)


def _come(
    request: HttpRequest,
    posted: Mapping[str, str],
    come: TransferredForm,
    attached: DebateAttachments,
    pasted: PasteForm,
) -> HttpResponse:
    """Show the page with the text of another procedure's page. Values that were written here before are kept."""
    before = "m1-name" in posted
    submission, chosen = (DebateSubmission(**typed_in(posted)), _chosen(posted)) if before else _first(request)
    submission.own.initial = {**submission.own.initial, "title": come.title, "question": come.text}
    submission.attached = attached
    return _page(request, submission, chosen, pasted=pasted)


def _first(request: HttpRequest) -> tuple[DebateSubmission, ChosenPanel]:
    if example := example_by_key(request.GET.get("example", "")):
        return DebateSubmission(**example.form_values(settings.DEFAULT_MODEL)), NONE
    if earlier := _earlier(request):
        version = earlier.panel_version
        return DebateSubmission(**rerun.start_values(earlier)), _as_it_is(
            _panel(str(version.panel_id)) if version else None
        )
    asked = request.GET.get("panel")
    panel = Panel.objects.available().with_content().first() if asked is None else _panel(asked)
    return DebateSubmission(**_with_oneself(panel_values(panel), request.user)), _as_it_is(panel)


def _earlier(request: HttpRequest) -> Debate | None:
    """Return the debate to rerun."""
    asked = request.POST if request.method == "POST" else request.GET
    return rerun.earlier_debate(asked.get("again", ""), request.user)


def panel_values(panel: Panel | None) -> dict[str, Any]:
    """Return a panel's content as initial values of a form; without a panel, empty values."""
    if panel and panel.current:
        return panel.current.values()
    empty: MemberDict = {"name": "", "who": "", "model": settings.DEFAULT_MODEL}
    options: list[OptionDict] = [{"word": "", "direction": "for"}, {"word": "", "direction": "against"}]
    return {"options": options, "members": [empty] * 3}


# ---- where members, options and rules come from ---------------------------------------------------------------


def take_attachment(request: HttpRequest, posted: Mapping[str, str], attached: DebateAttachments) -> DebateSubmission:
    """Return the typed values with the members, options and rules of the chosen panel."""
    holds = _with_oneself(panel_values(_panel(posted.get("panel", ""))), request.user)
    return DebateSubmission(**{**typed_in(posted), **holds}, attached=attached)


def _with_oneself(holds: dict[str, Any], user: Any) -> dict[str, Any]:
    """Offer the user on the first seat where the panel has a person."""
    if place := next((one for one in holds["members"] if not one["model"]), None):
        place["user"] = user.get_username()
    return holds


def draft_context(request: HttpRequest, posted: Mapping[str, str], saved: Panel | None = None) -> HttpResponse:
    """Show the page again with its draft, after a detour to save it as a panel."""
    attached, pasted = attachments_of(request, posted)
    if saved is None:
        return _page(request, DebateSubmission(**typed_in(posted), attached=attached), _chosen(posted), pasted=pasted)
    panel = Panel.objects.with_content().get(pk=saved.pk)
    submission = DebateSubmission(**_still_seated(posted, panel), attached=attached)
    return _page(request, submission, _as_it_is(panel), pasted=pasted, saved=panel)


def _still_seated(posted: Mapping[str, str], panel: Panel) -> dict[str, Any]:
    """Return the panel's content, with the persons that had been named for its seats."""
    typed, holds = typed_in(posted), panel_values(panel)
    for before, one in zip(typed["members"], holds["members"], strict=False):
        if not one["model"]:
            one["user"] = before.get("user", "")
    return {**typed, **holds}


def _panel(pk: str) -> Panel | None:
    return Panel.objects.available().with_content().filter(pk=parse_number(pk)).first()


def _as_it_is(panel: Panel | None) -> ChosenPanel:
    return ChosenPanel(panel, panel.number if panel else 0)


def _chosen(posted: Mapping[str, str]) -> ChosenPanel:
    return ChosenPanel(_panel(posted.get("panel", "")), parse_number(posted.get("panel_version", "")))


def _opened(posted: Mapping[str, str]) -> PanelVersion | None:
    """Return the version that the page came from; if the page names none, the current one."""
    panel = Panel.objects.select_related("current").filter(pk=parse_number(posted.get("panel", ""))).first()
    if panel is None:
        return None
    return panel.versions.filter(number=parse_number(posted.get("panel_version", ""))).first() or panel.current


def _overtaken(
    request: HttpRequest, posted: Mapping[str, str], attached: DebateAttachments, changed: PanelChanged
) -> HttpResponse:
    """Show the posted values again with the panel's current content, so that starting with it is a decision. If the
    panel is archived, the posted values stay, as the user's own."""
    panel = _panel(str(changed.saved.pk))
    if panel is None:
        then = "Its settings are below as your own: start again to debate by that."
        submission = DebateSubmission(**typed_in(posted), attached=attached)
    else:
        then = "Its current settings are below. Start again to debate by that."
        submission = DebateSubmission(**_still_seated(posted, panel), attached=attached)
    return _page(request, submission, _as_it_is(panel), RefusedDebate(409, f"{changed} {then}"))


def change_rows(posted: Mapping[str, str], what: str, noun: str, number: str | None) -> dict[str, Any]:
    """Return the typed values with one row added or removed."""
    typed = typed_in(posted)
    some = typed.get(f"{noun}s")
    if some is None:  # documents are added and removed when they are read
        return typed
    if what == "add":
        some.append({"model": settings.DEFAULT_MODEL} if noun == "member" else {})
    elif number:
        del some[int(number) - 1 : int(number)]
    return typed


def focus_target(posted: Mapping[str, str], change: re.Match[str]) -> str:
    """Return the id of the element that gets the focus: the new row, or the button that adds."""
    what, noun, _ = change.groups()
    if noun == "document":
        return FILES
    count = len(typed_in(posted)[f"{noun}s"]) + 1
    return f"{noun[0]}{count}-{IDS[noun]}" if what == "add" else f"add-{noun}"


# ---- attachments --------------------------------------------------------------------------------------------


def attachments_of(request: HttpRequest, posted: Mapping[str, str]) -> tuple[DebateAttachments, PasteForm]:
    """Return what the page had attached before, then its files, then the pasted text; and the pasted text if it
    cannot be read."""
    encoding = posted.get("encoding", "").strip()
    found, gone = DebateAttachments(encoding=encoding), CHANGE.fullmatch(posted.get("do", ""))
    removed = gone[3] if gone and gone[1] == "remove" and gone[2] == "document" else None
    for number in range(1, DOCUMENTS.number + 1):
        if (token := posted.get(f"d{number}")) and str(number) != removed:
            found.add(FILES, partial(restore_attachments, token, request.user.pk))
    found.add_files(request.FILES.getlist(FILES))
    title, text = posted.get("paste_title", ""), posted.get("paste", "")
    stays = bool(text.strip()) and not found.add("paste", partial(from_text, title, text))
    return found, PasteForm(title, text) if stays else EMPTY_PASTE_FORM


# ---- the page -----------------------------------------------------------------------------------------------


def _page(
    request: HttpRequest,
    submission: DebateSubmission,
    chosen: ChosenPanel,
    refused: RefusedDebate | None = None,
    focus: str = "",
    pasted: PasteForm = EMPTY_PASTE_FORM,
    saved: Panel | None = None,
) -> HttpResponse:
    problems = submission.problems
    context = {
        "form": submission.own,
        "options": submission.options,
        "members": submission.members,
        "switches": [submission.own[name] for name in SWITCHES],
        "documents": _shown(submission.attached.documents, request.user.pk),
        "pasted": pasted,
        "readable": documents.READABLE,
        "encoding": submission.attached.encoding,
        "encodings": USUAL,
        "unread": [problem.message for problem in submission.attached.problems],
        "problems": problems,
        "counts": {problem.path: problem.message for problem in problems if problem.path in ("options", "members")},
        "refused": refused,
        "focus": focus,
        "room": {
            "option": len(submission.options) < MOST_OPTIONS,
            "member": len(submission.members) < MOST_MEMBERS,
            "document": len(submission.attached.documents) < DOCUMENTS.number,
        },
        "spare": {"option": len(submission.options) > 2, "member": len(submission.members) > 2},
        "models": model_list.offered_models(model_list.declared_models()),
        # the chosen one first, so that it is always visible
        "panels": sorted(Panel.objects.available().with_content(), key=lambda offered: offered != chosen.panel),
        "panel": chosen.panel.pk if chosen.panel else None,
        "came_from": chosen.version,
        "saved": saved,
        "again": _earlier(request),
        "kept_for": chosen.panel.kept if chosen.panel else retention.format_days(settings.RETENTION_DAYS),
        "rehearsal": not settings.PROVIDERS,
        "examples": EXAMPLES,
        "kinds": form_pages(),
        "page": "new",
        "begun": DRAFT_PREFIX,
        "come": "debate",
        "along": extra_fields(posted_values(request.POST), OWN_FIELDS.fullmatch),
    }
    return render(request, "debates/new.html", context, status=refused.status if refused else 200)


def _shown(documents: Sequence[NewDocument], whose: object) -> list[dict[str, Any]]:
    tokens = sign_attachments(documents, whose)
    return [
        {"label": document_label(number), "number": number, "document": one, "size": len(one.text), "token": token}
        for number, (one, token) in enumerate(zip(documents, tokens, strict=True), 1)
    ]


@require_POST
def expected_cost(request: HttpRequest) -> HttpResponse:
    """Return the maximum cost of the debate on the page, as far as it is filled in."""
    posted = posted_values(request.POST)
    typed = typed_in(posted)
    members = typed["members"]
    models = [one.get("model", "") for one in members if not one.get("user")]
    written = all(models) and bool(models)
    most = parse_number(str(typed.get("most", "")))
    read = tokens_of(typed.get("question", ""), attachments_of(request, posted)[0].documents)
    known = estimate(read, members, typed.get("timekeeper", ""), min(most, 200)) if written else None
    rehearsal = all(map(providers.is_rehearsal, models))
    context = {
        "estimate": known if most else None,
        "rehearsal": rehearsal,
        "persons": len(models) < len(members),
        "sameness": providers.independence_warning(models) if written else "",
        "budgets": Budget.objects.for_user(request.user.pk),
        "usual": typical_cost("debate", rehearsed=rehearsal),
    }
    return render(request, "debates/_cost.html", context)
