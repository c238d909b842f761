"""The pages of webhooks: create one, list its deliveries, and resend a message."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from ..forms import parse_number, posted_values
from ..models.webhooks import Webhook
from ..webhooks import forms, overview
from .library import tabs


@require_http_methods(["GET", "HEAD", "POST"])
def webhooks_page(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return _page(request, forms.WebhookForm(auto_id="%s"))
    form = forms.WebhookForm(posted_values(request.POST), auto_id="%s")
    if not form.is_valid():
        return _page(request, form, status=422)
    if forms.has_reached_limit(request.user):
        return _page(request, form, status=409, refused=forms.TOO_MANY_TEXT)
    owner: Any = request.user
    made = Webhook.objects.create(owner=owner, **form.cleaned_data)
    return _page(request, forms.WebhookForm(auto_id="%s"), made=made)


def _page(request: HttpRequest, form: forms.WebhookForm, status: int = 200, **more: Any) -> HttpResponse:
    context = {"webhooks": overview.webhooks_of(request.user), "form": form, **_around(request), **more}
    return render(request, "runs/webhooks.html", context, status=status)


def _around(request: HttpRequest) -> dict[str, Any]:
    return {"tabs": tabs(), "list": request.path, "page": "library"}


@require_GET
def webhook_page(request: HttpRequest, pk: int) -> HttpResponse:
    own = _own(request, pk)
    sent, older = overview.deliveries_of(own, parse_number(request.GET.get("before", "")))
    context = {"kept": overview.WebhookSummary(own), "sent": sent, "older": older, **_around(request)}
    return render(request, "runs/webhook.html", context)


@require_POST
def delete_webhook(request: HttpRequest, pk: int) -> HttpResponse:
    _own(request, pk).delete()
    messages.success(request, "No more messages are sent there.")
    return redirect("webhooks")


@require_POST
def resend_delivery(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    one = get_object_or_404(_own(request, pk).deliveries, pk=number)
    if one.resend():
        messages.success(request, "The message is sent once more, under its old id.")
    else:
        messages.error(request, "It is being sent right now.")
    return redirect("webhook", pk)


def _own(request: HttpRequest, pk: int) -> Webhook:
    return get_object_or_404(Webhook.objects.select_related("owner"), owner=request.user, pk=pk)
