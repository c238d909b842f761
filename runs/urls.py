from typing import Any

from django.urls import URLPattern, path

from .live.consumers import PendingConsumer, RunConsumer
from .procedure.spec import ProcedureSpec, specs
from .views import (
    badges,
    comparison,
    forking,
    gates,
    history,
    library,
    live,
    outbox,
    record,
    redaction,
    replay,
    review,
    searches,
    sharing,
    webhooks,
)

VIEWS = {
    "live": ("", live.live),
    "record": ("record/", record.record),
    "record-file": ("record.json", record.record_file),
    "evidence": ("evidence.zip", record.evidence),
    "fragments": ("fragments/", live.fragments),
    "replay": ("replay/", replay.replay_page),
    "replay-file": ("replay.html", record.replay_download),
    "replay-frames": ("replay/frames/", replay.frames),
    "made": ("made/", live.submitted_run),
    "cancel": ("cancel/", live.cancel),
    "retry": ("retry/", live.retry),
    "redact": ("redact/", redaction.redact),
    "share": ("share/", sharing.share),
}


LISTS = {"history": ("", history.history), "history-changes": ("changes/", history.changes)}


def pages(face: ProcedureSpec[Any, Any]) -> list[URLPattern]:
    """Return the pages of a procedure: its list, and those of each run."""
    lists = [
        path(f"{face.nouns}/{address}", view, {"face": face}, name=face.page_name(name))
        for name, (address, view) in LISTS.items()
    ]
    export = path(f"{face.nouns}/export.<str:format>", history.export, {"face": face}, name=face.page_name("export"))
    end = path(
        f"{face.nouns}/<uuid:pk>/share/<int:link>/end/",
        sharing.revoke_link,
        {"face": face},
        name=face.page_name("end-share"),
    )
    end_badge = path(
        f"{face.nouns}/<uuid:pk>/share/badges/<int:badge>/end/",
        sharing.end_badge,
        {"face": face},
        name=face.page_name("end-its-badge"),
    )
    take_back = path(
        f"{face.nouns}/<uuid:pk>/share/given/<int:given>/take-back/",
        sharing.revoke_grant,
        {"face": face},
        name=face.page_name("take-back"),
    )
    fork = path(f"{face.nouns}/<uuid:pk>/fork/", forking.fork, {"face": face}, name=face.page_name("fork"))
    forked = [fork] if face.forks else []
    return [*lists, export, end, end_badge, take_back, *forked] + [
        path(f"{face.nouns}/<uuid:pk>/{address}", view, {"face": face}, name=face.page_name(name))
        for name, (address, view) in VIEWS.items()
    ]


urlpatterns = [
    *(path(f"runs/{address}", view, name=f"runs-{name}") for name, (address, view) in LISTS.items()),
    path("runs/export.<str:format>", history.export, name="runs-export"),
    path("runs/compare/", comparison.compare, name="compare"),
    path("runs/views/", searches.save_search, name="save-view"),
    path("runs/views/<int:pk>/delete/", searches.delete_search, name="delete-view"),
    path("runs/<uuid:pk>/erased/", live.erased, name="erased"),
    path("shared/<str:secret>/", sharing.shared_record, name="shared"),
    path("badge/<str:secret>.svg", badges.badge_image, name="badge"),
    path("library/badges/", badges.badges_page, name="badges"),
    path("library/badges/<int:pk>/end/", badges.revoke_badge, name="end-badge"),
    path("waiting/", gates.pending_page, name="waiting"),
    path("gates/<int:pk>/", gates.gate_page, name="gate"),
    path("gates/<int:pk>/here/", gates.gate_page, {"here": True}, name="gate-here"),
    path("library/", library.library, name="library"),
    path("library/tools/", library.tools, name="tools"),
    path("library/outbox/", outbox.outbox_page, name="outbox"),
    path("library/outbox/<int:pk>/", outbox.resolve_email, name="letter-say"),
    path("library/webhooks/", webhooks.webhooks_page, name="webhooks"),
    path("library/webhooks/<int:pk>/", webhooks.webhook_page, name="webhook"),
    path("library/webhooks/<int:pk>/delete/", webhooks.delete_webhook, name="webhook-delete"),
    path("library/webhooks/<int:pk>/deliveries/<int:number>/resend/", webhooks.resend_delivery, name="webhook-resend"),
    path("review/", review.review, name="review"),
    path("review/figures/", review.review_numbers, name="review-figures"),
    path("review/<uuid:pk>/", review.review_run, name="review-one"),
]

# One WebSocket for all; also under the name of the procedure, which pages from before still use.
websocket_urlpatterns = [
    path(f"ws/{which}/<uuid:pk>/", RunConsumer.as_asgi())
    for which in ("runs", *(face.nouns for face in specs().values()))
] + [path("ws/waiting/", PendingConsumer.as_asgi())]
