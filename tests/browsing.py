"""A real browser on a real daemon: what the tests of the dashboard, its pictures and its benchmark have in common."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from daemons import Running

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WAIT = 60_000
"""How long something may take to come about, in milliseconds: a busy machine is no fault of the page."""
expect.set_options(timeout=WAIT)
DESK, PHONE = {"width": 1280, "height": 860}, {"width": 360, "height": 740}


@contextlib.contextmanager
def open_browser() -> Iterator[Browser]:
    """Start the system's Chromium; it ends with the block, and so does the loop that drives it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


def settle(page: Page) -> None:
    """Wait until a page shows what it looked up."""
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("Loading…", use_inner_text=True)


def still(page: Page) -> None:
    """Wait until a page takes keys and clicks again, after something moved in it."""
    expect(page.locator(".moving")).to_have_count(0)


class Visitor:
    """One browser of one person, which keeps everything the page complained about."""

    def __init__(self, browser: Browser, daemon: Running, **wishes) -> None:
        self.daemon = daemon
        self.context: BrowserContext = browser.new_context(base_url=daemon.url, **{"viewport": DESK} | wishes)
        self.context.set_default_timeout(WAIT)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("console", self._hear)

    def _hear(self, message) -> None:
        # The browser itself notes every refused request; what is wrong with a page is an error or a broken policy.
        text = message.text
        if message.type in ("error", "warning") and not text.startswith(("Failed to load resource", "WebSocket conn")):
            self.complaints.append(text)

    def log_in(self, *, token: str | None = None, path: str = "/") -> Page:
        """Have a session by a token, the owner's if no other, and go to a page."""
        answer = self.daemon.api(origin=self.daemon.url).post("/api/login", json={"token": token or self.daemon.owner})
        name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
        cookie = {"name": name, "value": value, "url": self.daemon.url, "httpOnly": True, "sameSite": "Strict"}
        self.context.add_cookies([cookie])
        self.page.goto(path)
        self.page.get_by_role("navigation", name="Pages").wait_for()
        return self.page

    def close(self) -> None:
        self.context.close()
