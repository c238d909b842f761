"""Classification of MCP tools: a permitted user states what each does, which makes it available to models."""

import json
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_POST

from engine import mcp
from engine.models import Effect, McpTool
from engine.plurals import counted
from engine.runtime import definition_check
from engine.templatetags.visible import visible, visible_text

CLASS = "engine.class_tool"
DISABLED_CHOICE = ("", "Off: no model sees it")
DEFINITION_CHANGED_TEXT = "The server describes it otherwise by now. Read it again, then say what it does."


class ToolClassificationForm(forms.ModelForm):
    """`definition` is the digest of what the user has read, so that nobody classifies an unseen change."""

    effect = forms.ChoiceField(label="what it does", required=False, widget=forms.RadioSelect)
    definition = forms.CharField(widget=forms.HiddenInput)

    class Meta:
        model = McpTool
        fields = ["effect", "repeatable", "outside"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        row: McpTool = self.instance
        self.fields["effect"].choices = [DISABLED_CHOICE, *Effect.choices]  # type: ignore[attr-defined]
        self.initial.update(definition=row.definition, effect=row.effect or row.hinted)
        if not row.effect:
            self.initial["repeatable"] = row.hinted_repeatable

    def clean_definition(self) -> str:
        read = self.cleaned_data["definition"]
        if read != McpTool.objects.values_list("definition", flat=True).get(pk=self.instance.pk):
            raise forms.ValidationError(DEFINITION_CHANGED_TEXT)
        return read


@admin.register(McpTool)
class McpToolAdmin(admin.ModelAdmin):
    form = ToolClassificationForm
    change_list_template = "admin/runs/mcp_tools.html"
    list_display = ["named", "status_label", "hint", "seen"]
    list_filter = ["server", "effect"]
    readonly_fields = ["named", "status_label", "description_label", "arguments", "hint", "seen"]
    fieldsets = [
        (None, {"fields": ["named", "status_label", "description_label", "arguments", "hint", "seen"]}),
        ("What it does", {"fields": ["effect", "repeatable", "outside", "definition"]}),
    ]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(CLASS)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm(CLASS)

    has_change_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: McpTool, form: Any, change: bool) -> None:
        said = form.cleaned_data
        if not said["effect"]:
            definition_check.disable_tool(obj)
        elif not obj.classify(said["effect"], said["repeatable"], said["outside"], request.user, said["definition"]):
            self.message_user(request, DEFINITION_CHANGED_TEXT, messages.ERROR)

    # ---- refreshing the list ------------------------------------------------------------------------------

    def get_urls(self) -> list[Any]:
        look = self.admin_site.admin_view(require_POST(self.refresh))
        return [path("look/", look, name="look_at_mcp"), *super().get_urls()]

    def refresh(self, request: HttpRequest) -> HttpResponse:
        """Read the current tools of every server."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        for server in mcp.servers().values():
            try:
                self._told(request, server, definition_check.refresh_listing(server))
            except mcp.ServerUnavailable as away:
                self.message_user(request, str(away), messages.ERROR)
        return redirect("admin:engine_mcptool_changelist")

    def _told(self, request: HttpRequest, server: mcp.McpServer, listing: Any) -> None:
        left_out = "".join(f" Left out: {one}." for one in listing.left_out)
        self.message_user(request, f"{server.name} offers {counted(len(listing.tools), 'tool')}.{left_out}")

    # ---- columns ------------------------------------------------------------------------------------------

    @admin.display(description="tool")
    def named(self, row: McpTool) -> str:
        return str(row)

    @admin.display(description="now")
    def status_label(self, row: McpTool) -> Any:
        return visible(row.status)

    @admin.display(description="what a model is told")
    def description_label(self, row: McpTool) -> Any:
        return visible_text(row.description or "Nothing.")

    @admin.display(description="its arguments")
    def arguments(self, row: McpTool) -> Any:
        return visible_text(json.dumps(json.loads(row.schema), ensure_ascii=False, indent=2))

    @admin.display(description="what the server says")
    def hint(self, row: McpTool) -> str:
        return f"{row.get_hinted_display()}{', may be done twice' if row.hinted_repeatable else ''}"
