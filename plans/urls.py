from django.urls import path

from runs.face import faces
from runs.urls import pages
from runs.views.library import library

from .shelf import Teams
from .views import matters, new, steering, team_forms, teams

urlpatterns = [
    path("plans/new/", new.new, name="plan-new"),
    path("plans/cost/", new.expected_cost, name="plan-cost"),
    path("plans/matters/<uuid:pk>/", matters.matter, name="plan-matter"),
    path("plans/<uuid:pk>/say/", steering.say, name="plan-say"),
    path("plans/<uuid:pk>/steps/<int:number>/", steering.step, name="plan-step"),
    *pages(faces()["plan"]),
    path("teams/", library, {"only": Teams.name}, name="teams"),
    path("teams/new/", team_forms.new, name="team-new"),
    path("teams/<int:pk>/", teams.team, name="team"),
    path("teams/<int:pk>/file/", teams.file, name="team-file"),
    path("teams/<int:pk>/versions/<int:number>/", teams.version, name="team-version"),
    path("teams/<int:pk>/edit/", team_forms.edit, name="team-edit"),
    path("teams/<int:pk>/switch/", teams.switch, name="team-switch"),
]
