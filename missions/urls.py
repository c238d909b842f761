from django.urls import path

from runs.face import faces
from runs.urls import pages
from runs.views.library import library

from .shelf import Crews
from .views import crews, files, memories, new, reading, steering

urlpatterns = [
    path("crews/", library, {"only": Crews.name}, name="crews"),
    path("crews/new/", crews.new, name="crew-new"),
    path("crews/<int:pk>/", crews.crew, name="crew"),
    path("crews/<int:pk>/file/", crews.file, name="crew-file"),
    path("crews/<int:pk>/versions/<int:number>/", crews.version, name="crew-version"),
    path("crews/<int:pk>/edit/", crews.edit, name="crew-edit"),
    path("crews/<int:pk>/switch/", crews.switch, name="crew-switch"),
    path("library/memories/", memories.listed, name="memories"),
    path("library/memories/new/", memories.form, name="memory-new"),
    path("library/memories/<int:pk>/", memories.one, name="memory"),
    path("library/memories/<int:pk>/edit/", memories.form, name="memory-edit"),
    path("library/memories/<int:pk>/file/", memories.file, name="memory-file"),
    path("library/memories/versions/<int:pk>/", memories.decide, name="memory-decide"),
    path("missions/new/", new.new, name="mission-new"),
    path("missions/cost/", new.expected_cost, name="mission-cost"),
    *pages(faces()["mission"]),
    path("missions/<uuid:pk>/say/", steering.say, name="mission-say"),
    path("missions/<uuid:pk>/pause/", steering.pause, name="mission-pause"),
    path("missions/<uuid:pk>/judge/", reading.judge, name="mission-judge"),
    path("missions/<uuid:pk>/files/", files.changed, name="mission-files"),
    path("missions/<uuid:pk>/patch/", files.patch, name="mission-patch"),
    path("missions/<uuid:pk>/archive/", files.archive, name="mission-archive"),
    path("missions/<uuid:pk>/pull-request/", files.pull_request, name="mission-pull-request"),
    path("missions/<uuid:pk>/bundle/", files.bundle, name="mission-bundle"),
    path("missions/<uuid:pk>/beginning/", files.beginning, name="mission-beginning"),
    path("missions/<uuid:pk>/commits/<str:commit>/", files.commit, name="mission-commit"),
    path("missions/<uuid:pk>/messages/", reading.messages, name="mission-messages"),
    path("missions/<uuid:pk>/terminals/", reading.terminals, name="mission-terminals"),
    path("missions/<uuid:pk>/terminals/<int:number>/", reading.terminal, name="mission-terminal"),
    path("missions/<uuid:pk>/terminals/<int:number>/answer/", steering.answer, name="mission-answer"),
]
