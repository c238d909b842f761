from runs.face import faces
from runs.urls import pages

urlpatterns = pages(faces()["plan"])
