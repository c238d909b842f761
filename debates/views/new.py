"""The page on which a debate is begun. All of it works without scripts: options and members come and go by buttons."""

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
from engine.llm import catalogue, providers
from engine.models import NewDocument
from engine.models.budgets import Budget, BudgetUsedUp
from engine.models.documents import label_of
from engine.models.pace import LimitReached
from runs import retention
from runs.begun import Brought, along, begun_by_page, brought
from runs.forms import as_number, as_typed
from runs.usual import usual
from toolbox import documents

from .. import again, procedure
from ..attached import FILES, Attached, brought_back, from_text, kept
from ..estimate import estimate, tokens_of
from ..examples import EXAMPLES, example_called
from ..forms import MOST_MEMBERS, MOST_OPTIONS, SWITCHES, DebateForm, Submission, typed_in
from ..models import DOCUMENTS, Debate, MemberValues, OptionValues, Panel, PanelChanged, PanelVersion

TAKE = "take-panel"
CHANGE = re.compile(r"(add|remove)-(option|member|document)(?:-(\d))?")
IDS = {"option": "word", "member": "name"}  # where one goes on after adding one
BEGUN = "debate-new"


@dataclass(frozen=True)
class Pasted:
    """A document that was pasted and is not attached yet."""

    title: str = ""
    text: str = ""


NOTHING = Pasted()


@dataclass(frozen=True)
class Chosen:
    """The panel that is chosen on the page, and the number of the version that what stands below it came from."""

    panel: Panel | None = None
    version: int = 0


NONE = Chosen()


@dataclass(frozen=True)
class Refused:
    """Why a debate was not started."""

    status: int
    sentence: str


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return _page(request, *_first(request))
    posted = as_typed(request.POST)
    attached, pasted = attached_to(request, posted)
    if come := brought(posted):
        return _come(request, posted, come, attached, pasted)
    if posted.get("do") == TAKE:
        return _page(
            request, taken(request, posted, attached), _as_it_is(_panel(posted.get("panel", ""))), pasted=pasted
        )
    if change := CHANGE.fullmatch(posted.get("do", "")):
        begun = Submission(**changed(posted, *change.groups()), attached=attached)
        return _page(request, begun, _chosen(posted), focus=focus_after(posted, change), pasted=pasted)
    return _submitted(request, posted, attached, pasted)


def _submitted(request: HttpRequest, posted: Mapping[str, str], attached: Attached, pasted: Pasted) -> HttpResponse:
    submission = Submission(posted, attached=attached, by=cast(User, request.user))
    if not submission.is_valid():
        return _page(request, submission, _chosen(posted), pasted=pasted)
    values = submission.values()
    try:
        debate = procedure.submit(
            owner=request.user, limited=True, watched=True, panel=_opened(posted), earlier=_earlier(request), **values
        )
    except PanelChanged as meanwhile:
        return _overtaken(request, posted, attached, meanwhile)
    except BudgetUsedUp as error:
        return _page(request, submission, _chosen(posted), Refused(402, str(error)))
    except LimitReached as reached:
        page = _page(request, submission, _chosen(posted), Refused(429, str(reached)))
        page.headers["Retry-After"] = str(reached.seconds)
        return page
    return redirect("debate-live", debate.pk)


OWN = re.compile(
    rf"[om]\d+-\w+|d\d+|again|encoding|panel|panel_version|paste|paste_title|{'|'.join(DebateForm.base_fields)}"
)


def _come(
    request: HttpRequest, posted: Mapping[str, str], come: Brought, attached: Attached, pasted: Pasted
) -> HttpResponse:
    """From the page of another kind, with what was typed there; what was written here before is still there."""
    before = "m1-name" in posted
    submission, chosen = (Submission(**typed_in(posted)), _chosen(posted)) if before else _first(request)
    submission.own.initial = {**submission.own.initial, "title": come.title, "question": come.text}
    submission.attached = attached
    return _page(request, submission, chosen, pasted=pasted)


def _first(request: HttpRequest) -> tuple[Submission, Chosen]:
    if example := example_called(request.GET.get("example", "")):
        return Submission(**example.as_typed(settings.DEFAULT_MODEL)), NONE
    if earlier := _earlier(request):
        version = earlier.panel_version
        return Submission(**again.as_asked(earlier)), _as_it_is(_panel(str(version.panel_id)) if version else None)
    asked = request.GET.get("panel")
    panel = Panel.objects.offered().whole().first() if asked is None else _panel(asked)
    return Submission(**_with_oneself(held(panel), request.user)), _as_it_is(panel)


def _earlier(request: HttpRequest) -> Debate | None:
    """The one that this is held again from."""
    asked = request.POST if request.method == "POST" else request.GET
    return again.earlier_of(asked.get("again", ""), request.user)


def held(panel: Panel | None) -> dict[str, Any]:
    """What a panel holds, as a form starts from it; without one an empty table."""
    if panel and panel.current:
        return panel.current.values()
    empty: MemberValues = {"name": "", "who": "", "model": settings.DEFAULT_MODEL}
    options: list[OptionValues] = [{"word": "", "direction": "for"}, {"word": "", "direction": "against"}]
    return {"options": options, "members": [empty] * 3}


# ---- where members, options and rules come from ---------------------------------------------------------------


def taken(request: HttpRequest, posted: Mapping[str, str], attached: Attached) -> Submission:
    """What was typed, but members, options and rules are those of the panel that was chosen."""
    holds = _with_oneself(held(_panel(posted.get("panel", ""))), request.user)
    return Submission(**{**typed_in(posted), **holds}, attached=attached)


def _with_oneself(holds: dict[str, Any], user: Any) -> dict[str, Any]:
    """Who begins a debate is offered where its panel has a person; of several, at the first of those seats."""
    if place := next((one for one in holds["members"] if not one["model"]), None):
        place["user"] = user.get_username()
    return holds


def written_so_far(request: HttpRequest, posted: Mapping[str, str], saved: Panel | None = None) -> HttpResponse:
    """The page again with what was written on it, after a detour to save it as a panel."""
    attached, pasted = attached_to(request, posted)
    if saved is None:
        return _page(request, Submission(**typed_in(posted), attached=attached), _chosen(posted), pasted=pasted)
    panel = Panel.objects.whole().get(pk=saved.pk)
    submission = Submission(**_still_seated(posted, panel), attached=attached)
    return _page(request, submission, _as_it_is(panel), pasted=pasted, saved=panel)


def _still_seated(posted: Mapping[str, str], panel: Panel) -> dict[str, Any]:
    """What the panel holds, with the persons who had been named for its seats."""
    typed, holds = typed_in(posted), held(panel)
    for before, one in zip(typed["members"], holds["members"], strict=False):
        if not one["model"]:
            one["user"] = before.get("user", "")
    return {**typed, **holds}


def _panel(pk: str) -> Panel | None:
    return Panel.objects.offered().whole().filter(pk=as_number(pk)).first()


def _as_it_is(panel: Panel | None) -> Chosen:
    return Chosen(panel, panel.number if panel else 0)


def _chosen(posted: Mapping[str, str]) -> Chosen:
    return Chosen(_panel(posted.get("panel", "")), as_number(posted.get("panel_version", "")))


def _opened(posted: Mapping[str, str]) -> PanelVersion | None:
    """The version that the page came from; of a page that does not say so, the current one."""
    panel = Panel.objects.select_related("current").filter(pk=as_number(posted.get("panel", ""))).first()
    if panel is None:
        return None
    return panel.versions.filter(number=as_number(posted.get("panel_version", ""))).first() or panel.current


def _overtaken(
    request: HttpRequest, posted: Mapping[str, str], attached: Attached, changed: PanelChanged
) -> HttpResponse:
    """What was typed comes back, with what the panel holds now: to start by that is then a decision. What an archived
    one held stays, as one's own."""
    panel = _panel(str(changed.saved.pk))
    if panel is None:
        then = "Its settings are below as your own: start again to debate by that."
        submission = Submission(**typed_in(posted), attached=attached)
    else:
        then = "Its current settings are below. Start again to debate by that."
        submission = Submission(**_still_seated(posted, panel), attached=attached)
    return _page(request, submission, _as_it_is(panel), Refused(409, f"{changed} {then}"))


def changed(posted: Mapping[str, str], what: str, noun: str, number: str | None) -> dict[str, Any]:
    """What was typed, with one more or one less of them."""
    typed = typed_in(posted)
    some = typed.get(f"{noun}s")
    if some is None:  # documents come and go as they are read
        return typed
    if what == "add":
        some.append({"model": settings.DEFAULT_MODEL} if noun == "member" else {})
    elif number:
        del some[int(number) - 1 : int(number)]
    return typed


def focus_after(posted: Mapping[str, str], change: re.Match[str]) -> str:
    """Where the reader is after it: the new one, or the button that adds."""
    what, noun, _ = change.groups()
    if noun == "document":
        return FILES
    count = len(typed_in(posted)[f"{noun}s"]) + 1
    return f"{noun[0]}{count}-{IDS[noun]}" if what == "add" else f"add-{noun}"


# ---- what is attached ---------------------------------------------------------------------------------------


def attached_to(request: HttpRequest, posted: Mapping[str, str]) -> tuple[Attached, Pasted]:
    """What the page had read before, then the files that came with it, then what was pasted; and what stays pasted,
    because it cannot be read."""
    encoding = posted.get("encoding", "").strip()
    found, gone = Attached(encoding=encoding), CHANGE.fullmatch(posted.get("do", ""))
    removed = gone[3] if gone and gone[1] == "remove" and gone[2] == "document" else None
    for number in range(1, DOCUMENTS.number + 1):
        if (token := posted.get(f"d{number}")) and str(number) != removed:
            found.add(FILES, partial(brought_back, token, request.user.pk))
    found.add_files(request.FILES.getlist(FILES))
    title, text = posted.get("paste_title", ""), posted.get("paste", "")
    stays = bool(text.strip()) and not found.add("paste", partial(from_text, title, text))
    return found, Pasted(title, text) if stays else NOTHING


# ---- the page -----------------------------------------------------------------------------------------------


def _page(
    request: HttpRequest,
    submission: Submission,
    chosen: Chosen,
    refused: Refused | None = None,
    focus: str = "",
    pasted: Pasted = NOTHING,
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
        "models": catalogue.offered(catalogue.declared()),
        # the chosen one first: it is always in sight, however many there are
        "panels": sorted(Panel.objects.offered().whole(), key=lambda offered: offered != chosen.panel),
        "panel": chosen.panel.pk if chosen.panel else None,
        "came_from": chosen.version,
        "saved": saved,
        "again": _earlier(request),
        "kept_for": chosen.panel.kept if chosen.panel else retention.in_words(settings.RETENTION_DAYS),
        "rehearsal": not settings.PROVIDERS,
        "examples": EXAMPLES,
        "kinds": begun_by_page(),
        "page": "new",
        "begun": BEGUN,
        "come": "debate",
        "along": along(as_typed(request.POST), OWN.fullmatch),
    }
    return render(request, "debates/new.html", context, status=refused.status if refused else 200)


def _shown(documents: Sequence[NewDocument], whose: object) -> list[dict[str, Any]]:
    tokens = kept(documents, whose)
    return [
        {"label": label_of(number), "number": number, "document": one, "size": len(one.text), "token": token}
        for number, (one, token) in enumerate(zip(documents, tokens, strict=True), 1)
    ]


@require_POST
def expected_cost(request: HttpRequest) -> HttpResponse:
    """What the debate on the page may cost at most, as far as it is written."""
    posted = as_typed(request.POST)
    typed = typed_in(posted)
    members = typed["members"]
    models = [one.get("model", "") for one in members if not one.get("user")]
    written = all(models) and bool(models)
    most = as_number(str(typed.get("most", "")))
    read = tokens_of(typed.get("question", ""), attached_to(request, posted)[0].documents)
    known = estimate(read, members, typed.get("timekeeper", ""), min(most, 200)) if written else None
    rehearsal = all(map(providers.is_rehearsal, models))
    context = {
        "estimate": known if most else None,
        "rehearsal": rehearsal,
        "persons": len(models) < len(members),
        "sameness": providers.sameness(models) if written else "",
        "budgets": Budget.objects.of(request.user.pk),
        "usual": usual("debate", rehearsed=rehearsal),
    }
    return render(request, "debates/_cost.html", context)
