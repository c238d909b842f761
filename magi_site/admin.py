from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from . import accounts
from .models import Token

__all__ = ["TokenAdmin", "accounts"]


@admin.register(Token)
class TokenAdmin(admin.ModelAdmin):
    """Lists the tokens of all users and revokes them.

    Tokens are created only by their owners on the page Tokens: a token lets its holder act as the owner.
    """

    fields = ["name", "owner", "state", "scopes", "created", "expires", "revoked", "last_used"]
    list_display = ["__str__", "owner", "state", "scopes", "created", "expires", "last_used"]
    list_select_related = ["owner"]
    list_filter = ["revoked", "expires"]
    search_fields = ["name", "owner__username"]
    actions = ["revoke"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("magi_site.change_token")

    @admin.action(description="Revoke selected tokens", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet) -> None:
        revoked = Token.objects.filter(pk__in=queryset).revoke()
        self.message_user(request, f"{revoked} token{'' if revoked == 1 else 's'} revoked.")
