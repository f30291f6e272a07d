"""Everyday work inside `workspace-write`: building, testing, committing, installing."""

import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

GIT = "git -c user.name=a -c user.email=a@a.test"


def test_a_repository_is_worked_in(world):
    subprocess.run(["git", "init", "-q", "-b", "main", world.workspace], check=True)
    world.give(world.workspace)
    done = world.sh(
        f"echo a > a && git add -A && {GIT} commit -qm one && git checkout -q -b two && echo b > b && git add -A &&"
        f"{GIT} commit -qm two && git checkout -q main && {GIT} merge -q two && git stash list && git gc -q &&"
        "git status --short && git log --oneline | wc -l && git ls-files"
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["2", "a", "b"]


def test_a_c_project_is_built_and_run(world):
    world.write("main.c", '#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n')
    world.write("Makefile", "main: main.o\n\tcc -o main main.o\nmain.o: main.c\n\tcc -c main.c\n")
    done = world.sh("make -s -j2 && ./main")
    assert (done.stdout, done.returncode) == ("built\n", 0)


def wheel():
    """Make a small package as a wheel."""
    data = io.BytesIO()
    info = "assentprobe-1.0.dist-info"
    files = {
        "assentprobe.py": "VALUE = 42\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: assentprobe\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(data, "w") as archive:
        rows = []
        for name, text in files.items():
            archive.writestr(name, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(text)}")
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
    return data.getvalue()


def tarball():
    """Make a small package for node."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in {
            "package/package.json": json.dumps({"name": "assentprobe", "version": "1.0.0", "main": "index.js"}),
            "package/index.js": "module.exports = 42;\n",
        }.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


@pytest.fixture
def index():
    """Serve both packages as the indexes of pip and npm do, on this machine."""
    wheel_data, node_data = wheel(), tarball()
    asked = []

    class Index(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            here = f"http://127.0.0.1:{self.server.server_address[1]}"
            pages = {
                "/simple/assentprobe/": (b'<a href="/files/assentprobe-1.0-py3-none-any.whl">w</a>', "text/html"),
                "/files/assentprobe-1.0-py3-none-any.whl": (wheel_data, "application/zip"),
                "/assentprobe": (json.dumps(node_page(here, node_data)).encode(), "application/json"),
                "/assentprobe/-/assentprobe-1.0.0.tgz": (node_data, "application/octet-stream"),
            }
            body, kind = pages.get(self.path, (b"", ""))
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    server.asked = asked
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def node_page(here, data):
    version = {
        "name": "assentprobe",
        "version": "1.0.0",
        "main": "index.js",
        "dist": {
            "tarball": f"{here}/assentprobe/-/assentprobe-1.0.0.tgz",
            "shasum": hashlib.sha1(data, usedforsecurity=False).hexdigest(),
        },
    }
    return {"name": "assentprobe", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}


def test_a_virtual_environment_is_made_and_a_package_installed_from_the_configured_index(world, index):
    url = f"http://127.0.0.1:{index.server_address[1]}/simple/"
    world.write(world.home / ".config/pip/pip.conf", f"[global]\nindex-url = {url}\n")
    if world.launcher == "root-for-user":  # that somebody has no home here; the environment says where to look
        settings = {"PIP_INDEX_URL": url}
    else:
        settings = {"XDG_CONFIG_HOME": str(world.home / ".config")}
    world.write(
        "test_it.py",
        "import assentprobe, unittest\nclass T(unittest.TestCase):\n  def test(self): assert assentprobe.VALUE == 42\n",
    )
    done = world.sh(
        "/usr/bin/python3 -m venv --without-pip .venv && PYTHONPATH= /usr/bin/python3 -m pip --python .venv/bin/python "
        "install -q assentprobe && .venv/bin/python -m unittest -q test_it",
        environ=settings,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "/files/assentprobe-1.0-py3-none-any.whl" in index.asked


def test_a_package_is_installed_from_the_configured_npm_registry_and_a_script_run(world, index):
    world.write(
        world.home / ".npmrc", f"registry=http://127.0.0.1:{index.server_address[1]}/\n//x/:_authToken=hidden\n"
    )
    world.write("package.json", json.dumps({"name": "p", "version": "1.0.0", "scripts": {"test": "node t.js"}}))
    world.write("t.js", "console.log(require('assentprobe') === 42 ? 'works' : 'broken')\n")
    settings = (
        {"npm_config_registry": f"http://127.0.0.1:{index.server_address[1]}/"}
        if world.launcher == "root-for-user"
        else {}
    )
    done = world.sh(
        "npm install --no-audit --no-fund assentprobe >/dev/null && npm -s test; cat ~/.npmrc", environ=settings
    )
    assert done.stdout == "works\n", done.stderr
    assert os.listdir(world.home) in ([".npmrc"], [".npmrc", ".config"])


def test_an_index_that_only_the_project_names_is_not_reached(own_world, index):
    own_world.write("pip.conf", f"[global]\nindex-url = http://127.0.0.1:{index.server_address[1]}/simple/\n")
    own_world.write(".npmrc", f"registry=http://127.0.0.1:{index.server_address[1]}/\n")
    own_world.sh(
        f"npm view --fetch-retries=0 assentprobe; curl -s http://127.0.0.1:{index.server_address[1]}/assentprobe"
    )
    assert index.asked == []
