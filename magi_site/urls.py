from django.conf import settings
from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path

from engine.admin import doctor
from runs.face import faces
from runs.views import notices

from . import access, api, automation, checking, health, icon, mcp_door, metrics, model_api, tokens
from .sign_in import SignIn

admin.autodiscover()
admin.site.site_header = admin.site.site_title = "MAGI"
admin.site.index_title = "Administration"
admin.site.login = access.admin_sign_in  # type: ignore[method-assign,assignment]
admin.site.password_change = access.admin_password  # type: ignore[method-assign,assignment]

handler500 = "magi_site.broken.broken"

urlpatterns = [
    *(path("", include(f"{face.room}.urls")) for face in faces().values()),
    path("", include("runs.urls")),
    path("api/v1/", api.api.urls_for_callers()),
    path("mcp", mcp_door.door, name="mcp"),
    path("mcp/", mcp_door.door, name="mcp-slash"),  # a message that is posted cannot be sent on
    path("v1/", model_api.api.urls_for_callers()),
    *([path("api/automation/", automation.api.urls_for_callers())] if settings.COMPAT else []),
    path("check/", checking.checking, name="check-page"),
    path("check/verify.py", checking.program, name="check-program"),
    path("accounts/login/", SignIn.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("accounts/password/", access.password, name="password"),
    path("accounts/tokens/", tokens.tokens, name="tokens"),
    path("accounts/tokens/<int:pk>/revoke/", tokens.revoke, name="revoke-token"),
    path("accounts/notices/", notices.notices, name="notices"),
    path("accounts/enter/<int:pk>/<str:token>/", access.enter, name="enter"),
    path("admin/doctor/", doctor, name="doctor"),
    path(
        "admin/r/<path:content_type_id>/<path:object_id>/",
        admin.site.admin_view(access.view_on_site),
        name="view-on-site",
    ),
    path("admin/", admin.site.urls),
    path("favicon.ico", icon.favicon, name="favicon"),
    path("icon/<int:waiting>/<int:running>.svg", icon.counted, name="counted-icon"),
    path("healthz", health.alive, name="alive"),
    path("readyz", health.ready, name="ready"),
    path("metrics", metrics.metrics, name="metrics"),
]
