from django.contrib import admin

from runs.admin import KindAdmin

from .models import Inquiry


@admin.register(Inquiry)
class InquiryAdmin(KindAdmin):
    kind = "inquiry"
