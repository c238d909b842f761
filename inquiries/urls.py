from django.urls import path

from runs.face import faces
from runs.urls import pages

from .views import new, sources, steering

urlpatterns = [
    path("inquiries/new/", new.new, name="inquiry-new"),
    *pages(faces()["inquiry"]),
    path("inquiries/<uuid:pk>/say/", steering.say, name="inquiry-say"),
    path("inquiries/<uuid:pk>/sources/<int:number>/", sources.source, name="inquiry-source"),
]
