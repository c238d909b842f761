"""Whose words came to a run: what reads what strangers wrote is asked about before it acts."""

from django.db.models import Q

from .models import Run, ToolCall
from .procedure import procedures


def has_read_strangers(run: Run) -> bool:
    """Whether text of strangers came to this run, to those that it belongs to, or to what they were told of."""
    top = run.root or run
    tops = Run.objects.filter(Q(pk=top.pk) | procedures()[top.procedure].heard(top)).order_by()
    return ToolCall.objects.from_outside(tops).exists()
