"""A scripted model on loopback, and an agent driven against it, in a network that holds nothing else.

Run as `python scripted.py PLAN [COMMAND…]`: it reads what to start and what the model is to ask for, and prints what
came back. A command that is given instead of the plan's has this process's environment too.
It speaks as Claude Code, Codex, Gemini CLI and OpenCode expect. Standard library only: it runs where nothing else is.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.server
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

PORT = 8099
"""Where the model is: nobody else is in its network."""
_UP = 0x8914, 0x41


class Model:
    """Asks for the given calls, one after the other, then says that it is done."""

    def __init__(self, script: list) -> None:
        self.script = script
        self.results: list[str] = []
        self.times: list[float] = []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_args: object) -> None:
                pass

            def reply(self, data: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_HEAD(self) -> None:
                self.reply(b"", "text/plain")

            def do_GET(self) -> None:
                self.reply(b'{"data":[],"models":[]}', "application/json")

            def do_POST(self) -> None:
                size = int(self.headers.get("content-length", 0))
                data, kind = model.answer(self.path, json.loads(self.rfile.read(size) or b"{}"))
                self.reply(data, kind)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str, body: dict) -> tuple[bytes, str]:
        if "count_tokens" in path:
            return b'{"input_tokens":10}', "application/json"
        if "messages" in path:
            return self.anthropic(body), "text/event-stream"
        if "responses" in path:
            return self.responses(body), "text/event-stream"
        if "completions" in path:
            return self.completions(body), "text/event-stream"
        return self.gemini(path, body)

    def take(self, results: list, *, tools: bool):
        """Keep what came back, and return the next call to ask for, or None."""
        if not tools:
            return None
        if len(results) != len(self.times):
            self.times.append(time.monotonic())
        self.results = [json.dumps(result, ensure_ascii=False) for result in results]
        return self.script[len(results)] if len(results) < len(self.script) else None

    def anthropic(self, body: dict) -> bytes:
        parts = [p for m in body.get("messages", []) if isinstance(m["content"], list) for p in m["content"]]
        results = [p.get("content") for p in parts if p.get("type") == "tool_result"]
        call = self.take(results, tools=bool(body.get("tools")))
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "m"),
            "content": [],
        }
        message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
        if call:
            block = {"type": "tool_use", "id": f"toolu_{len(results)}", "name": call[0], "input": {}}
            delta, stop = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}, "tool_use"
        else:
            block, delta, stop = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
        return frames(
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        )

    def responses(self, body: dict) -> bytes:
        results = [i.get("output") for i in body.get("input", []) if i.get("type", "").endswith("_call_output")]
        call, n = self.take(results, tools=True), len(results)
        if call:
            item = {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": call[0]}
            item |= {"arguments": json.dumps(call[1]), "status": "completed"}
        else:
            text = {"type": "output_text", "text": "done", "annotations": []}
            item = {"type": "message", "id": f"msg_{n}", "role": "assistant", "status": "completed", "content": [text]}
        usage = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1}
        usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}
        done = {"id": f"resp_{n}", "object": "response", "status": "completed", "output": [item], "usage": usage}
        return frames(
            {"type": "response.created", "response": {"id": f"resp_{n}", "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        )

    def completions(self, body: dict) -> bytes:
        results = [m.get("content") for m in body.get("messages", []) if m.get("role") == "tool"]
        call, n = self.take(results, tools=bool(body.get("tools"))), len(results)
        delta: dict = {"role": "assistant", "content": "done"}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            delta = {
                "role": "assistant",
                "tool_calls": [{"index": 0, "id": f"c{n}", "type": "function", "function": function}],
            }
        base = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        end = "tool_calls" if call else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        chunks = [
            base | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            base | {"choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage},
        ]
        return b"".join(f"data: {json.dumps(c)}\n\n".encode() for c in chunks) + b"data: [DONE]\n\n"

    def gemini(self, path: str, body: dict) -> tuple[bytes, str]:
        parts = [p for c in body.get("contents", []) for p in c.get("parts", [])]
        results = [p["functionResponse"].get("response") for p in parts if "functionResponse" in p]
        call = self.take(results, tools=bool(body.get("tools")))
        part = {
            "text": "done" if body.get("tools") else '{"reasoning":"x","next_speaker":"user","model_choice":"flash"}'
        }
        if call:
            part = {"functionCall": {"name": call[0], "args": call[1], "id": f"g{len(results)}"}}
        content = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        out = json.dumps({"candidates": [content], "usageMetadata": usage, "modelVersion": "m"})
        if "stream" in path:
            return f"data: {out}\n\n".encode(), "text/event-stream"
        return out.encode(), "application/json"


def frames(*events: dict) -> bytes:
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def raise_loopback() -> None:
    # Inside a sandbox it is up already, and nobody may change it.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line, contextlib.suppress(PermissionError):
        fcntl.ioctl(line, _UP[0], struct.pack("16sH14x", b"lo", _UP[1]))


def run(argv: list[str], plan: dict) -> tuple[int | None, str, str]:
    """Run a command, and end it when its time is up: what it said until then is of use too."""
    process = subprocess.Popen(
        argv,
        env=plan["environ"],
        cwd=plan["cwd"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    code: int | None = 0
    try:
        out, err = process.communicate(timeout=plan["seconds"])
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        code = None
    return code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    raise_loopback()
    model = Model(plan.get("script", []))
    said = []
    if given := sys.argv[2:]:
        plan |= {"commands": [given], "environ": {**os.environ, **plan["environ"]}}
    for argv in plan["commands"]:
        begin = time.monotonic()
        code, out, err = run(argv, plan)
        took = time.monotonic() - begin
        said.append({"code": code, "out": out, "err": err, "seconds": took})
    print(json.dumps({"commands": said, "results": model.results, "times": model.times}))


if __name__ == "__main__":
    main()
