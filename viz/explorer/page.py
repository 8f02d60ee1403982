"""The page that differentiates, as one file: no server, no kernel, no request.

A reader types a function; the engine in the page differentiates it and writes a Trace, and the
viewer shows that as it shows any other. The document has a content security policy that forbids
every request and every script but its own, which is named by its hash.
"""

from __future__ import annotations

import base64
import hashlib

from minigrad.viz.explorer.bundle import script, stylesheet
from minigrad.viz.explorer.squeeze import squeezed, squeezed_style

TITLE = "Differentiate a function, step by step"
_WITHOUT_SCRIPTS = (
    "This page differentiates a function that you type. It needs JavaScript, and nothing else. "
    "Without it, minigrad trace shows the steps in a terminal."
)


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def to_html() -> str:
    """The page as a complete HTML document that makes no network request."""
    style, program = squeezed_style(stylesheet()), squeezed(script())
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(program)}; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{TITLE}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main id="minigrad"><noscript>{_WITHOUT_SCRIPTS}</noscript></main>
<script type="module">{program}</script>
</body>
</html>
"""
