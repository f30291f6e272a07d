"""A person who is not looking is told: on the desktop and at an address, of each question once."""

from __future__ import annotations

import http.server
import json
import threading

import pytest

from daemons import Running, until


class Listener(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_args):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.heard.append((dict(self.headers), body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()


@pytest.fixture
def listener():
    server = http.server.HTTPServer(("127.0.0.1", 0), Listener)
    server.heard = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("form", ["json", "ntfy"])
def test_each_question_is_told_of_once_on_the_desktop_and_at_the_address(tmp_path, listener, form):
    told = tmp_path / "told"
    program = tmp_path / "bin" / "notify-send"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {told}\n')
    program.chmod(0o755)
    url = f"http://127.0.0.1:{listener.server_port}/topic"
    daemon = Running(tmp_path, "--notify-url", url, "--notify-as", form)
    daemon.environ["PATH"] = f"{program.parent}:{daemon.environ['PATH']}"
    with daemon:
        agent = daemon.api(daemon.mint("agent", agent="builder", remote=True))
        for command in ("ls", "node <b>x</b>.js", "node <b>x</b>.js"):
            agent.post("/api/hooks/classify", json={"toolName": "bash", "toolInput": {"command": command}})
        until(lambda: listener.heard)
        headers, body = listener.heard[0]
        text = json.loads(body)["message"] if form == "json" else body.decode()
        assert "node <b>x</b>.js" in text
        title = json.loads(body)["title"] if form == "json" else headers["Title"]
        assert title == "builder asks"
        shown = until(lambda: told.exists() and told.read_text())
        assert "node &lt;b&gt;x&lt;/b&gt;.js" in shown
        assert f"http://127.0.0.1:{daemon.port}" in shown
        agent.post("/api/hooks/classify", json={"toolName": "bash", "toolInput": {"command": "node other.js"}})
        until(lambda: len(listener.heard) == 2)
        assert told.read_text().count("builder asks") == 2
