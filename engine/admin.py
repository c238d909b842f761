from decimal import Decimal
from typing import Any, cast

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from .doctor import run_checks
from .llm.pricing import DOLLAR, format_dollars
from .models import ModelCall, TokenUsage
from .models.budgets import Budget


class BudgetForm(forms.ModelForm):
    limit = forms.DecimalField(
        label="dollars a month",
        min_value=0,
        max_digits=9,
        decimal_places=2,
        help_text="US dollars in a calendar month (UTC). 0 stops everything that costs money.",
    )

    class Meta:
        model = Budget
        fields = ["owner", "limit"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if owner := self.fields.get("owner"):  # not there where it cannot be changed any more
            cast(forms.ModelChoiceField, owner).empty_label = "all together"
        if self.instance.pk:
            self.initial["limit"] = Decimal(self.instance.limit) / DOLLAR

    def clean_limit(self) -> int:
        return int(self.cleaned_data["limit"] * DOLLAR)


@admin.register(Budget)
class BudgetAdmin(admin.ModelAdmin):
    form = BudgetForm
    list_display = ["whose", "a_month", "spent_this_month", "set_aside", "left"]
    list_select_related = ["owner"]

    def get_readonly_fields(self, request: HttpRequest, obj: Budget | None = None) -> list[str]:
        return ["owner"] if obj else []  # what one has spent is not another's

    def save_model(self, request: HttpRequest, obj: Budget, form: Any, change: bool) -> None:
        """Only the limit: what is spent and reserved has moved since the form was read."""
        obj.save(update_fields=["limit"] if change else None)

    @admin.display(description="whose", empty_value="all together")
    def whose(self, budget: Budget) -> str | None:
        return str(budget.owner) if budget.owner else None

    @admin.display(description="a month", ordering="limit")
    def a_month(self, budget: Budget) -> str:
        return format_dollars(budget.limit)

    @admin.display(description="spent this month")
    def spent_this_month(self, budget: Budget) -> str:
        return format_dollars(budget.spent_now)

    @admin.display(description="set aside")
    def set_aside(self, budget: Budget) -> str:
        return format_dollars(budget.reserved)

    @admin.display(description="left")
    def left(self, budget: Budget) -> str:
        return format_dollars(budget.remaining)


admin.site.unregister(User)


@admin.register(User)
class BudgetUserAdmin(UserAdmin):
    """A user, with what the models that were asked for it have used."""

    readonly_fields = ["used"]
    fieldsets = [*(UserAdmin.fieldsets or ()), ("Models", {"fields": ["used"]})]

    @admin.display(description="used by its runs")
    def used(self, user: User) -> str:
        return format_usage(ModelCall.objects.filter(run__owner=user).usage()) if user.pk else ""


def format_usage(usage: TokenUsage) -> str:
    calls = "1 call" if usage.calls == 1 else f"{usage.calls:,} calls"
    about = "about " if usage.estimated else ""
    tokens = f"{about}{usage.input_tokens:,} tokens in and {usage.output_tokens:,} out"
    return f"{calls}, {tokens}, cost {format_dollars(usage.cost)}"


@admin.site.admin_view
@permission_required("engine.use_doctor", raise_exception=True)
@require_http_methods(["GET", "POST"])
def doctor(request: HttpRequest) -> HttpResponse:
    """The check of `manage.py doctor`. It asks models, so only a press of the button starts it."""
    findings = async_to_sync(run_checks)() if request.method == "POST" else None
    context = {**admin.site.each_context(request), "title": "Doctor", "findings": findings}
    return render(request, "admin/doctor.html", context)
