from django.urls import path

from runs.procedure.spec import specs
from runs.urls import pages
from runs.views.library import library

from .presets import PlanTeamSection
from .views import actions, projects, start, team_editor, teams

urlpatterns = [
    path("plans/new/", start.start_plan, name="plan-new"),
    path("plans/cost/", start.expected_cost, name="plan-cost"),
    path("plans/matters/<uuid:pk>/", projects.project_page, name="plan-matter"),
    path("plans/<uuid:pk>/say/", actions.post_comment, name="plan-say"),
    path("plans/<uuid:pk>/steps/<int:number>/", actions.edit_step, name="plan-step"),
    *pages(specs()["plan"]),
    path("teams/", library, {"only": PlanTeamSection.name}, name="teams"),
    path("teams/new/", team_editor.new, name="team-new"),
    path("teams/<int:pk>/", teams.team, name="team"),
    path("teams/<int:pk>/file/", teams.file, name="team-file"),
    path("teams/<int:pk>/versions/<int:number>/", teams.version, name="team-version"),
    path("teams/<int:pk>/edit/", team_editor.edit, name="team-edit"),
    path("teams/<int:pk>/switch/", teams.switch, name="team-switch"),
]
