from django.contrib import admin

from runs.admin import ProcedureRunAdmin

from .models import Mission


@admin.register(Mission)
class MissionAdmin(ProcedureRunAdmin):
    kind = "mission"
