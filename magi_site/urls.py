from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from engine.admin import doctor

from . import access, api, health, icon

admin.site.site_header = admin.site.site_title = "MAGI"
admin.site.index_title = "Review"

urlpatterns = [
    path("", include("judgements.urls")),
    path("api/v1/", api.urls()),
    path("accounts/login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("accounts/password/", access.password, name="password"),
    path("accounts/enter/<int:pk>/<str:token>/", access.enter, name="enter"),
    path("admin/doctor/", doctor, name="doctor"),
    path("admin/", admin.site.urls),
    path("favicon.ico", icon.favicon, name="favicon"),
    path("healthz", health.alive, name="alive"),
    path("readyz", health.ready, name="ready"),
]
