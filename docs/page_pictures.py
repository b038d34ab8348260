"""The pictures of the page in docs/service.md: `python docs/page_pictures.py`, where a Chromium is on the PATH.

It serves the page on loopback, runs two samples, and writes page.png (why a match occurred) and page-dark.png.
"""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from helpers.browser import Browser, browse, find_chromium  # noqa: E402
from helpers.service import live  # noqa: E402

WIDTH, HEIGHT = 1180, 740


def open_sample(browser: Browser, url: str, sample: str, *, dark: bool) -> None:
    """Open the page as a new visitor sees it, and run a sample."""
    browser.visit("about:blank")
    browser.ask("Storage.clearDataForOrigin", origin=url, storageTypes="local_storage")
    browser.visit(url, width=WIDTH, height=HEIGHT, dark=dark)
    browser.until(f"document.querySelector('[data-sample={sample}]')")
    browser.value(f"document.querySelector('[data-sample={sample}]').click()")
    browser.until("etalis.state.ran")


def explain_last(browser: Browser) -> None:
    browser.value("etalis.choose(etalis.matches.rows.at(-1).id); document.getElementById('tab-why').click()")
    browser.until("document.querySelectorAll('#panel-why .tree li').length")


def take(browser: Browser, path: Path) -> None:
    """Photograph what is shown when nothing moves any more."""
    browser.value(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 200))))"
    )
    browser.photograph(path)


def main() -> int:
    """Write both pictures."""
    program = find_chromium()
    if program is None:
        sys.exit("these pictures need a Chromium on the PATH")
    with live() as url, browse(program) as browser:
        open_sample(browser, url, "fraud", dark=False)
        explain_last(browser)
        take(browser, DOCS / "page.png")
        open_sample(browser, url, "stock", dark=True)
        take(browser, DOCS / "page-dark.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
