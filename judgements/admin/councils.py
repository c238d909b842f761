from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from engine.admin import format_usage
from engine.models import ModelCall
from engine.templatetags.visible import visible
from runs.admin.read_only import ReadOnlyAdmin

from ..models import Council


@admin.register(Council)
class CouncilAdmin(ReadOnlyAdmin):
    """Read-only. Councils are changed on their own pages, by new versions."""

    list_display = ["shown_name", "version", "agent_names", "owner", "locked", "archived"]
    fields = readonly_fields = (
        *("shown_name", "version", "agent_names", "owner"),
        *("created", "locked", "archived", "used"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return Council.objects.with_content()

    def view_on_site(self, council: Council) -> str:
        return reverse("council", args=[council.pk])

    @admin.display(description="name", ordering="name")
    def shown_name(self, council: Council) -> str:
        return visible(council.name)

    @admin.display(description="agent names")
    def agent_names(self, council: Council) -> str:
        return visible(council.agent_names)

    @admin.display(description="version")
    def version(self, council: Council) -> int | None:
        return council.current.number if council.current else None

    @admin.display(description="used by its judgements")
    def used(self, council: Council) -> str:
        return format_usage(ModelCall.objects.filter(run__judgement__council_version__council=council).usage())
