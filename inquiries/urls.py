from django.urls import path

from runs.face import faces
from runs.urls import pages
from runs.views.library import library

from .shelf import Rosters
from .views import new, rosters, sources, steering

urlpatterns = [
    path("rosters/", library, {"only": Rosters.name}, name="rosters"),
    path("rosters/new/", rosters.new, name="roster-new"),
    path("rosters/<int:pk>/", rosters.roster, name="roster"),
    path("rosters/<int:pk>/versions/<int:number>/", rosters.version, name="roster-version"),
    path("rosters/<int:pk>/edit/", rosters.edit, name="roster-edit"),
    path("rosters/<int:pk>/switch/", rosters.switch, name="roster-switch"),
    path("inquiries/new/", new.new, name="inquiry-new"),
    *pages(faces()["inquiry"]),
    path("inquiries/<uuid:pk>/say/", steering.say, name="inquiry-say"),
    path("inquiries/<uuid:pk>/sources/<int:number>/", sources.source, name="inquiry-source"),
]
