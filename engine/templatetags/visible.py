"""Template filters for untrusted texts: invisible characters become visible marks and cannot reorder the text around
them.
"""

from django import template
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString

from ..text import invisible_chars

register = template.Library()


@register.filter
def visible(text: object) -> SafeString:
    """Return the text as HTML with a `<mark>` for invisible characters, which can be seen, read out and copied."""
    string = _string(text)
    parts = list(invisible_chars.invisible_spans(string))
    if parts == [(False, string)]:  # nearly all of them, hundreds on a page
        return conditional_escape(string)
    return format_html_join("", "{}", ((_mark(part) if is_hidden else part,) for is_hidden, part in parts))


def _mark(part: str) -> str:
    return format_html(
        '<mark class="unseen" title="{}">{}</mark>',
        invisible_chars.character_name(part),
        invisible_chars.visible_mark(part),
    )


@register.filter
def visible_text(text: object) -> str:
    """Return the text with plain marks, for places without elements: attributes, titles and options."""
    return invisible_chars.visible_text(_string(text))


def _string(text: object) -> str:
    """Return an empty string for None, so that `firstof` goes on to the next value."""
    return "" if text is None else str(text)
