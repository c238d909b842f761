"""The outbox in the admin, read-only except for uncertain and kept emails.

A person records what happened to an uncertain email, and can have a kept one sent.
"""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from engine.models import Letter
from engine.templatetags.visible import visible

from .read_only import ReadOnlyAdmin

State = Letter.State


@admin.register(Letter)
class EmailAdmin(ReadOnlyAdmin):
    list_display = ["about", "recipients", "state", "made", "sent", "attempts", "why"]
    fields = readonly_fields = ("about", "recipients", "body", "state", "why", "made", "due", "sent", "attempts", "run")
    list_filter = ["state"]
    date_hierarchy = "made"
    list_select_related = ["run"]
    actions = ["mark_sent", "send_again", "discard"]

    def has_resolve_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("engine.change_letter")

    @admin.action(description="Uncertain: it was sent", permissions=["resolve"])
    def mark_sent(self, request: HttpRequest, queryset: QuerySet[Letter]) -> None:
        self._say(request, queryset, State.SENT)

    @admin.action(description="Uncertain or kept: send it", permissions=["resolve"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Letter]) -> None:
        self._say(request, queryset, State.TO_SEND)

    @admin.action(description="Uncertain: leave it", permissions=["resolve"])
    def discard(self, request: HttpRequest, queryset: QuerySet[Letter]) -> None:
        self._say(request, queryset, State.KEPT)

    def _say(self, request: HttpRequest, queryset: QuerySet[Letter], state: str) -> None:
        said = [letter.resolve(state) for letter in queryset]
        left = f" {said.count(False)} left alone: of these nothing can be said." if False in said else ""
        self.message_user(request, f"{said.count(True)} changed.{left}")

    @admin.display(description="subject")
    def about(self, letter: Letter) -> Any:
        return visible(letter.subject or "Redacted")

    @admin.display(description="to")
    def recipients(self, letter: Letter) -> Any:
        return visible(letter.to)

    @admin.display(description="text")
    def body(self, letter: Letter) -> Any:
        return visible(letter.text)

    @admin.display(description="why")
    def why(self, letter: Letter) -> Any:
        return visible(letter.error)
