from django.urls import path

from runs.procedure.spec import specs
from runs.urls import pages
from runs.views.library import library

from .presets import InquiryTeamSection
from .views import actions, rosters, sources, start

urlpatterns = [
    path("rosters/", library, {"only": InquiryTeamSection.name}, name="rosters"),
    path("rosters/new/", rosters.new, name="roster-new"),
    path("rosters/<int:pk>/", rosters.team_page, name="roster"),
    path("rosters/<int:pk>/versions/<int:number>/", rosters.version, name="roster-version"),
    path("rosters/<int:pk>/edit/", rosters.edit, name="roster-edit"),
    path("rosters/<int:pk>/switch/", rosters.switch_team, name="roster-switch"),
    path("inquiries/new/", start.start_inquiry, name="inquiry-new"),
    *pages(specs()["inquiry"]),
    path("inquiries/<uuid:pk>/say/", actions.say, name="inquiry-say"),
    path("inquiries/<uuid:pk>/sources/<int:number>/", sources.source, name="inquiry-source"),
]
