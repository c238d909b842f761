from django.urls import path

from runs.face import faces
from runs.urls import pages
from runs.views.library import library

from .exhibit import ID as EXAMPLE
from .shelf import Councils
from .views import councils, example, new

urlpatterns = [
    path("", new.new, name="new"),
    path("judgements/agents/", new.council_agents, name="council-agents"),
    path("judgements/models/", new.model_suggestions, name="model-suggestions"),
    path("judgements/cost/", new.expected_cost, name="expected-cost"),
    # before those of all judgements: it is none, but its links are made alike
    path(f"judgements/{EXAMPLE}/", example.example, name="example"),
    path(f"judgements/{EXAMPLE}/record/", example.record, name="example-record"),
    path(f"judgements/{EXAMPLE}/replay/", example.replay, name="example-replay"),
    path(f"judgements/{EXAMPLE}/replay/frames/", example.frames, name="example-frames"),
    *pages(faces()["judgement"]),
    path("councils/", library, {"only": Councils.name}, name="councils"),
    path("councils/new/", councils.new, name="council-new"),
    path("councils/<int:pk>/", councils.council, name="council"),
    path("councils/<int:pk>/versions/<int:number>/", councils.version, name="council-version"),
    path("councils/<int:pk>/edit/", councils.edit, name="council-edit"),
    path("councils/<int:pk>/switch/", councils.switch, name="council-switch"),
]
