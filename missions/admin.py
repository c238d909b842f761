from django.contrib import admin

from runs.admin import KindAdmin

from .models import Mission


@admin.register(Mission)
class MissionAdmin(KindAdmin):
    kind = "mission"
