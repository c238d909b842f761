from typing import Any
from uuid import UUID

from django import forms
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from engine.models import Run

from ..forms import PlainTextField
from ..models import AccessGrant, BadgeLink, ShareLink
from ..models.share_links import DEFAULT_DAYS, FOR_WHOM_LENGTH, MAX_DAYS
from ..procedure.spec import spec_of_run
from ..record.document import integrity_of
from ..rights import SHARE, still_granted
from ..sharing import badges
from ..sharing.grants import grant_access, revoke_access
from ..sharing.links import (
    active_links,
    create_link,
    guest_record,
    log_link_view,
    revoke_share_link,
    run_for_secret,
    share_refusal,
)
from .row_lookup import AnyFace, run_for

LONGEST_NAME = 160  # name of an account or a group, with its type
UNSEEN = {
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Cache-Control": "no-store",
}


def days_field() -> forms.IntegerField:
    """A field for the validity of a secret address in days."""
    wrong = f"Write a number of days from 1 to {MAX_DAYS}."
    return forms.IntegerField(
        label="Valid for (days)",
        min_value=1,
        max_value=MAX_DAYS,
        error_messages=dict.fromkeys(("required", "invalid", "min_value", "max_value"), wrong),
    )


class GrantForm(forms.Form):
    to = PlainTextField(
        max_length=LONGEST_NAME,
        needed="Write the name of a person or of a group.",
        label="Name of a person or of a group",
        help_text="People by the name that they sign in with.",
    )


class ShareLinkForm(forms.Form):
    for_whom = PlainTextField(max_length=FOR_WHOM_LENGTH)
    days = days_field()


@require_http_methods(["GET", "POST"])
def share(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    """Show grants and links of a record, and create them. The address of a new link is shown once."""
    run = run_for(request, face, pk, SHARE)
    if request.method != "POST" or share_refusal(run):
        return _page(request, face, run, 409 if request.method == "POST" else 200, refused=share_refusal(run))
    return _give(request, face, run) if "to" in request.POST else _make(request, face, run)


def _give(request: HttpRequest, face: AnyFace, run: Run) -> HttpResponse:
    giving = GrantForm(request.POST, auto_id="%s")
    if giving.is_valid():
        try:
            grant_access(run, request.user, giving.cleaned_data["to"])
            return redirect(face.page_name("share"), run.pk)
        except ValueError as error:
            giving.add_error("to", str(error))
    return _page(request, face, run, 422, giving=giving)


def _make(request: HttpRequest, face: AnyFace, run: Run) -> HttpResponse:
    form = ShareLinkForm(request.POST, auto_id="%s")
    if not form.is_valid():
        return _page(request, face, run, 422, form=form)
    try:
        made = create_link(run, request.user, **form.cleaned_data)
    except ValueError as error:
        return _page(request, face, run, 409, refused=str(error))
    address = request.build_absolute_uri(reverse("shared", args=[made.secret]))
    return _page(request, face, run, made=made, address=address)


def _page(request: HttpRequest, face: AnyFace, run: Run, status: int = 200, **more: Any) -> HttpResponse:
    links = list(ShareLink.objects.filter(run=run).select_related("by").prefetch_related("looks"))
    holding = [one for one in links if one.is_valid]
    of_it = list(BadgeLink.objects.holding().filter(run=run).select_related("by"))
    context = {
        **face.page(run.pk),
        "run": run,
        "end_page": face.page_name("end-share"),
        "end_badge_page": face.page_name("end-its-badge"),
        "take_back_page": face.page_name("take-back"),
        "seen": still_granted(AccessGrant.objects.active().filter(run=run)),
        "given": AccessGrant.objects.filter(run=run, ended=None).prefetch_related("looks__user"),
        "giving": GrantForm(auto_id="%s"),
        "form": ShareLinkForm(initial={"days": DEFAULT_DAYS}, auto_id="%s"),
        "most": FOR_WHOM_LENGTH,
        "holding": holding,
        "showing": active_links(run, holding),
        "badges": of_it,
        "badges_showing": active_links(run, of_it),
        "over": [one for one in links if not one.is_valid],
    }
    return render(request, "runs/share.html", {**context, **more}, status=status)


@require_POST
def revoke_link(request: HttpRequest, pk: UUID, link: int, face: AnyFace) -> HttpResponse:
    run = run_for(request, face, pk, SHARE)
    for one in ShareLink.objects.filter(run=run, pk=link):
        revoke_share_link(one, request.user)
    return redirect(face.page_name("share"), pk)


@require_POST
def end_badge(request: HttpRequest, pk: UUID, badge: int, face: AnyFace) -> HttpResponse:
    run = run_for(request, face, pk, SHARE)
    for one in BadgeLink.objects.filter(run=run, pk=badge):
        badges.revoke_badge(one, request.user)
    return redirect(face.page_name("share"), pk)


@require_POST
def revoke_grant(request: HttpRequest, pk: UUID, given: int, face: AnyFace) -> HttpResponse:
    run = run_for(request, face, pk, SHARE)
    for one in AccessGrant.objects.filter(run=run, pk=given):
        revoke_access(one, request.user)
    return redirect(face.page_name("share"), pk)


@login_not_required
@require_GET
def shared_record(request: HttpRequest, secret: str) -> HttpResponse:
    """Show one record to anyone with the link. A 404 does not say why a link is not valid."""
    found = run_for_secret(secret)
    if found is None:
        return _unseen(render(request, "runs/shared_ended.html", status=404))
    face = spec_of_run(found.run)
    row = face.rows().get(pk=found.run_id)
    log_link_view(found)
    context = {
        "face": face,
        **guest_record(row),
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
