"""Position of each character on a page of a PDF, to find the text under marks. Part of `pdf_text.py`, which runs in a
limited process."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pypdf import PageObject, mult
from pypdf.generic import ContentStream, DictionaryObject, StreamObject
from pypdf.generic._font import Font

from toolbox.pdf_objects import DEEPEST, Box, listed, mapping, numbers, resolved

STILL = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
GAP = 0.15  # of the font size: a wider gap is a space
FORMS = 2_000  # form XObjects that are drawn per page
LONGEST = 100  # characters of a line around a marked passage
HEIGHT = 0.3  # of the font size: middle of a character above its baseline


@dataclass(frozen=True, slots=True)
class Sign:
    """A character. `x`, `y`: its middle; `start`, `end`: along the reading direction; `level`: across it."""

    text: str
    x: float
    y: float
    start: float
    end: float
    level: float
    size: float


@dataclass
class GraphicsState:
    """Graphics state that the operators `q` and `Q` save and restore."""

    font: Font | None = None
    size: float = 1.0
    between: float = 0.0
    spaces: float = 0.0
    scale: float = 100.0
    leading: float = 0.0
    rise: float = 0.0
    place: list[float] = field(default_factory=lambda: STILL)


AMOUNTS = {b"Tc": "between", b"Tw": "spaces", b"Tz": "scale", b"TL": "leading", b"Ts": "rise"}


def signs_of(page: PageObject) -> list[Sign]:
    """Return the characters of a page in drawing order."""
    reader, content = _TextReader(page.pdf), resolved(page.get("/Contents"))
    if content:
        reader.draw(content, mapping(page.get("/Resources")), GraphicsState())
    return reader.found


class _TextReader:
    """Interprets content streams. `_line` and `_text` are the text line matrix and the text matrix."""

    def __init__(self, pdf: object) -> None:
        self.found: list[Sign] = []
        self._pdf, self._forms, self._depth, self._fonts = pdf, 0, 0, dict[int, Font | None]()
        self._state, self._kept, self._resources = GraphicsState(), list[GraphicsState](), DictionaryObject()
        self._line = self._text = STILL

    def draw(self, content: object, resources: DictionaryObject, state: GraphicsState) -> None:
        before = (self._state, self._kept, self._resources, self._line, self._text)
        self._state, self._kept, self._resources = state, [], resources
        self._line = self._text = STILL
        for given, operator in ContentStream(content, self._pdf, "bytes").operations:
            if isinstance(given, list) and (does := DOES.get(operator)):
                does(self, given, [float(one) for one in given if isinstance(one, int | float)])
            elif operator in AMOUNTS and given and isinstance(given[0], int | float):
                setattr(self._state, AMOUNTS[operator], float(given[0]))
        self._state, self._kept, self._resources, self._line, self._text = before

    def keep(self, given: list[object], amounts: list[float]) -> None:
        self._kept.append(replace(self._state))

    def bring_back(self, given: list[object], amounts: list[float]) -> None:
        self._state = self._kept.pop() if self._kept else self._state

    def shift(self, given: list[object], amounts: list[float]) -> None:
        if len(amounts) == 6:
            self._state.place = mult(amounts, self._state.place)

    def begin(self, given: list[object], amounts: list[float]) -> None:
        self._line = self._text = STILL

    def put(self, given: list[object], amounts: list[float]) -> None:
        if len(amounts) == 6:
            self._line = self._text = amounts

    def move(self, given: list[object], amounts: list[float]) -> None:
        if len(amounts) == 2:
            self._line = self._text = mult([1, 0, 0, 1, *amounts], self._line)

    def move_as_leading(self, given: list[object], amounts: list[float]) -> None:
        self._state.leading = -amounts[1] if len(amounts) == 2 else self._state.leading
        self.move(given, amounts)

    def next_line(self, given: list[object], amounts: list[float]) -> None:
        self.move(given, [0.0, -self._state.leading])

    def write_on_next_line(self, given: list[object], amounts: list[float]) -> None:
        if len(amounts) == 2:
            self._state.spaces, self._state.between = amounts
        self.next_line(given, amounts)
        self.write(given[-1:], amounts)

    def choose_font(self, given: list[object], amounts: list[float]) -> None:
        described = self._named("/Font", given)
        if id(described) not in self._fonts:
            self._fonts[id(described)] = _font(described) if described else None
        self._state.font = self._fonts[id(described)]
        self._state.size = amounts[0] if amounts else self._state.size

    def draw_form(self, given: list[object], amounts: list[float]) -> None:
        form = self._named("/XObject", given)
        self._forms += 1
        if not isinstance(form, StreamObject) or form.get("/Subtype") != "/Form" or self._forms > FORMS:
            return
        own, matrix = mapping(form.get("/Resources")) or self._resources, numbers(form.get("/Matrix"))
        place = mult(matrix, self._state.place) if len(matrix) == 6 else self._state.place
        if self._depth < DEEPEST:
            self._depth += 1
            self.draw(form, own, replace(self._state, place=place))
            self._depth -= 1

    def _named(self, kind: str, given: list[object]) -> DictionaryObject:
        """Return a resource by name; an empty dictionary if there is none."""
        known = mapping(self._resources.get(kind))
        return mapping(known.get(given[0])) if given and isinstance(given[0], str) else DictionaryObject()

    def write_spaced(self, given: list[object], amounts: list[float]) -> None:
        self.write(listed(given[0]) if given else (), amounts)

    def write(self, given: Sequence[object], amounts: list[float]) -> None:
        state, scale = self._state, self._state.scale / 100
        for piece in given:
            if isinstance(piece, int | float):
                self._text = mult([1, 0, 0, 1, -float(piece) / 1000 * state.size * scale, 0], self._text)
            elif isinstance(piece, bytes) and state.font:
                for shown, width, spaced in _glyphs(state.font, piece):
                    wide = width / 1000 * state.size
                    self.found.append(_sign(shown, wide * scale, state, self._text))
                    step = wide + state.between + (state.spaces if spaced else 0.0)
                    self._text = mult([1, 0, 0, 1, step * scale, 0], self._text)


DOES: dict[bytes, Callable[[_TextReader, list[object], list[float]], None]] = {
    b"q": _TextReader.keep,
    b"Q": _TextReader.bring_back,
    b"cm": _TextReader.shift,
    b"BT": _TextReader.begin,
    b"Tm": _TextReader.put,
    b"Td": _TextReader.move,
    b"TD": _TextReader.move_as_leading,
    b"T*": _TextReader.next_line,
    b"Tj": _TextReader.write,
    b"TJ": _TextReader.write_spaced,
    b"'": _TextReader.write_on_next_line,
    b'"': _TextReader.write_on_next_line,
    b"Tf": _TextReader.choose_font,
    b"Do": _TextReader.draw_form,
}


def _font(described: DictionaryObject) -> Font | None:
    """Return the font; None if pypdf cannot read it (its own text extraction skips it, too)."""
    try:
        return Font.from_font_resource(described)
    except (AttributeError, TypeError):
        return None


def _glyphs(font: Font, data: bytes) -> Iterator[tuple[str, float, bool]]:
    """Yield the text of each glyph, its width in thousandths of the font size, and whether word spacing applies."""
    coded = _coded(font.encoding, data) if isinstance(font.encoding, str) else ""
    for code in coded if coded else map(chr, data):
        named = font.encoding.get(ord(code), code) if isinstance(font.encoding, dict) else code
        width = font.space_width if code == font.space_char else font.get_text_width(code)
        yield "".join(font.character_map.get(one, one) for one in named), float(width), not coded and code == " "


def _coded(encoding: str, data: bytes) -> str:
    try:
        return data.decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        return data.decode(encoding, "replace")


def _sign(shown: str, width: float, state: GraphicsState, text: list[float]) -> Sign:
    at = mult(text, state.place)
    along = (at[0] ** 2 + at[1] ** 2) ** 0.5 or 1.0
    up = (at[2] ** 2 + at[3] ** 2) ** 0.5 or 1.0
    way = (at[0] / along, at[1] / along)
    middle = mult([1, 0, 0, 1, width / 2, state.rise + HEIGHT * state.size], at)
    start = at[4] * way[0] + at[5] * way[1]
    level = -at[4] * way[1] + at[5] * way[0] + way[1] * 1e5  # text of another direction must not share a level
    return Sign(shown, middle[4], middle[5], start, start + width * along, level, abs(state.size) * up)


# ---- marked text ------------------------------------------------------------------------------------------


def within(signs: Iterable[Sign], boxes: Sequence[Box]) -> list[Sign]:
    """Return the characters whose middle is in one of the boxes, box by box."""
    signs = list(signs)
    return [
        one for left, bottom, right, top in boxes for one in signs if left <= one.x <= right and bottom <= one.y <= top
    ]


def text_of(signs: Iterable[Sign]) -> str:
    """Return the text, with spaces at line ends and wide gaps."""
    written, before = "", None
    for one in signs:
        apart = before and (not _is_on_line_of(before, one) or one.start - before.end > GAP * one.size)
        written += f" {one.text}" if apart else one.text
        before = one
    return " ".join(written.split())


def line_around(signs: Iterable[Sign], marked: Sequence[Sign]) -> str:
    """Return the line of the first marked character, cut around the marked text."""
    line = sorted((one for one in signs if _is_on_line_of(marked[0], one)), key=lambda one: one.start)
    here = {id(one) for one in marked}
    at = next((number for number, one in enumerate(line) if id(one) in here), 0)
    begins, ends = max(0, at - LONGEST // 2), at + len(marked) + LONGEST // 2
    return f"{'… ' * (begins > 0)}{text_of(line[begins:ends])}{' …' * (ends < len(line))}"


def _is_on_line_of(first: Sign, second: Sign) -> bool:
    return abs(first.level - second.level) <= 0.4 * max(first.size, second.size)
