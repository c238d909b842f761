from django.urls import path

from .consumers import LiveConsumer

websocket_urlpatterns = [
    path("ws/runs/<uuid:pk>/", LiveConsumer.as_asgi()),
]
