"""Gates in the admin, read-only: people decide on the pages of the gates, one by one."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from engine.models import Gate, GateRule
from engine.templatetags.visible import visible

from ..procedure.spec import spec_of_run
from ..rights import SEE, PermissionReach
from .read_only import ReadOnlyAdmin


@admin.register(GateRule)
class GateRuleAdmin(admin.ModelAdmin):
    """Additional requirements of the installation; they only make gates stricter."""

    list_display = ["__str__", "who", "persons", "four_eyes", "blind", "council", "hours", "expiry"]


@admin.register(Gate)
class GateAdmin(ReadOnlyAdmin):
    list_display = ["subject", "of_run", "state", "approvers", "made", "expires", "closed"]
    list_display_links = None
    fields = readonly_fields = (
        "subject",
        "of_run",
        "kind",
        "step",
        "number",
        "state",
        "approvers",
        "made",
        "expires",
        "closed",
    )
    list_filter = ["state"]
    date_hierarchy = "made"
    ordering = ["-pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Gate]:
        return Gate.objects.select_related("run")

    def view_on_site(self, gate: Gate) -> str:
        return reverse("gate", args=[gate.pk])

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return SEE.reach(request.user) == PermissionReach.ALL

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    @admin.display(description="what is asked")
    def subject(self, gate: Gate) -> SafeString:
        return _link(reverse("gate", args=[gate.pk]), gate.title or "Redacted")

    @admin.display(description="of")
    def of_run(self, gate: Gate) -> SafeString:
        return _link(spec_of_run(gate.run).address("live", gate.run_id), gate.run.shown_title)

    @admin.display(description="who is asked")
    def approvers(self, gate: Gate) -> str:
        return visible(gate.asked or "whose run it is")


def _link(address: str, text: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', address, visible(text))
