from django.urls import path

from . import views
from .consumers import LiveConsumer

urlpatterns = [
    path("", views.new, name="new"),
    path("judgements/", views.history, name="history"),
    path("judgements/agents/", views.council_agents, name="council-agents"),
    path("judgements/<uuid:pk>/", views.live, name="live"),
]

websocket_urlpatterns = [
    path("ws/judgements/<uuid:pk>/", LiveConsumer.as_asgi()),
]
