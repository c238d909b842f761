from django.urls import path

from runs.face import faces
from runs.urls import pages

from .views import new, steering

urlpatterns = [
    path("plans/new/", new.new, name="plan-new"),
    path("plans/cost/", new.expected_cost, name="plan-cost"),
    path("plans/<uuid:pk>/say/", steering.say, name="plan-say"),
    path("plans/<uuid:pk>/steps/<int:number>/", steering.step, name="plan-step"),
    *pages(faces()["plan"]),
]
