from django.apps import AppConfig


class DebatesConfig(AppConfig):
    name = "debates"

    def ready(self) -> None:
        from .human_turns import connect_account_signals

        connect_account_signals()
