from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path

from engine.web.url_policy import AddressRefused, host_of
from runs.admin import ProcedureRunAdmin
from runs.forms import posted_values
from runs.rights import SEE, PermissionReach
from toolbox.web import search

from .models import Collection, CollectionDocument, Inquiry
from .tools.web import recently_refused


@admin.register(Inquiry)
class InquiryAdmin(ProcedureRunAdmin):
    kind = "inquiry"


class DocumentsInline(admin.TabularInline):
    """The documents of a collection, read-only: `manage.py collection` adds files."""

    model = CollectionDocument
    fields = readonly_fields = ("title", "kind", "digest", "made")
    extra = 0

    def has_add_permission(self, *_: object) -> bool:
        return False


@admin.register(Collection)
class CollectionAdmin(admin.ModelAdmin):
    inlines = (DocumentsInline,)
    readonly_fields = ("made",)
    change_list_template = "admin/inquiries/collections.html"

    def get_urls(self) -> list[Any]:
        return [
            path("outside/", self.admin_site.admin_view(self.outside), name="inquiries_outside"),
            *super().get_urls(),
        ]

    def outside(self, request: HttpRequest) -> HttpResponse:
        """Show the web settings of inquiries, a test of the search, and pages that were refused."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        words = posted_values(request.POST).get("words", "").strip()[:400]
        sees_all = SEE.reach(request.user) == PermissionReach.ALL
        context = {
            **self.admin_site.each_context(request),
            "title": "Looking outside",
            "settings": _settings(),
            "searches": bool(settings.SEARCH.get("provider")),
            "words": words,
            "sees_all": sees_all,
            "refused": recently_refused() if sees_all else (),
            **(_tried(words) if words and settings.SEARCH.get("provider") else {}),
        }
        return TemplateResponse(request, "admin/inquiries/outside.html", context)


def _settings() -> list[tuple[str, str]]:
    """Return the settings without secrets."""
    by = settings.SEARCH
    searched = by.get("tool") or (f"{by['provider']} at {host_of(by['address'])}" if by else "")
    return [
        ("MAGI_SEARCH", searched or "none: it looks in documents alone"),
        ("MAGI_PAGES_ALLOWED_HOSTS", ", ".join(settings.PAGES_ALLOWED_HOSTS) or "none: public addresses alone"),
        ("MAGI_INQUIRY_TOOLS", ", ".join(settings.INQUIRY_TOOLS) or "none"),
    ]


def _tried(words: str) -> dict[str, Any]:
    try:
        return {"hits": async_to_sync(search.search)(search.SearchAnswer(**settings.SEARCH), words)}
    except AddressRefused as why:
        return {"problem": str(why)}
