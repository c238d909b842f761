from django.contrib import admin

from runs.admin import KindAdmin

from .models import Plan


@admin.register(Plan)
class PlanAdmin(KindAdmin):
    kind = "plan"
