from django.urls import path

from . import views
from .consumers import LiveConsumer

urlpatterns = [
    path("", views.new, name="new"),
    path("judgements/", views.history, name="history"),
    path("judgements/agents/", views.council_agents, name="council-agents"),
    path("judgements/models/", views.model_suggestions, name="model-suggestions"),
    path("judgements/cost/", views.expected_cost, name="expected-cost"),
    path("judgements/<uuid:pk>/", views.live, name="live"),
    path("judgements/<uuid:pk>/cancel/", views.cancel, name="cancel"),
    path("judgements/<uuid:pk>/retry/", views.retry, name="retry"),
]

websocket_urlpatterns = [
    path("ws/judgements/<uuid:pk>/", LiveConsumer.as_asgi()),
]
