"""Links of a site's pages that lead nowhere."""

import re

from minigrad.lessons.front_page import LIVE


def dead_links(folder):
    """Links of the pages in `folder` that lead nowhere inside it, each as "page: link". Links to
    other servers are not followed. What follows the page that differentiates is no anchor: it says
    what that page shows.
    """
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.html"))}
    anchors = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in pages.items()}
    dead = []
    for path, text in pages.items():
        shown = re.sub(r"<(script|iframe)\b.*?</\1>", "", text, flags=re.DOTALL)
        for link in _links(shown):
            address, _, anchor = link.partition("#")
            target = (path.parent / address.partition("?")[0]).resolve() if address else path
            anchored = anchor and target in anchors and target.name != LIVE
            if not target.exists() or (anchored and anchor not in anchors[target]):
                dead.append(f"{path.relative_to(folder)}: {link}")
    return dead


def _links(text):
    found = re.findall(r'\b(?:href|src)="([^"]+)"', text)
    return [link for link in dict.fromkeys(found) if not re.match(r"[a-z][a-z0-9+.-]*:|//", link)]
