"""Plans that worked and share words with a task: to begin from one of them."""

from itertools import islice
from typing import Any

from engine.search import words_of
from runs.models import SearchText, found_by

from .models import Plan

OFFERED = 3
LEAST_LETTERS, LEAST_SHARED = 4, 2
MOST_WORDS, MOST_LOOKED_AT = 40, 200


def similar(owner: Any, task: str) -> list[Plan]:
    """Of this person, those with most words in common first, the newest of equal ones."""
    words = set(islice((word for word in words_of(task) if len(word) >= LEAST_LETTERS), MOST_WORDS))
    if len(words) < LEAST_SHARED:
        return []
    rows = found_by(Plan.objects.worked(owner), [sorted(words)], few=True)
    newest = list(rows.order_by("-run__created")[:MOST_LOOKED_AT])
    shared = _shared(newest, words)
    close = [plan for plan in newest if shared.get(plan.pk, 0) >= LEAST_SHARED]
    return sorted(close, key=lambda plan: -shared[plan.pk])[:OFFERED]


def _shared(plans: list[Plan], words: set[str]) -> dict[Any, int]:
    texts = SearchText.objects.filter(run__in=[plan.pk for plan in plans]).values_list("run", "words")
    return {run: len(words & set(text.split())) for run, text in texts}
