from django.urls import path

from runs.procedure.spec import specs
from runs.urls import pages
from runs.views.library import library

from .presets import MissionTeamSection
from .views import actions, details, memories, start, team_editor

urlpatterns = [
    path("crews/", library, {"only": MissionTeamSection.name}, name="crews"),
    path("crews/new/", team_editor.new, name="crew-new"),
    path("crews/<int:pk>/", team_editor.team_page, name="crew"),
    path("crews/<int:pk>/file/", team_editor.file, name="crew-file"),
    path("crews/<int:pk>/versions/<int:number>/", team_editor.version, name="crew-version"),
    path("crews/<int:pk>/edit/", team_editor.edit, name="crew-edit"),
    path("crews/<int:pk>/switch/", team_editor.switch_team, name="crew-switch"),
    path("library/memories/", memories.memories_page, name="memories"),
    path("library/memories/new/", memories.memory_form, name="memory-new"),
    path("library/memories/<int:pk>/", memories.memory_page, name="memory"),
    path("library/memories/<int:pk>/edit/", memories.memory_form, name="memory-edit"),
    path("library/memories/<int:pk>/file/", memories.memory_file, name="memory-file"),
    path("library/memories/versions/<int:pk>/", memories.decide_proposal, name="memory-decide"),
    path("missions/new/", start.start_mission, name="mission-new"),
    path("missions/cost/", start.expected_cost, name="mission-cost"),
    *pages(specs()["mission"]),
    path("missions/<uuid:pk>/say/", actions.post_message, name="mission-say"),
    path("missions/<uuid:pk>/pause/", actions.pause, name="mission-pause"),
    path("missions/<uuid:pk>/judge/", details.judge_patch, name="mission-judge"),
    path("missions/<uuid:pk>/files/", details.changed_files_page, name="mission-files"),
    path("missions/<uuid:pk>/patch/", details.patch, name="mission-patch"),
    path("missions/<uuid:pk>/archive/", details.archive, name="mission-archive"),
    path("missions/<uuid:pk>/pull-request/", details.pull_request, name="mission-pull-request"),
    path("missions/<uuid:pk>/bundle/", details.bundle, name="mission-bundle"),
    path("missions/<uuid:pk>/beginning/", details.beginning, name="mission-beginning"),
    path("missions/<uuid:pk>/commits/<str:commit>/", details.commit, name="mission-commit"),
    path("missions/<uuid:pk>/messages/", details.messages, name="mission-messages"),
    path("missions/<uuid:pk>/terminals/", details.terminals, name="mission-terminals"),
    path("missions/<uuid:pk>/terminals/<int:number>/", details.terminal, name="mission-terminal"),
    path("missions/<uuid:pk>/terminals/<int:number>/answer/", actions.answer_terminal, name="mission-answer"),
]
