from django.urls import path

from runs.face import faces
from runs.urls import pages
from runs.views.library import library

from .shelf import Panels
from .views import new, panels, record, steering, turn

urlpatterns = [
    path("debates/new/", new.new, name="debate-new"),
    path("debates/cost/", new.expected_cost, name="debate-cost"),
    path("debates/<uuid:pk>/say/", steering.say, name="debate-say"),
    path("debates/<uuid:pk>/steer/", steering.steer, name="debate-steer"),
    path("debates/<uuid:pk>/alone/", steering.alone, name="debate-alone"),
    path("debates/<uuid:pk>/turn/", turn.turn, name="debate-turn"),
    path("debates/<uuid:pk>/withdraw/", steering.withdraw, name="debate-withdraw"),
    path("debates/<uuid:pk>/record.xml", record.record_xml, name="debate-record-xml"),
    path("debates/<uuid:pk>/record/asked/<int:number>/", record.asked, name="debate-asked"),
    *pages(faces()["debate"]),
    path("panels/", library, {"only": Panels.name}, name="panels"),
    path("panels/new/", panels.new, name="panel-new"),
    path("panels/<int:pk>/", panels.panel, name="panel"),
    path("panels/<int:pk>/versions/<int:number>/", panels.version, name="panel-version"),
    path("panels/<int:pk>/edit/", panels.edit, name="panel-edit"),
    path("panels/<int:pk>/switch/", panels.switch, name="panel-switch"),
]
