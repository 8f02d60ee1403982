"""The HTML document of a page with a script: nothing is fetched, and only its own script runs."""

from __future__ import annotations

import base64
import hashlib
import html


def source_hash(text: str) -> str:
    """How a content security policy names a style or a script that it allows."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def html_document(
    title: str, style: str, program: str, without_script: str, data: str = "", lang: str = "en"
) -> str:
    """title, lang: plain text; style: CSS; program: a JavaScript module that draws into the element
    `minigrad`; without_script: HTML that is shown where no script runs; data: script elements that
    hold what the program reads.
    """
    policy = (
        f"default-src 'none'; style-src {source_hash(style)}; script-src {source_hash(program)};"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="{html.escape(lang)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main id="minigrad"><noscript>{without_script}</noscript></main>
{data}<script type="module">{program}</script>
</body>
</html>
"""
