from django.urls import path

from runs.procedure.spec import specs
from runs.urls import pages
from runs.views.library import library

from .demo import ID as EXAMPLE
from .presets import CouncilSection
from .views import councils, demo, start

urlpatterns = [
    path("", start.start_judgement, name="new"),
    path("judgements/agents/", start.council_agents, name="council-agents"),
    path("judgements/models/", start.model_suggestions, name="model-suggestions"),
    path("judgements/cost/", start.expected_cost, name="expected-cost"),
    # before the routes of all judgements: the example is no row, but its URLs look the same
    path(f"judgements/{EXAMPLE}/", demo.demo_page, name="example"),
    path(f"judgements/{EXAMPLE}/record/", demo.record, name="example-record"),
    path(f"judgements/{EXAMPLE}/replay/", demo.replay, name="example-replay"),
    path(f"judgements/{EXAMPLE}/replay/frames/", demo.demo_frames, name="example-frames"),
    *pages(specs()["judgement"]),
    path("councils/", library, {"only": CouncilSection.name}, name="councils"),
    path("councils/new/", councils.new, name="council-new"),
    path("councils/<int:pk>/", councils.council, name="council"),
    path("councils/<int:pk>/versions/<int:number>/", councils.version, name="council-version"),
    path("councils/<int:pk>/edit/", councils.edit, name="council-edit"),
    path("councils/<int:pk>/switch/", councils.switch_council, name="council-switch"),
]
