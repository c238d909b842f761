import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator, WebsocketDenier
from django.core.asgi import get_asgi_application
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "magi_site.settings")
pages = get_asgi_application()

# these need the apps that the line above loads
from engine.tools import own_tools  # noqa: E402
from magi_site.middleware import NormalizedRequest, require_same_origin  # noqa: E402
from runs.urls import websocket_urlpatterns  # noqa: E402

pages.request_class = NormalizedRequest
own_tools()  # fails at start on an invalid tool, also where another server imports this and no command has checked
# without this the router raises an exception for an unknown path
sockets = URLRouter([*websocket_urlpatterns, re_path("", WebsocketDenier.as_asgi())])

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": AllowedHostsOriginValidator(require_same_origin(AuthMiddlewareStack(sockets))),
    }
)
