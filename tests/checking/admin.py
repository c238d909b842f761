from django.contrib import admin

from runs.admin import ProcedureRunAdmin

from .models import Check


@admin.register(Check)
class CheckAdmin(ProcedureRunAdmin):
    kind = "check"
