import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator, WebsocketDenier
from django.core.asgi import get_asgi_application
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "magi_site.settings")
pages = get_asgi_application()

from judgements.urls import websocket_urlpatterns  # noqa: E402  (needs the apps that the line above loads)

# the router would end an unknown path with an exception
sockets = URLRouter([*websocket_urlpatterns, re_path("", WebsocketDenier.as_asgi())])

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(sockets)),
    }
)
