from django.apps import AppConfig


class EngineConfig(AppConfig):
    name = "engine"

    def ready(self) -> None:
        """Two tools of one name, or one that cannot be performed, stop the start."""
        from .tools import own_tools

        own_tools()
