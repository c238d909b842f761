from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from ..forms import PlainTextField
from ..live.related_runs import readable_through
from ..record.redaction import erase_texts, refuse_unfinished
from ..rights import REDACT, SEE
from .row_lookup import AnyFace, run_for

REASON_LENGTH = 500


class RedactionForm(forms.Form):
    reason = PlainTextField(max_length=REASON_LENGTH, needed="Write who demands it and why. It stays in the record.")
    names = forms.BooleanField(required=False)


@require_http_methods(["GET", "POST"])
def redact(request: HttpRequest, pk: UUID, face: AnyFace) -> HttpResponse:
    """Show what a redaction erases, and redact after confirmation with a reason."""
    run = run_for(request, face, pk, REDACT)
    form = RedactionForm(request.POST if request.method == "POST" else None, auto_id="%s")
    refused = "" if run.is_ended else refuse_unfinished(run)
    if not refused and form.is_valid():
        try:
            erase_texts(run, request.user, **form.cleaned_data)
            return redirect(face.page_name("record"), pk)
        except ValueError as error:  # it is being retried
            refused = str(error)
    others = face.rows_sharing_texts(run)
    seen = [other for other in others if SEE.covers(request.user, other.run)]
    context = {
        **face.page(pk),
        "run": run,
        "form": form,
        "most": REASON_LENGTH,
        "refused": refused,
        "others": seen,
        "bound": readable_through(run, request.user),
        "unseen": len(others) - len(seen),
    }
    templates = [f"{face.nouns}/redact.html", "runs/redact.html"]
    return render(request, templates, context, status=409 if refused else 200)
