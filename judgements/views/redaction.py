from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from runs.redaction import erase, not_over
from runs.rights import REDACT, SEE

from ..again import with_texts_beside
from ..forms import Text
from .finding import judgement_for

REASON_LENGTH = 500


class RedactionForm(forms.Form):
    reason = Text(max_length=REASON_LENGTH, needed="Write who demands it and why. It stays in the record.")
    names = forms.BooleanField(required=False)


@require_http_methods(["GET", "POST"])
def redact(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What will be erased, to be confirmed with a reason."""
    judgement = judgement_for(request, pk, REDACT)
    form = RedactionForm(request.POST if request.method == "POST" else None, auto_id="%s")
    refused = "" if judgement.run.over else not_over(judgement.run)
    if not refused and form.is_valid():
        try:
            erase(judgement.run, request.user, **form.cleaned_data)
            return redirect("record", pk)
        except ValueError as error:  # somebody had it tried again just now
            refused = str(error)
    others = with_texts_beside(judgement)
    seen = [other for other in others if SEE.covers(request.user, other.run)]
    context = {
        "judgement": judgement,
        "form": form,
        "most": REASON_LENGTH,
        "refused": refused,
        "others": seen,
        "unseen": len(others) - len(seen),
    }
    return render(request, "judgements/redact.html", context, status=409 if refused else 200)
