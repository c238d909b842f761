"""The one-time link for the first administrator, and the page that sets a password."""

from typing import Any

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME, get_user_model, login, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from engine.models.rate_limits import RateLimitReached

from .models import Token
from .sign_in import KNOWN_BROWSER_QUEUE, check_attempt, refusal_response, remember_browser, shorten_passwords

FIRST_ADMINISTRATOR = "admin"


class OneTimeLink(PasswordResetTokenGenerator):
    """A link that is valid for three days or until the user signs in: its hash covers the time of the last sign-in."""

    key_salt = "magi_site.first_login.OneTimeLink"


one_time_link = OneTimeLink()


def first_administrator_link() -> str | None:
    """The path of a one-time link; None once an administrator has a password. Creates the user if necessary."""
    users = get_user_model().objects
    administrators = users.filter(is_superuser=True, is_active=True).order_by("pk")
    if any(user.has_usable_password() for user in administrators):
        return None
    user: Any = administrators.first() or users.create_superuser(FIRST_ADMINISTRATOR)
    return reverse("enter", args=[user.pk, one_time_link.make_token(user)])


@login_not_required
@require_GET
def use_sign_in_link(request: HttpRequest, pk: int, token: str) -> HttpResponse:
    user = get_user_model().objects.filter(pk=pk, is_active=True).first()
    if user is None or not one_time_link.check_token(user, token):
        return _invalid_link(request)
    # only one of two simultaneous visits finds the old `last_login`; its update makes the token invalid
    updated = get_user_model().objects.filter(pk=pk, last_login=user.last_login).update(last_login=timezone.now())
    if not updated:
        return _invalid_link(request)
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
    # the link is used up: without a password this user could not sign in again
    return redirect("new" if user.has_usable_password() else "password")


def _invalid_link(request: HttpRequest) -> HttpResponse:
    """The same page for a link that was used, has expired or never existed."""
    return render(request, "registration/link.html", status=404)


@login_not_required
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect to the site's sign-in page. Signed-in users without access get a 403 instead of a redirect loop."""
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME, reverse("admin:index")))


def admin_password(request: HttpRequest, extra_context: object = None) -> HttpResponse:
    return redirect("password")


def view_on_site(request: HttpRequest, content_type_id: str, object_id: str) -> HttpResponse:
    """Replaces Django's view, which raises for a key that is no UUID. No model has `get_absolute_url`."""
    raise Http404("Rows have no page by this address.")


def set_password(request: HttpRequest) -> HttpResponse:
    """Change one's password, or set the first one; on request, revoke one's API tokens too."""
    user: Any = request.user
    form_class = PasswordChangeForm if user.has_usable_password() else SetPasswordForm
    form = form_class(user, request.POST if request.method == "POST" else None)  # empty data is a submitted form, too
    shorten_passwords(form)
    page, mine = "registration/password.html", Token.objects.live().filter(owner=user)
    try:
        done = request.method == "POST" and _set_password(request, form)
    except RateLimitReached as reached:
        context = {"form": form_class(user), "refused": str(reached), "tokens": mine.count()}
        return refusal_response(render(request, page, context), reached)
    ended = mine.revoke() if done and "end_tokens" in request.POST else 0
    response = render(request, page, {"form": form, "done": done, "ended": ended, "tokens": mine.count()})
    if done:
        remember_browser(response, user)
    return response


def _set_password(request: HttpRequest, form: Any) -> bool:
    """Save the new password if the form is valid; return whether it was saved.

    A form that asks for the old password counts as an attempt to sign in, under the same limits.
    """
    name = form.user.get_username()
    with check_attempt(request, name) if "old_password" in form.fields else KNOWN_BROWSER_QUEUE.place(name) as made:
        done = form.is_valid()
        if made:
            made.right = "old_password" not in form.errors
        if done:
            form.save()
    if done:
        update_session_auth_hash(request, form.user)
    return done
