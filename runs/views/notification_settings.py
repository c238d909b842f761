"""The settings for notifications about pending gates."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engine.models import EmailOptOut

from ..approvals.reminders import can_receive_email


@require_http_methods(["GET", "HEAD", "POST"])
def notification_settings(request: HttpRequest) -> HttpResponse:
    user: Any = request.user
    if request.method == "POST":
        if "mail" in request.POST:
            EmailOptOut.objects.filter(user=user.pk).delete()
        else:
            EmailOptOut.objects.get_or_create(user_id=user.pk)
        return redirect("notices")
    context = {
        "wanted": not EmailOptOut.objects.filter(user=user.pk).exists(),
        "reachable": can_receive_email(user),
        "server": bool(settings.EMAIL_URL),
    }
    return render(request, "registration/notices.html", context)
