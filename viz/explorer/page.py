"""The page that differentiates, as one file: no server, no kernel, no request.

A reader types a function; the engine in the page differentiates it and writes a Trace, and the
viewer shows that as it shows any other. The document has a content security policy that forbids
every request and every script but its own, which is named by its hash.
"""

from __future__ import annotations

from minigrad.viz.explorer.bundle import script, stylesheet
from minigrad.viz.html_document import html_document
from minigrad.viz.renaming import short_program

TITLE = "Differentiate a function, step by step"
_WITHOUT_SCRIPTS = (
    "This page differentiates a function that you type. It needs JavaScript, and nothing else. "
    "Without it, minigrad trace shows the steps in a terminal."
)


def to_html() -> str:
    """The page as a complete HTML document that makes no network request."""
    # no other page's styles are here
    style, program = (
        text.replace("--mg-", "--") for text in (stylesheet(), short_program(script()))
    )
    return html_document(TITLE, style, program, _WITHOUT_SCRIPTS)
