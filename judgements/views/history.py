from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from engine.models.pace import LimitReached
from runs.face import faces
from runs.history import History
from runs.rights import EXPORT

from ..export import download
from ..filters import HistoryForm

FILES = ("csv", "jsonl")


@require_GET
def export(request: HttpRequest, kind: str) -> HttpResponseBase:
    """Those judgements of the same filters that one may export, as a file."""
    if kind not in FILES:
        raise Http404
    form = HistoryForm(request.GET)
    if not form.is_valid():
        sentences = "\n".join(str(error) for errors in form.errors.values() for error in errors)
        return HttpResponse(sentences, status=400, content_type="text/plain; charset=utf-8")
    address = request.build_absolute_uri("/").rstrip("/")
    try:
        return download(History(request.user, form.sought, EXPORT, faces()["judgement"]), kind, address, request.user)
    except LimitReached as reached:
        again = {"Retry-After": str(reached.seconds)}
        return HttpResponse(str(reached), status=429, content_type="text/plain; charset=utf-8", headers=again)
