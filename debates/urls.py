from django.urls import path

from runs.procedure.spec import specs
from runs.urls import pages
from runs.views.library import library

from .presets import PanelSection
from .views import actions, panels, record, start

urlpatterns = [
    path("debates/new/", start.start_debate, name="debate-new"),
    path("debates/cost/", start.expected_cost, name="debate-cost"),
    path("debates/<uuid:pk>/say/", actions.say, name="debate-say"),
    path("debates/<uuid:pk>/steer/", actions.steer, name="debate-steer"),
    path("debates/<uuid:pk>/alone/", actions.first_statements_page, name="debate-alone"),
    path("debates/<uuid:pk>/turn/", actions.turn, name="debate-turn"),
    path("debates/<uuid:pk>/withdraw/", actions.withdraw, name="debate-withdraw"),
    path("debates/<uuid:pk>/record.xml", record.record_xml, name="debate-record-xml"),
    path("debates/<uuid:pk>/record/asked/<int:number>/", record.prompt_page, name="debate-asked"),
    *pages(specs()["debate"]),
    path("panels/", library, {"only": PanelSection.name}, name="panels"),
    path("panels/new/", panels.new, name="panel-new"),
    path("panels/<int:pk>/", panels.panel, name="panel"),
    path("panels/<int:pk>/versions/<int:number>/", panels.version, name="panel-version"),
    path("panels/<int:pk>/edit/", panels.edit, name="panel-edit"),
    path("panels/<int:pk>/switch/", panels.switch_panel, name="panel-switch"),
]
