from django.urls import path

from .views import councils, history, live, new, record, redaction, replay

urlpatterns = [
    path("", new.new, name="new"),
    path("judgements/", history.history, name="history"),
    path("judgements/export.<str:kind>", history.export, name="export"),
    path("judgements/changes/", history.changes, name="history-changes"),
    path("judgements/agents/", new.council_agents, name="council-agents"),
    path("judgements/models/", new.model_suggestions, name="model-suggestions"),
    path("judgements/cost/", new.expected_cost, name="expected-cost"),
    path("judgements/<uuid:pk>/", live.live, name="live"),
    path("judgements/<uuid:pk>/record/", record.record, name="record"),
    path("judgements/<uuid:pk>/record.json", record.record_file, name="record-file"),
    path("judgements/<uuid:pk>/fragments/", live.fragments, name="fragments"),
    path("judgements/<uuid:pk>/replay/", replay.replay, name="replay"),
    path("judgements/<uuid:pk>/replay/frames/", replay.frames, name="replay-frames"),
    path("judgements/<uuid:pk>/cancel/", live.cancel, name="cancel"),
    path("judgements/<uuid:pk>/retry/", live.retry, name="retry"),
    path("judgements/<uuid:pk>/redact/", redaction.redact, name="redact"),
    path("councils/", councils.councils, name="councils"),
    path("councils/new/", councils.new, name="council-new"),
    path("councils/<int:pk>/", councils.council, name="council"),
    path("councils/<int:pk>/versions/<int:number>/", councils.version, name="council-version"),
    path("councils/<int:pk>/edit/", councils.edit, name="council-edit"),
    path("councils/<int:pk>/switch/", councils.switch, name="council-switch"),
]
