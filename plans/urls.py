from django.urls import path

from runs.face import faces
from runs.urls import pages

from .views import new

urlpatterns = [
    path("plans/new/", new.new, name="plan-new"),
    path("plans/cost/", new.expected_cost, name="plan-cost"),
    *pages(faces()["plan"]),
]
