from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from .models import NAME_LENGTH, Token

LONGEST_LIFE = 3650


class TokenForm(forms.ModelForm):
    name = forms.CharField(max_length=NAME_LENGTH, help_text="What it is for, so that it can be told from others.")
    days = forms.IntegerField(
        min_value=1, max_value=LONGEST_LIFE, required=False, help_text="How long it holds. Empty: until it is revoked."
    )

    class Meta:
        model = Token
        fields = ["name"]


@admin.register(Token)
class TokenAdmin(admin.ModelAdmin):
    """Whoever makes a token makes it for oneself: one for somebody else would let its maker act as that person."""

    form = TokenForm
    list_display = ["__str__", "owner", "state", "created", "expires", "last_used"]
    list_select_related = ["owner"]
    list_filter = ["revoked", "expires"]
    search_fields = ["name", "owner__username"]
    actions = ["revoke"]

    def get_fields(self, request: HttpRequest, obj: Token | None = None) -> Any:
        seen = ["name", "owner", "state", "created", "expires", "revoked", "last_used"]
        return seen if obj else ["name", "days"]

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

    def save_model(self, request: HttpRequest, obj: Token, form: Any, change: bool) -> None:
        made = Token.objects.make(request.user, form.cleaned_data["name"], form.cleaned_data["days"])
        obj.pk, obj.secret = made.pk, made.secret

    def response_add(self, request: HttpRequest, obj: Token, post_url_continue: str | None = None) -> HttpResponse:
        """The token itself, in this one answer: a message would lie in a cookie or in the database."""
        context = {**self.admin_site.each_context(request), "title": "The new token", "secret": obj.secret}
        return TemplateResponse(request, "admin/magi_site/made.html", context)
