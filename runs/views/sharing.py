from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from engine.models import Run

from .. import badges
from ..face import face_of
from ..forms import Text
from ..giving import give, take_back
from ..models import Badge, Given, Share
from ..models.shares import FOR_WHOM_LENGTH, LONGEST_DAYS, USUAL_DAYS
from ..record import integrity_of
from ..rights import SHARE, still_given
from ..sharing import end, make, note_look, showing, shown_by, shown_to_guests, why_not
from .finding import AnyFace, run_for

LONGEST_NAME = 160  # of an account or a group, and which of the two it is
UNSEEN = {
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Cache-Control": "no-store",
}


def days_field() -> forms.IntegerField:
    """For how many days a secret address holds."""
    wrong = f"Write a number of days from 1 to {LONGEST_DAYS}."
    return forms.IntegerField(
        label="Valid for (days)",
        min_value=1,
        max_value=LONGEST_DAYS,
        error_messages=dict.fromkeys(("required", "invalid", "min_value", "max_value"), wrong),
    )


class GiveForm(forms.Form):
    to = Text(
        max_length=LONGEST_NAME,
        needed="Write the name of a person or of a group.",
        label="Name of a person or of a group",
        help_text="People by the name that they sign in with.",
    )


class ShareForm(forms.Form):
    for_whom = Text(max_length=FOR_WHOM_LENGTH)
    days = days_field()


@require_http_methods(["GET", "POST"])
def share(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    """Who is shown this record, and by which links; a new link is shown once."""
    run = run_for(request, face, pk, SHARE)
    if request.method != "POST" or why_not(run):
        return _page(request, face, run, 409 if request.method == "POST" else 200, refused=why_not(run))
    return _give(request, face, run) if "to" in request.POST else _make(request, face, run)


def _give(request: HttpRequest, face: AnyFace, run: Run) -> HttpResponse:
    giving = GiveForm(request.POST, auto_id="%s")
    if giving.is_valid():
        try:
            give(run, request.user, giving.cleaned_data["to"])
            return redirect(face.page_name("share"), run.pk)
        except ValueError as error:
            giving.add_error("to", str(error))
    return _page(request, face, run, 422, giving=giving)


def _make(request: HttpRequest, face: AnyFace, run: Run) -> HttpResponse:
    form = ShareForm(request.POST, auto_id="%s")
    if not form.is_valid():
        return _page(request, face, run, 422, form=form)
    try:
        made = make(run, request.user, **form.cleaned_data)
    except ValueError as error:
        return _page(request, face, run, 409, refused=str(error))
    address = request.build_absolute_uri(reverse("shared", args=[made.secret]))
    return _page(request, face, run, made=made, address=address)


def _page(request: HttpRequest, face: AnyFace, run: Run, status: int = 200, **more: Any) -> HttpResponse:
    links = list(Share.objects.filter(run=run).select_related("by").prefetch_related("looks"))
    holding = [one for one in links if one.holds]
    of_it = list(Badge.objects.holding().filter(run=run).select_related("by"))
    context = {
        **face.page(run.pk),
        "run": run,
        "end_page": face.page_name("end-share"),
        "end_badge_page": face.page_name("end-its-badge"),
        "take_back_page": face.page_name("take-back"),
        "seen": still_given(Given.objects.holding().filter(run=run)),
        "given": Given.objects.filter(run=run, ended=None).prefetch_related("looks__user"),
        "giving": GiveForm(auto_id="%s"),
        "form": ShareForm(initial={"days": USUAL_DAYS}, auto_id="%s"),
        "most": FOR_WHOM_LENGTH,
        "holding": holding,
        "showing": showing(run, holding),
        "badges": of_it,
        "badges_showing": showing(run, of_it),
        "over": [one for one in links if not one.holds],
    }
    return render(request, "runs/share.html", {**context, **more}, status=status)


@require_POST
def end_share(request: HttpRequest, pk: UUID, link: int, face: AnyFace) -> HttpResponse:
    run = run_for(request, face, pk, SHARE)
    for one in Share.objects.filter(run=run, pk=link):
        end(one, request.user)
    return redirect(face.page_name("share"), pk)


@require_POST
def end_badge(request: HttpRequest, pk: UUID, badge: int, face: AnyFace) -> HttpResponse:
    run = run_for(request, face, pk, SHARE)
    for one in Badge.objects.filter(run=run, pk=badge):
        badges.end(one, request.user)
    return redirect(face.page_name("share"), pk)


@require_POST
def take_back_from(request: HttpRequest, pk: UUID, given: int, face: AnyFace) -> HttpResponse:
    run = run_for(request, face, pk, SHARE)
    for one in Given.objects.filter(run=run, pk=given):
        take_back(one, request.user)
    return redirect(face.page_name("share"), pk)


@login_not_required
@require_GET
def shared(request: HttpRequest, secret: str) -> HttpResponse:
    """One record to whoever has the link. What is wrong with a link that does not hold is told to nobody."""
    found = shown_by(secret)
    if found is None:
        return _unseen(render(request, "runs/shared_ended.html", status=404))
    face = face_of(found.run)
    row = face.rows().get(pk=found.run_id)
    note_look(found)
    context = {
        "face": face,
        **shown_to_guests(row),
        "share": found,
        "record_part": f"{face.nouns}/_record.html",
        "guest": True,
        "integrity": integrity_of(row.run),
        "page": "record",
    }
    return _unseen(render(request, "runs/shared.html", context))


def _unseen(answer: HttpResponse) -> HttpResponse:
    for name, value in UNSEEN.items():
        answer.headers[name] = value
    return answer
