from uuid import UUID

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from .. import procedure
from ..again import with_texts_beside
from ..forms import Text
from ..models import NOT_OVER, Judgement

REASON_LENGTH = 500


class RedactionForm(forms.Form):
    reason = Text(max_length=REASON_LENGTH, needed="Write who demands it and why. It stays in the record.")
    names = forms.BooleanField(required=False)


@require_http_methods(["GET", "POST"])
def redact(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What will be erased, to be confirmed with a reason."""
    judgement = get_object_or_404(Judgement.objects.visible_to(request.user).select_related("run"), pk=pk)
    if not judgement.is_redactable_by(request.user):
        raise PermissionDenied
    form = RedactionForm(request.POST if request.method == "POST" else None, auto_id="%s")
    refused = "" if judgement.run.over else NOT_OVER
    if not refused and form.is_valid():
        try:
            procedure.erase(judgement, request.user, **form.cleaned_data)
            return redirect("record", pk)
        except ValueError as error:  # somebody had it tried again just now
            refused = str(error)
    context = {
        "judgement": judgement,
        "form": form,
        "most": REASON_LENGTH,
        "refused": refused,
        "others": with_texts_beside(judgement),
    }
    return render(request, "judgements/redact.html", context, status=409 if refused else 200)
