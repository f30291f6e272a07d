"""Claude Code's own user: sends one message, and answers what Claude Code asks by itself.

Run as `python claudeuser.py PROGRAM WORD…`: a call is allowed if it holds one of the words. Prints what was asked, a
line of JSON each. Standard library only: it runs in a network that holds nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys

WORDS = ("-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json")
MESSAGE = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "do it"}]}}


def answer(request: dict, words: list[str]) -> dict:
    asked = json.dumps(request["request"].get("input"))
    sys.stdout.write(f"{asked}\n")
    allow = any(word in asked for word in words)
    said = {"behavior": "allow", "updatedInput": request["request"]["input"]} if allow else {"behavior": "deny"}
    response = {"subtype": "success", "request_id": request["request_id"], "response": said | {"message": "not now"}}
    return {"type": "control_response", "response": response}


def main() -> None:
    program, *words = sys.argv[1:]
    argv = [program, *WORDS, "--permission-prompt-tool", "stdio"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:

        def say(message: dict) -> None:
            agent.stdin.write(json.dumps(message).encode() + b"\n")
            agent.stdin.flush()

        say(MESSAGE)
        for line in agent.stdout:
            heard = json.loads(line)
            if heard["type"] == "control_request":
                say(answer(heard, words))
            if heard["type"] == "result":
                break


if __name__ == "__main__":
    main()
