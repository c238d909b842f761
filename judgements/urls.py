from django.urls import path

from .consumers import LiveConsumer
from .views import history, live, new

urlpatterns = [
    path("", new.new, name="new"),
    path("judgements/", history.history, name="history"),
    path("judgements/agents/", new.council_agents, name="council-agents"),
    path("judgements/models/", new.model_suggestions, name="model-suggestions"),
    path("judgements/cost/", new.expected_cost, name="expected-cost"),
    path("judgements/<uuid:pk>/", live.live, name="live"),
    path("judgements/<uuid:pk>/cancel/", live.cancel, name="cancel"),
    path("judgements/<uuid:pk>/retry/", live.retry, name="retry"),
]

websocket_urlpatterns = [
    path("ws/judgements/<uuid:pk>/", LiveConsumer.as_asgi()),
]
