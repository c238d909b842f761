from django.urls import path

from runs.face import faces
from runs.urls import pages

from .views import files, new, steering

urlpatterns = [
    path("missions/new/", new.new, name="mission-new"),
    *pages(faces()["mission"]),
    path("missions/<uuid:pk>/say/", steering.say, name="mission-say"),
    path("missions/<uuid:pk>/files/", files.changed, name="mission-files"),
    path("missions/<uuid:pk>/patch/", files.patch, name="mission-patch"),
    path("missions/<uuid:pk>/terminals/<int:number>/", files.terminal, name="mission-terminal"),
]
