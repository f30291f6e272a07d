"""A small agent: asks the daemon over the socket it finds, tries to answer itself, and says what came of it."""

import json
import os
import socket
import sys

HOME = os.environ["ASSENT_HOME"]


def request(method, path, body=None, token=None):
    line = socket.socket(socket.AF_UNIX)
    line.connect(f"{HOME}/assent.sock")
    data = json.dumps(body or {}).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(data)}\r\n" + (f"Authorization: Bearer {token}\r\n" if token else "")
    line.sendall(head.encode() + b"\r\n" + data)
    answer = b""
    while piece := line.recv(65536):
        answer += piece
    return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2].decode()


def look(path):
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        return error.strerror


owner = sys.argv[1]
call = {"toolName": "Bash", "toolInput": {"command": "ls"}, "cwd": os.getcwd()}
asked = {"toolName": "mystery", "toolInput": {}, "cwd": os.getcwd()}
pending = json.loads(request("POST", "/api/hooks/classify", asked)[1])["requestId"]
yes = {"requestId": pending, "decision": "approve"}
found = {
    "ask": request("POST", "/api/hooks/classify", call)[0],
    "answer": request("POST", "/api/permissions", yes)[0],
    "answer as owner": request("POST", "/api/permissions", yes, owner)[0],
    "token as owner": request("POST", "/api/tokens", {"role": "admin"}, owner)[0],
    "home": look(HOME),
    "pending": pending,
}
sys.stdout.write(json.dumps(found))
