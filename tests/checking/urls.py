from runs.procedure.spec import specs
from runs.urls import pages

urlpatterns = pages(specs()["check"])
