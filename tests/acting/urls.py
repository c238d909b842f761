"""No pages: it only acts."""

urlpatterns: list[object] = []
