"""Money that may be spent in a calendar month (UTC), by one person or by all together.

What a run is expected to cost is reserved when it is submitted, in the same transaction and by one conditional UPDATE
for each budget, so that of many submissions at once no more are admitted than there is money for. What a call really
costs moves from reserved to spent when it ends. Amounts are billionths of a US dollar.
"""

from collections.abc import Iterable
from datetime import date
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from engine.db import cached_sql

from ..llm.pricing import format_dollars


class BudgetExceeded(Exception):
    """There is not enough money left. The text is a sentence for people."""


class BudgetQuerySet(models.QuerySet["Budget"]):
    def for_user(self, owner: Any) -> list["Budget"]:
        """The budgets that a run of this owner (a user or a key) draws on, each in its present month."""
        month = current_month()
        budgets: list[Budget] = list(self.charged_by(owner).order_by("pk"))
        if any(budget.month < month for budget in budgets):
            self.charged_by(owner).filter(month__lt=month).update(month=month, spent=0)
            return self.for_user(owner)
        return budgets

    def any_set(self) -> bool:
        """Whether anybody has one: asked before every submission and call."""
        return cached_sql.first("SELECT 1 FROM engine_budget LIMIT 1") is not None

    def charged_by(self, owner: Any) -> "BudgetQuerySet":
        """The same as they stand, to be looked at alone."""
        return self.filter(Q(owner=None) | Q(owner=owner) if owner else Q(owner=None))

    def reserve(self, owner: Any, amount: int | None) -> dict[str, Any]:
        """Set money aside, or raise BudgetUsedUp; to be called in a transaction. Returns what a run keeps of it.

        Without a budget nothing is; with one, an amount that is unknown (None) cannot be.
        """
        budgets = self.for_user(owner) if self.any_set() else []
        if budgets and amount is None:
            raise BudgetExceeded(
                "There is a budget, and the price of a model is unknown. Name its price, or another model."
            )
        for budget in budgets:
            room = self.filter(pk=budget.pk, limit__gte=F("spent") + F("reserved") + amount)
            if not room.update(reserved=F("reserved") + amount):
                raise BudgetExceeded(budget.sentence(amount or 0))
        return {"reserved": amount or 0 if budgets else 0, "reserved_in": [budget.pk for budget in budgets]}

    def settle(self, owner: Any, *, spent: int, freed: int, reserved_in: Iterable[int]) -> None:
        """`spent` was really spent, and `freed` of what was reserved in those budgets is no longer."""
        for budget in self.for_user(owner) if spent or freed else []:
            back = freed if budget.pk in reserved_in else 0
            self.filter(pk=budget.pk).update(spent=F("spent") + spent, reserved=Greatest(F("reserved") - back, 0))

    def overdrawn(self, owner: Any) -> "Budget | None":
        """A budget of which more is gone than there was, where there is one."""
        return next((budget for budget in self.for_user(owner) if budget.spent + budget.reserved > budget.limit), None)


def current_month() -> date:
    return timezone.now().date().replace(day=1)


class Budget(models.Model):
    """Of one owner, or of all together where there is none."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True)
    limit = models.BigIntegerField()
    month = models.DateField(default=current_month, editable=False)
    spent = models.BigIntegerField(default=0, editable=False)
    reserved = models.BigIntegerField(default=0, editable=False)

    objects = BudgetQuerySet.as_manager()
    immutable = None

    class Meta:
        constraints = [
            models.UniqueConstraint(Coalesce("owner", 0), name="one_budget_each"),
            models.CheckConstraint(
                name="budget_not_negative", condition=Q(limit__gte=0, spent__gte=0, reserved__gte=0)
            ),
        ]

    def __str__(self) -> str:
        return f"{format_dollars(self.limit)} a month for {self.owner or 'all together'}"

    @property
    def spent_now(self) -> int:
        """In the present month, whether or not anything has been spent in it."""
        return self.spent if self.month == current_month() else 0

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.spent_now - self.reserved)

    @property
    def owner_label(self) -> str:
        return "The budget of all together" if self.owner_id is None else "The budget of the person who asked"

    @property
    def exceeded_text(self) -> str:
        return f"{self.owner_label}, {format_dollars(self.limit)} a month, is used up."

    def sentence(self, needed: int) -> str:
        left = f"{format_dollars(self.remaining)} of {format_dollars(self.limit)} is left this month"
        return f"{self.owner_label} does not suffice: {left}, and this needs up to {format_dollars(needed)}."
