"""The page of a user's badges, and the image itself."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from ..forms import PlainTextField, posted_values
from ..library.overview import library_sections
from ..models import BadgeLink
from ..models.share_links import MAX_DAYS, WORDS_LENGTH
from ..procedure.spec import spec_of_run
from ..sharing import badges
from .library import tabs
from .sharing import days_field

COLOURS = {"approve": "#1a7f37", "reject": "#c62828", "other": "#6b3fa0", "failed": "#8a4b00"}
GREY = "#5c6470"
PICTURE = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",  # other websites embed it
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}


class BadgeForm(forms.Form):
    of = forms.CharField(label="What it shows")
    words = PlainTextField(
        max_length=WORDS_LENGTH,
        needed="Write the text that it shows before the outcome.",
        help_text="Anyone who sees the picture reads them: as in Release gate.",
    )
    days = days_field()

    def __init__(self, user: Any, *args: Any, **more: Any) -> None:
        super().__init__(*args, **({"auto_id": "%s"} | more))
        self._user = user
        self.things = {
            f"{shelf.label}:{item.key}": item.name
            for _, shelf in library_sections()
            for item in shelf.items(user)
            if not item.archived
        }

    def clean_of(self) -> dict[str, Any]:
        return badges.badge_label(self.cleaned_data["of"], self.things, self._user)


@require_http_methods(["GET", "HEAD", "POST"])
def badges_page(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        asked = {"of": request.GET.get("of", ""), "words": "", "days": MAX_DAYS}
        return _page(request, BadgeForm(request.user, initial=asked))
    form = BadgeForm(request.user, posted_values(request.POST))
    if not form.is_valid():
        return _page(request, form, status=422)
    said = form.cleaned_data
    try:
        made = badges.create_badge(request.user, said["days"], said["words"], **said["of"])
    except ValueError as error:
        return _page(request, form, status=409, refused=str(error))
    address = request.build_absolute_uri(reverse("badge", args=[made.secret]))
    fresh = BadgeForm(request.user, initial={"days": MAX_DAYS})
    return _page(request, fresh, made=made, address=address, code=f"![{made.words}]({address})")


def _page(request: HttpRequest, form: BadgeForm, status: int = 200, **more: Any) -> HttpResponse:
    held = BadgeLink.objects.holding().filter(by=request.user.pk).select_related("run")
    chosen = str(form["of"].value() or "")
    context = {
        "form": form,
        "things": form.things.items(),
        "chosen": chosen,
        "of_run": chosen if chosen.startswith("run:") else "",
        "badges": [{"badge": one, "about": _about(one, form.things)} for one in held],
        "most": WORDS_LENGTH,
        "tabs": tabs(),
        "list": reverse("badges"),
        "page": "library",
    }
    return render(request, "runs/badges.html", {**context, **more}, status=status)


def _about(badge: BadgeLink, things: dict[str, str]) -> str:
    if badge.run:
        return f"{spec_of_run(badge.run).noun.capitalize()} {str(badge.run_id)[:8]}"
    return f"{badge.shelf.capitalize()} “{things.get(f'{badge.shelf}:{badge.key}', 'that is gone')}”"


@require_POST
def revoke_badge(request: HttpRequest, pk: int) -> HttpResponse:
    badges.revoke_badge(get_object_or_404(BadgeLink, by=request.user, pk=pk), request.user)
    messages.success(request, "The badge shows nothing any more.")
    return redirect("badges")


@login_not_required
@require_GET
def badge_image(request: HttpRequest, secret: str) -> HttpResponse:
    """Return the image to anyone with its address. A 404 does not say why it is not valid."""
    found = badges.badge_for_secret(secret)
    if found is None:
        answer = HttpResponse(status=404, content_type="text/plain", headers={"Cache-Control": "no-store"})
    else:
        said = {"badge": found, "colour": COLOURS.get(found.state, GREY)}
        answer = render(request, "runs/badge.svg", said, content_type="image/svg+xml")
        answer.headers["Cache-Control"] = "public, max-age=60"
    for name, value in PICTURE.items():
        answer.headers[name] = value
    return answer
