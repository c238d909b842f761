"""Coming in: the one-time link for the first administrator, and setting a password."""

from typing import Any

from django.contrib.auth import get_user_model, login, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

FIRST_ADMINISTRATOR = "admin"


class OneTimeLink(PasswordResetTokenGenerator):
    """Holds for three days and until the user signs in: its hash covers the time of the last sign-in."""

    key_salt = "magi_site.access.OneTimeLink"


one_time_link = OneTimeLink()


def first_sign_in_path() -> str | None:
    """The path of a one-time link, made with its user, as long as no administrator has a password."""
    users = get_user_model().objects
    administrators = users.filter(is_superuser=True, is_active=True).order_by("pk")
    if any(user.has_usable_password() for user in administrators):
        return None
    user: Any = administrators.first() or users.create_superuser(FIRST_ADMINISTRATOR)
    return reverse("enter", args=[user.pk, one_time_link.make_token(user)])


@login_not_required
@require_GET
def enter(request: HttpRequest, pk: int, token: str) -> HttpResponse:
    user = get_user_model().objects.filter(pk=pk, is_active=True).first()
    if user is None or not one_time_link.check_token(user, token):
        raise Http404("This link has been used, or is too old.")
    # of two visits at once one moves the time of the last sign-in, and with it the token
    mine = get_user_model().objects.filter(pk=pk, last_login=user.last_login).update(last_login=timezone.now())
    if not mine:
        raise Http404("This link has just been used.")
    login(request, user)
    return redirect("new")


def password(request: HttpRequest) -> HttpResponse:
    """Change one's password, or set the first one."""
    user: Any = request.user
    form_class = PasswordChangeForm if user.has_usable_password() else SetPasswordForm
    form = form_class(user, request.POST or None)
    done = form.is_valid()
    if done:
        form.save()
        update_session_auth_hash(request, user)
    return render(request, "registration/password.html", {"form": form, "done": done})
