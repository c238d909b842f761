from django.apps import AppConfig

from engine import rehearsal as engine_rehearsal


class JudgementsConfig(AppConfig):
    name = "judgements"

    def ready(self) -> None:
        from . import procedure, rehearsal

        engine_rehearsal.register(procedure.DECISION.name, rehearsal.answer)
