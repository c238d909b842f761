from typing import Any

from django.urls import URLPattern, path

from .consumers import LiveConsumer, WaitingConsumer
from .face import Face, faces
from .views import (
    badges,
    comparing,
    forking,
    gates,
    history,
    hooks,
    library,
    live,
    outbox,
    record,
    redaction,
    replay,
    review,
    saved,
    sharing,
)

VIEWS = {
    "live": ("", live.live),
    "record": ("record/", record.record),
    "record-file": ("record.json", record.record_file),
    "evidence": ("evidence.zip", record.evidence),
    "fragments": ("fragments/", live.fragments),
    "replay": ("replay/", replay.replay),
    "replay-file": ("replay.html", record.replay),
    "replay-frames": ("replay/frames/", replay.frames),
    "made": ("made/", live.made),
    "cancel": ("cancel/", live.cancel),
    "retry": ("retry/", live.retry),
    "redact": ("redact/", redaction.redact),
    "share": ("share/", sharing.share),
}


LISTS = {"history": ("", history.history), "history-changes": ("changes/", history.changes)}


def pages(face: Face[Any, Any]) -> list[URLPattern]:
    """Those of a procedure: the list of its runs, and those of each."""
    lists = [
        path(f"{face.nouns}/{address}", view, {"face": face}, name=face.page_name(name))
        for name, (address, view) in LISTS.items()
    ]
    export = path(f"{face.nouns}/export.<str:format>", history.export, {"face": face}, name=face.page_name("export"))
    end = path(
        f"{face.nouns}/<uuid:pk>/share/<int:link>/end/",
        sharing.end_share,
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
        sharing.take_back_from,
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
    path("runs/compare/", comparing.compare, name="compare"),
    path("runs/views/", saved.save_view, name="save-view"),
    path("runs/views/<int:pk>/delete/", saved.delete_view, name="delete-view"),
    path("runs/<uuid:pk>/erased/", live.erased, name="erased"),
    path("shared/<str:secret>/", sharing.shared, name="shared"),
    path("badge/<str:secret>.svg", badges.badge, name="badge"),
    path("library/badges/", badges.page, name="badges"),
    path("library/badges/<int:pk>/end/", badges.end, name="end-badge"),
    path("waiting/", gates.waiting, name="waiting"),
    path("gates/<int:pk>/", gates.gate, name="gate"),
    path("gates/<int:pk>/here/", gates.gate, {"here": True}, name="gate-here"),
    path("library/", library.library, name="library"),
    path("library/tools/", library.tools, name="tools"),
    path("library/outbox/", outbox.letters, name="outbox"),
    path("library/outbox/<int:pk>/", outbox.say, name="letter-say"),
    path("library/hooks/", hooks.hooks, name="hooks"),
    path("library/hooks/<int:pk>/", hooks.hook, name="hook"),
    path("library/hooks/<int:pk>/take-away/", hooks.take_away, name="hook-take-away"),
    path("library/hooks/<int:pk>/deliveries/<int:number>/resend/", hooks.resend, name="hook-resend"),
    path("review/", review.review, name="review"),
    path("review/figures/", review.figures, name="review-figures"),
    path("review/<uuid:pk>/", review.one, name="review-one"),
]

# one socket; under the name of its kind, too, as pages of before know it
websocket_urlpatterns = [
    path(f"ws/{which}/<uuid:pk>/", LiveConsumer.as_asgi())
    for which in ("runs", *(face.nouns for face in faces().values()))
] + [path("ws/waiting/", WaitingConsumer.as_asgi())]
