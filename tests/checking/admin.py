from django.contrib import admin

from runs.admin import KindAdmin

from .models import Check


@admin.register(Check)
class CheckAdmin(KindAdmin):
    kind = "check"
