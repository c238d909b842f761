from django.contrib import admin

from runs.admin import ProcedureRunAdmin

from .models import Plan


@admin.register(Plan)
class PlanAdmin(ProcedureRunAdmin):
    kind = "plan"
