from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag(takes_context=True)
def gate_panel(context: template.RequestContext, place: int) -> SafeString:
    """Render the gates at a place of the live page; 0 is the run itself."""
    parts = () if context.get("replay") else (context.get("gate_panels") or {}).get(place, ())
    return format_html('<div class="at-place" id="at-{}">{}</div>', place, format_html_join("", "{}", zip(parts)))
