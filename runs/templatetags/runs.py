"""Icons of list rows, rendered once for each distinct value."""

from functools import cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
@cache  # called only with a few fixed words
def status_icon(state: str, held: str = "") -> SafeString:
    return render_to_string("_lamp.html", {"state": state, "held": held})


@register.simple_tag
def kind_icon(face: object) -> SafeString:
    return _kind(getattr(face, "sign", ""))


@cache
def _kind(sign: str) -> SafeString:
    return render_to_string("_kind.html", {"face": {"sign": sign}})
