from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from ..board import PLATE, board_of
from ..models import Judgement

PAGE = 25


@require_GET
def history(request: HttpRequest) -> HttpResponse:
    judgements = Judgement.objects.visible_to(request.user).whole().order_by("-run__created")
    page = Paginator(judgements, PAGE).get_page(request.GET.get("page"))
    rows = [_history_row(judgement) for judgement in page.object_list]
    return render(request, "judgements/history.html", {"page": "history", "pager": page, "rows": rows})


def _history_row(judgement: Judgement) -> dict[str, object]:
    board = board_of(judgement, [], {})
    seconds = judgement.run.seconds
    return {
        "pk": judgement.pk,
        "title": judgement.title,
        "state": board.state,
        "word": PLATE[judgement.status][1],
        "council_name": board.council,
        "created": board.created,
        "duration": f"{seconds:.0f} s" if seconds is not None else "",
        "approving": board.rule_lead if judgement.verdict else "",
        "votes": [seat.state for seat in board.seats],
        "rehearsal": board.rehearsal,
        "asked_by": board.asked_by,
    }
