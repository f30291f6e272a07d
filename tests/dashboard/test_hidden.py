"""In a tab that nobody sees: a question calls, by notification, title and sound, and leads to its card.

What drives the other tests keeps each page visible to itself, so here the browser is spoken to directly.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from typing import Any

import pytest
from websockets.sync.client import connect

from browsing import CHROMIUM, FLAGS
from daemons import until

WATCH = """
    localStorage.setItem("assent", JSON.stringify({ notify: true, sound: location.hash === "#loud" }));
    window.called = [];
    const Told = Notification;
    window.Notification = class extends Told {
        constructor(title, more) {
            super(title, more);
            window.note = this;
            window.called.push(`${title}: ${more.body}`);
        }
    };
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (...given) {
        window.called.push("sound");
        return start.apply(this, given);
    };
"""
"""Everything really happens; this only keeps note of it."""
SECONDS = 60


class Chromium:
    """The browser, by its own protocol."""

    def __init__(self, folder) -> None:
        words = [CHROMIUM, *FLAGS, "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        known = folder / "DevToolsActivePort"
        port, path = until(
            lambda: known.exists() and known.read_text().count("/") and known.read_text().split(), SECONDS
        )
        self._socket = connect(f"ws://127.0.0.1:{port}{path}", max_size=None, open_timeout=SECONDS, proxy=None)
        self._numbers = itertools.count(1)

    def call(self, method: str, session: str | None = None, **given: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": given, **({"sessionId": session} if session else {})}
        self._socket.send(json.dumps(message))
        while (answer := json.loads(self._socket.recv(timeout=SECONDS))).get("id") != number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def close(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait(SECONDS)


class Tab:
    """One tab of it, in front when it opens."""

    def __init__(self, browser: Chromium, url: str = "about:blank", script: str = "") -> None:
        self._browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)
        self._session = attached["sessionId"]
        browser.call("Page.enable", self._session)
        browser.call("Page.addScriptToEvaluateOnNewDocument", self._session, source=script)
        self.go(url)

    def go(self, url: str) -> None:
        self._browser.call("Page.navigate", self._session, url=url)

    def tell(self, code: str) -> Any:
        return self._browser.call("Runtime.evaluate", self._session, expression=code)["result"].get("value")

    def until(self, code: str) -> Any:
        return until(lambda: self.tell(code), SECONDS)

    @property
    def title(self) -> str:
        """What stands on the tab itself, whoever sees it."""
        return self._browser.call("Target.getTargetInfo", targetId=self.target)["targetInfo"]["title"]


@pytest.fixture
def away(daemon, tmp_path):
    """The inbox in a tab behind another one."""
    browser = Chromium(tmp_path)
    try:
        browser.call("Browser.grantPermissions", origin=daemon.url, permissions=["notifications"])
        login = daemon.api(origin=daemon.url).post("/api/login", json={"token": daemon.owner})
        name, _, value = login.headers["set-cookie"].partition(";")[0].partition("=")
        cookie = {"name": name, "value": value, "url": daemon.url, "httpOnly": True, "sameSite": "Strict"}
        browser.call("Storage.setCookies", cookies=[cookie])
        tab = Tab(browser, f"{daemon.url}/#loud", WATCH)
        tab.until("document.querySelector('#link.good') !== null && document.visibilityState === 'visible'")
        Tab(browser)
        tab.until("document.visibilityState === 'hidden'")
        yield tab
    finally:
        browser.close()


def test_a_question_calls_who_sees_another_tab_and_leads_to_its_card(away, ask, daemon):
    first = ask("node one.js")
    away.until("window.called.length === 2")
    assert sorted(away.tell("window.called.join('|')").split("|")) == ["coder asks: node one.js", "sound"]
    until(lambda: away.title == "(1) Inbox · Assent")
    second = ask("node two.js")
    away.until("window.called.length === 4")
    until(lambda: away.title == "(2) Inbox · Assent")
    away.tell("window.note.dispatchEvent(new Event('click'))")
    away.until(f"document.activeElement.id === 'q-{second}' && document.activeElement.ariaCurrent === 'true'")
    away.go(f"{daemon.url}/audit")  # a page on which there is no card, and in silence
    away.until("document.querySelector('#link.good') !== null && document.title === '(2) Audit · Assent'")
    assert away.tell("document.visibilityState") == "hidden"
    third = ask("node three.js")
    away.until("window.called.length")
    assert away.tell("window.called.join('|')") == "coder asks: node three.js"
    away.tell("window.note.dispatchEvent(new Event('click'))")
    away.until(f"document.activeElement.id === 'q-{third}'")
    assert away.tell("location.pathname") == "/"
    assert away.tell(f"document.getElementById('q-{first}').ariaCurrent") is None
