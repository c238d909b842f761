from django.urls import path

from .consumers import LiveConsumer
from .face import faces

# one socket; under the name of its kind, too, as pages of before know it
websocket_urlpatterns = [
    path(f"ws/{which}/<uuid:pk>/", LiveConsumer.as_asgi())
    for which in ("runs", *(face.nouns for face in faces().values()))
]
