from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html

from engine.admin import in_words
from engine.budgets import BudgetUsedUp
from engine.models import ModelCall

from . import procedure
from .filters import OUTCOMES
from .models import Agent, Council, Judgement


class ReadOnly(admin.ModelAdmin):
    """For what has happened: it can be looked at, by everybody who may, and changed by nobody."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class StatusFilter(admin.SimpleListFilter):
    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(word, word.capitalize()) for word in OUTCOMES]

    def queryset(self, request: HttpRequest, queryset: Any) -> QuerySet:
        status = self.value()
        return queryset.standing(status) if status in OUTCOMES else queryset


@admin.register(Judgement)
class JudgementAdmin(ReadOnly):
    list_display = ["title", "status_word", "is_rehearsal", "council_version", "asked_by", "created", "duration"]
    list_filter = [StatusFilter, "council_version__council", "run__created"]
    search_fields = ["title", "content", "agents__decisions__reason"]
    list_per_page = 50
    actions = ["cancel", "retry"]
    fields = readonly_fields = (
        "title",
        "status_word",
        "what_happened",
        "asked_by",
        "created",
        "duration",
        "used",
        "record",
    )

    class Media:
        css = {"all": ["css/admin.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return Judgement.objects.whole().order_by("-run__created")

    def has_steer_permission(self, request: HttpRequest) -> bool:
        """Cancelling and retrying change no record; who may see all may do it, as on the pages."""
        return request.user.is_active and request.user.is_staff

    @admin.action(description="Cancel selected judgements", permissions=["steer"])
    def cancel(self, request: HttpRequest, queryset: QuerySet) -> None:
        cancelled = [procedure.cancel(judgement, request.user) for judgement in queryset]
        self.message_user(request, _how_many(cancelled, "cancelled", "over already"))

    @admin.action(description="Retry selected judgements", permissions=["steer"])
    def retry(self, request: HttpRequest, queryset: QuerySet) -> None:
        try:
            retried = [procedure.retry(judgement, request.user) for judgement in queryset]
        except BudgetUsedUp as error:
            self.message_user(request, f"Not all were queued again. {error}", messages.WARNING)
            return
        self.message_user(request, _how_many(retried, "queued again", "left alone: only what failed is tried again"))

    @admin.display(description="status")
    def status_word(self, judgement: Judgement) -> str:
        return judgement.status.capitalize()

    @admin.display(description="rehearsal", boolean=True)
    def is_rehearsal(self, judgement: Judgement) -> bool:
        return judgement.rehearsal

    @admin.display(description="asked by")
    def asked_by(self, judgement: Judgement) -> str:
        return str(judgement.run.owner or "command line")

    @admin.display(description="created", ordering="run__created")
    def created(self, judgement: Judgement) -> str:
        return f"{judgement.run.created:%Y-%m-%d %H:%M:%S} UTC"

    @admin.display(description="took")
    def duration(self, judgement: Judgement) -> str:
        seconds = judgement.run.seconds
        return "" if seconds is None else f"{seconds:.1f} s"

    @admin.display(description="used")
    def used(self, judgement: Judgement) -> str:
        return in_words(judgement.run.calls.all().usage())

    @admin.display(description="what happened")
    def what_happened(self, judgement: Judgement) -> str:
        return (judgement.run.error or {}).get("message", "")

    @admin.display(description="record")
    def record(self, judgement: Judgement) -> str:
        """Agents, decisions and every model call, to be read from top to bottom."""
        calls: dict[str, list] = {}
        for call in judgement.run.calls.order_by("pk"):
            calls.setdefault(call.step, []).append(call)
        agents = [_agent_record(agent, calls) for agent in judgement.agents.all()]
        return format_html(
            "{}",
            render_to_string("admin/judgements/_record.html", {"judgement": judgement, "agents": agents}),
        )


def _how_many(changed: list[bool], done: str, else_: str) -> str:
    number, rest = sum(changed), len(changed) - sum(changed)
    sentence = f"{number} judgement{'' if number == 1 else 's'} {done}."
    return f"{sentence} {rest} {'was' if rest == 1 else 'were'} {else_}." if rest else sentence


def _agent_record(agent: Agent, calls: dict[str, list]) -> dict[str, object]:
    decisions = {decision.round: decision for decision in agent.decisions.all()}
    rounds = [
        {"number": number, "decision": decisions.get(number), "calls": calls.get(agent.step(number), [])}
        for number in (1, 2, 3)
    ]
    return {"agent": agent, "rounds": rounds}


@admin.register(Council)
class CouncilAdmin(ReadOnly):
    """To look at. Councils are changed on their own pages, by new versions."""

    list_display = ["name", "version", "agent_names", "owner", "archived"]
    fields = readonly_fields = ("name", "version", "agent_names", "owner", "created", "archived", "used")

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return Council.objects.whole()

    def view_on_site(self, council: Council) -> str:
        return reverse("council", args=[council.pk])

    @admin.display(description="version")
    def version(self, council: Council) -> int | None:
        return council.current.number if council.current else None

    @admin.display(description="used by its judgements")
    def used(self, council: Council) -> str:
        return in_words(ModelCall.objects.filter(run__judgement__council_version__council=council).usage())
