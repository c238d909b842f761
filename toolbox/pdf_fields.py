"""Form fields on a page of a PDF, a line for each visible field. Part of `pdf_text.py`, which runs in a limited
process."""

import re
from collections.abc import Iterable, Iterator

from pypdf.generic import DictionaryObject

from toolbox.pdf_objects import DEEPEST, flags, is_seen, listed, mapping, order, resolved, words

BUTTON, RADIO, PASSWORD = 1 << 16, 1 << 15, 1 << 13  # flags of a field: bits 17, 16 and 14
OFF = "Off"
PLAIN = frozenset(("yes", "on", "true", "checked", "x", "1", "ja", "oui", "si", "sí"))  # names that say only "ticked"
SECRET, EMPTY = "(a password, which nobody is shown)", "(empty)"
HIDDEN = "({} that nobody sees on this page {} left out.)"


def lines(annotations: Iterable[DictionaryObject]) -> list[str]:
    """Return the lines for a page's annotations."""
    widgets = [one for one in annotations if one.get("/Subtype") == "/Widget"]
    seen = sorted(filter(is_seen, widgets), key=order)
    found = [*dict.fromkeys(line for group in _by_field(seen) for line in _said(*group))]
    filled_unseen = sum(not is_seen(one) and bool(_value(one)) for one in widgets)
    counted = (f"{filled_unseen} field{'s' * (filled_unseen > 1)}", "were" if filled_unseen > 1 else "was")
    return [*found, *([HIDDEN.format(*counted)] if filled_unseen else [])]


def _by_field(widgets: Iterable[DictionaryObject]) -> Iterable[tuple[DictionaryObject, list[DictionaryObject]]]:
    """Group widgets by field, in the order of each field's first widget."""
    found: dict[int, tuple[DictionaryObject, list[DictionaryObject]]] = {}
    for one in widgets:
        field = _field(one)
        found.setdefault(id(field), (field, []))[1].append(one)
    return found.values()


def _field(widget: DictionaryObject) -> DictionaryObject:
    """Return the field of a widget: itself, or its parent if it has no name."""
    return widget if "/T" in widget or "/Parent" not in widget else mapping(widget["/Parent"])


def _said(field: DictionaryObject, widgets: list[DictionaryObject]) -> Iterator[str]:
    kind, how = words(_inherited(field, "/FT")), flags(_inherited(field, "/Ff"))
    name = f"Field “{_name(field)}”"
    if kind == "Btn" and how & RADIO:
        chosen = [_option(field, one) for one in widgets if _is_ticked(one)]
        yield f"{name}: {', '.join(chosen) or '(none chosen)'}"
    elif kind == "Btn" and not how & BUTTON:
        for one in widgets:
            yield f"{name}{_which(field, one, len(widgets))}: {'ticked' if _is_ticked(one) else 'not ticked'}"
    elif kind == "Sig":
        yield f"{name}: {_signed(field)}"
    elif kind in ("Tx", "Ch"):
        yield f"{name}: {SECRET if kind == 'Tx' and how & PASSWORD and _value(field) else _value(field) or EMPTY}"


def _inherited(field: DictionaryObject, key: str) -> object:
    for one in _up(field):
        if key in one:
            return resolved(one[key])
    return None


def _up(field: DictionaryObject) -> Iterator[DictionaryObject]:
    for _ in range(DEEPEST):
        yield field
        if "/Parent" not in field:
            return
        field = mapping(field["/Parent"])


def _name(field: DictionaryObject) -> str:
    """Return the name that viewers show (/TU), else the full name with those of its parents."""
    if shown := words(field.get("/TU")):
        return shown
    parts = [words(one.get("/T")) for one in _up(field)]
    return ".".join(re.sub(r"\[\d+\]$", "", part) for part in reversed(parts) if part) or "without a name"


def _value(field: DictionaryObject) -> str:
    value = _inherited(field, "/V")
    shown = {words(listed(one)[0]): words(listed(one)[1]) for one in _options(field) if len(listed(one)) == 2}
    chosen = [words(one) for one in listed(value)] or [words(value)]
    return ", ".join(shown.get(one, one) for one in chosen if one)


def _options(field: DictionaryObject) -> list[object]:
    return [*listed(_inherited(field, "/Opt"))]


def _is_ticked(widget: DictionaryObject) -> bool:
    if state := words(widget.get("/AS")):
        return state != OFF
    value, on = words(_inherited(widget, "/V")), _on(widget)
    return value not in ("", OFF) and on in ("", value)


def _on(widget: DictionaryObject) -> str:
    """Return the name of the ticked state."""
    states = (words(one) for one in mapping(mapping(widget.get("/AP")).get("/N")))
    return next((one for one in states if one != OFF), "")


def _option(field: DictionaryObject, widget: DictionaryObject) -> str:
    """Return the label of a choice: its shown name, its entry in the options, or the name of its ticked state."""
    own, options, on = words(widget.get("/TU")), _options(field), _on(widget) or words(widget.get("/AS"))
    if widget is not field and own:
        return own
    if on.isdecimal() and int(on) < len(options):
        return words(options[int(on)]) or on
    return on


def _which(field: DictionaryObject, widget: DictionaryObject, of: int) -> str:
    said = _option(field, widget)
    return f" ({said})" if said and (of > 1 or said.casefold() not in PLAIN) and said != _name(field) else ""


def _signed(field: DictionaryObject) -> str:
    value = mapping(_inherited(field, "/V"))
    if not value:
        return "(not signed)"
    by = words(value.get("/Name"))
    return f"signed digitally{f' by {by}' if by else ''}; whether it holds was not checked"
