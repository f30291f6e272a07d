"""One message to `opencode serve`, as its terminal and its editors send it. Run as `python opencoded.py PROGRAM TEXT`.

Nobody sits at this client, so that only what answers OpenCode's own questions from inside lets the message come to its
end. Standard library only: it runs in a network that holds nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request

ADDRESS = "127.0.0.1"
PORT = 8098
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(path: str, body: dict | None = None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{ADDRESS}:{PORT}{path}", data, {"Content-Type": "application/json"})
    return _OPENER.open(request)


def talk(text: str) -> None:
    with call("/event") as events, call("/session", {}) as made:
        session = json.load(made)["id"]
        call(f"/session/{session}/prompt_async", {"parts": [{"type": "text", "text": text}]}).close()
        for line in events:
            event = json.loads(line.removeprefix(b"data:")) if line.startswith(b"data:") else {}
            if event.get("type") == "session.idle":
                return


def main() -> None:
    program, text = sys.argv[1:]
    argv = [program, "serve", "--print-logs", "--hostname", ADDRESS, "--port", str(PORT)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as server:
        try:
            heard = next((line for line in server.stdout if b"listening" in line), b"")
            assert heard, "opencode does not serve"
            talk(text)
        finally:
            server.kill()


if __name__ == "__main__":
    main()
