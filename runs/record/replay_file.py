"""A replay as one self-contained page: opened from a disk it loads nothing, and plays like the site's own page.

Why so: runs/DESIGN.md, Pages.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.contrib.staticfiles import finders
from django.template.loader import get_template
from django.templatetags.static import static
from django.utils.html import json_script

from ..procedure.spec import RunSnapshot
from .replay import RunReplay, build_replay

SHEET = re.compile(r'<link rel="stylesheet" href="([^"]+)">')
MODULE = re.compile(r'<script src="([^"]+)" type="module"></script>')
EXTERNAL_REFERENCES = re.compile(
    r'<link [^>]*>|<script src="[^"]*"[^>]*></script>'
)  # resources that a page loads from the site
BACK_LINK = re.compile(r'\s(?:href|action|data-frames)="/[^"]*"')  # attributes with addresses of the site
STANDALONE_LINK = re.compile(r"<a [^>]*\bdata-leads\b[^>]*>.*?</a>", re.DOTALL)  # links that only lead to the site
NAMED = re.compile(r'<a\b([^>]*?)\shref="/[^"]*"([^>]*)>(.*?)</a>', re.DOTALL)  # links that are replaced by their text
FONT = re.compile(r"url\(\.\./(fonts/[\w-]+\.woff2)\)")
OMITTED_SCRIPT = "js/site.js"  # omitted: it runs forms and menus
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.-]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (const|function) (\$*\w*)", re.MULTILINE)


def replay_file(seen: RunSnapshot[Any]) -> str:
    """Return the page as HTML. It hides what the record page hides, since both use the same displays."""
    past = RunReplay(seen)
    context = {
        **past.face.page(seen.run.pk),
        "display": past.display_at(past.moments[0]),
        "end": past.display_at(past.moments[-1]),
        "live_page": f"{past.face.nouns}/live.html",
        "replay": True,
    }
    html = get_template("runs/replay_file.html").render(context)
    head, body = html.split("</head>", 1)
    styles = [_style(address) for address in SHEET.findall(head)]
    early, late = _source("js/theme.js"), _together(_name(address) for address in MODULE.findall(html))
    own = [
        f'<meta http-equiv="Content-Security-Policy" content="{_policy([early, late], styles)}">',
        *(f"<style>{style}</style>" for style in styles),
        f"<script>{early}</script>",
    ]
    data, script = json_script(build_replay(seen, _alone), "frames"), f'<script type="module">{late}</script>'
    head = EXTERNAL_REFERENCES.sub("", head).replace("<title>", "\n".join([*own, "<title>"]), 1)
    return f"{head}</head>{_alone(EXTERNAL_REFERENCES.sub('', body)).replace('</body>', f'{data}{script}</body>', 1)}"


def _alone(html: str) -> str:
    """Remove links to the site."""
    return BACK_LINK.sub("", NAMED.sub(_words, STANDALONE_LINK.sub("", html)))


def _words(link: re.Match[str]) -> str:
    """Replace a link by its text."""
    attributes = f"{link[1]}{link[2]}".replace('class="link', 'class="')
    return f"<span{attributes}>{link[3]}</span>"


def _policy(scripts: list[str], styles: list[str]) -> str:
    """Build a policy that allows only the embedded scripts and styles, by their hashes."""
    allowed = {
        "script-src": [_hash(script) for script in scripts],
        "style-src": [_hash(style) for style in styles],
        "font-src": ["data:"],
    }
    named = "; ".join(f"{name} {' '.join(parts)}" for name, parts in allowed.items())
    return f"default-src 'none'; {named}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


# ---- parts of the file ----------------------------------------------------------------------------------------


def _name(address: str) -> str:
    return urlsplit(address).path.removeprefix(static(""))


@cache
def _file(name: str) -> Path:
    return Path(str(finders.find(name)))


def _source(name: str) -> str:
    return _file(name).read_text()


def _style(address: str) -> str:
    """Return a stylesheet with its fonts embedded."""
    return FONT.sub(lambda found: f"url({_font(found[1])})", _source(_name(address)))


def _font(name: str) -> str:
    return f"data:font/woff2;base64,{b64encode(_file(name).read_bytes()).decode()}"


def _together(names: Iterable[str]) -> str:
    """Bundle scripts with their imports, each in its own scope, because a page from a disk cannot import modules."""
    known = {OMITTED_SCRIPT}
    return "\n".join(["const rooms = {};", *(room for name in names for room in _rooms(name, known))])


def _rooms(name: str, known: set[str]) -> Iterator[str]:
    if name in known:
        return
    known.add(name)
    source, folder = _source(name), name.rpartition("/")[0]
    for _, other in IMPORT.findall(source):
        yield from _rooms(f"{folder}/{other}", known)
    inside = EXPORT.sub(r"\1 \2", IMPORT.sub(r'const {\1} = rooms["\2"];', source))
    out = ", ".join(found for _, found in EXPORT.findall(source))
    yield f'rooms["{name.rpartition("/")[2]}"] = (() => {{\n{inside}\nreturn {{ {out} }};\n}})();'
