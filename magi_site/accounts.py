"""Users and groups in the admin. Nobody can grant a permission that they do not have, not even to themselves."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin
from django.contrib.auth.forms import AdminPasswordChangeForm, AdminUserCreationForm
from django.contrib.auth.models import Group, Permission, User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from engine.admin import BudgetUserAdmin
from engine.models.rate_limits import RateLimitReached

from .groups import names_of, permissions_of
from .sign_in import KNOWN_BROWSER_QUEUE, shorten_passwords


def can_grant(request: HttpRequest, permissions: Any) -> bool:
    return request.user.is_superuser or names_of(permissions) <= request.user.get_all_permissions()


def permissions_beyond(request: HttpRequest) -> Any:
    """Primary keys of the permissions that the signed-in user does not have and therefore cannot grant."""
    mine = request.user.get_all_permissions()
    permissions = Permission.objects.select_related("content_type")
    return [
        permission.pk
        for permission in permissions
        if f"{permission.content_type.app_label}.{permission.codename}" not in mine
    ]


class GuardedAdmin(admin.ModelAdmin):
    """Makes rows read-only for users who have fewer permissions than the row grants (`within_reach`)."""

    def within_reach(self, request: HttpRequest, obj: Any) -> bool:
        raise NotImplementedError

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and (obj is None or self.within_reach(request, obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and (obj is None or self.within_reach(request, obj))

    def formfield_for_manytomany(self, db_field: Any, request: Any = None, **kwargs: Any) -> Any:
        """Offer only permissions that the signed-in user has.

        Saving cannot remove others: a row that has more permissions than this user is read-only.
        """
        field: Any = super().formfield_for_manytomany(db_field, request, **kwargs)
        if not request.user.is_superuser:
            which = "permissions__in" if field.queryset.model is Group else "pk__in"
            field.queryset = field.queryset.exclude(**{which: permissions_beyond(request)})
        return field


class NewUserForm(AdminUserCreationForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        shorten_passwords(self)


class NewPasswordForm(AdminPasswordChangeForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        shorten_passwords(self)


def password_queue(view: Callable[..., HttpResponse], request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
    """Call a view that hashes a password when the queue of known browsers has a place.

    If the queue is full, redirect back to the page with a message that says so.
    """
    if request.method != "POST":
        return view(request, *args, **kwargs)
    try:
        with KNOWN_BROWSER_QUEUE.place(request.user.get_username()):
            return view(request, *args, **kwargs)
    except RateLimitReached as reached:
        messages.error(request, str(reached))
        return redirect(request.get_full_path())


admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UserAdminPage(GuardedAdmin, BudgetUserAdmin):
    add_form = NewUserForm
    change_password_form = NewPasswordForm

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return password_queue(super().add_view, request, *args, **kwargs)

    def user_change_password(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return password_queue(super().user_change_password, request, *args, **kwargs)

    def within_reach(self, request: HttpRequest, obj: User) -> bool:
        """Who can set a user's password can act as that user, so inactive users count with all their permissions."""
        return request.user.is_superuser or (not obj.is_superuser and can_grant(request, permissions_of(obj)))

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        fixed = super().get_readonly_fields(request, obj)
        return fixed if request.user.is_superuser else [*fixed, "is_superuser"]


@admin.register(Group)
class GroupAdminPage(GuardedAdmin, GroupAdmin):
    def within_reach(self, request: HttpRequest, obj: Group) -> bool:
        return can_grant(request, obj.permissions.all())
