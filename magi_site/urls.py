from django.conf import settings
from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path

from engine.admin import doctor
from runs.procedure.spec import specs
from runs.views import notification_settings

from . import (
    api,
    automation_endpoint,
    browser_verifier,
    chat_endpoint,
    favicon,
    first_login,
    mcp_endpoint,
    monitoring,
    tokens,
)
from .sign_in import SignInView

admin.autodiscover()
admin.site.site_header = admin.site.site_title = "MAGI"
admin.site.index_title = "Administration"
admin.site.login = first_login.admin_sign_in  # type: ignore[method-assign,assignment]
admin.site.password_change = first_login.admin_password  # type: ignore[method-assign,assignment]

handler500 = "magi_site.error_pages.error_page"

urlpatterns = [
    *(path("", include(f"{face.app_name}.urls")) for face in specs().values()),
    path("", include("runs.urls")),
    path("api/v1/", api.api.urls_for_callers()),
    path("mcp", mcp_endpoint.mcp_endpoint, name="mcp"),
    path("mcp/", mcp_endpoint.mcp_endpoint, name="mcp-slash"),  # a message that is posted cannot be sent on
    path("v1/", chat_endpoint.api.urls_for_callers()),
    *([path("api/automation/", automation_endpoint.api.urls_for_callers())] if settings.COMPAT else []),
    path("check/", browser_verifier.verifier_page, name="check-page"),
    path("check/verify.py", browser_verifier.verifier_program, name="check-program"),
    path("accounts/login/", SignInView.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("accounts/password/", first_login.set_password, name="password"),
    path("accounts/tokens/", tokens.tokens, name="tokens"),
    path("accounts/tokens/<int:pk>/revoke/", tokens.revoke, name="revoke-token"),
    path("accounts/notices/", notification_settings.notification_settings, name="notices"),
    path("accounts/enter/<int:pk>/<str:token>/", first_login.use_sign_in_link, name="enter"),
    path("admin/doctor/", doctor, name="doctor"),
    path(
        "admin/r/<path:content_type_id>/<path:object_id>/",
        admin.site.admin_view(first_login.view_on_site),
        name="view-on-site",
    ),
    path("admin/", admin.site.urls),
    path("favicon.ico", favicon.favicon, name="favicon"),
    path("icon/<int:waiting>/<int:running>.svg", favicon.counted_icon, name="counted-icon"),
    path("healthz", monitoring.alive, name="alive"),
    path("readyz", monitoring.ready, name="ready"),
    path("metrics", monitoring.metrics, name="metrics"),
]
