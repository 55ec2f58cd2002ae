"""Every link inside the site leads to a file and an anchor that are there: `python docs/links.py build/docs`."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the anchors that others can link to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[tuple[int, str]] = []
        self.anchors = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what the tag links to, and its name."""
        for name, value in attrs:
            if name in ("href", "src") and value is not None:
                self.links.append((self.getpos()[0], value))
            elif name == "id" and value is not None:
                self.anchors.add(value)


def broken_links(site: Path) -> list[str]:
    """Return a line for each link that leads nowhere."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    broken = []
    for path, page in pages.items():
        for line, link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                broken.append(f"{path}:{line}: {link}: there is no such file.")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                broken.append(f"{path}:{line}: {link}: the page has no such anchor.")
    if not pages:
        broken.append(f"{site} has no pages: build them with make docs.")
    return broken


if __name__ == "__main__":
    found = broken_links(Path(sys.argv[1]))
    sys.exit("\n".join(found) if found else 0)
