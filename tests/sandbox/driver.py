"""Starting `assent run` from outside, as different people, for probes that know nothing of it."""

import contextlib
import os
import select
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

NOBODY = 65534
SOURCE = str(Path(__file__).parents[2] / "src")
PACKAGES = sysconfig.get_paths()["purelib"]

#: Who starts the sandbox and whose workspace it is: root in root's, root in a user's, a user in their own.
LAUNCHERS = ("root", "root-for-user", "user") if os.geteuid() == 0 else ("user",)


def as_user(argv):
    if os.geteuid() != 0:
        return argv
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *argv]


_WHOLE = """import msgspec, yaml, re2, sys, os
sys.exit(not os.path.realpath(sys.executable).startswith(os.path.realpath(sys.base_prefix)))"""


def _find_python(launcher):
    if launcher != "user":
        return sys.executable
    for python in (sys.executable, *filter(None, [shutil.which("python3", path="/usr/local/bin:/usr/bin")])):
        argv = as_user([python, "-c", _WHOLE])
        environ = {"PYTHONPATH": PACKAGES, "PATH": os.environ["PATH"]}
        if subprocess.run(argv, env=environ, cwd="/", capture_output=True, check=False).returncode == 0:
            return python
    raise AssertionError("an ordinary user finds no Python that could run Assent")


class World:
    """A workspace, a home and Assent's own home, somewhere nobody else looks."""

    def __init__(self, launcher):
        self.launcher = launcher
        # Not in /tmp: that is the sandbox's own, and what is outside must be seen inside to be tried.
        self.base = Path(tempfile.mkdtemp(prefix="assent-test-", dir="/srv" if os.geteuid() == 0 else Path.home()))
        self.base.chmod(0o755)
        self.workspace = self.base / "ws"
        self.home = self.base / "home"
        self.outside = self.base / "outside"
        self.assent_home = self.base / "assent"
        for folder in (self.workspace, self.home, self.outside, self.assent_home):
            folder.mkdir()
        self.python = _find_python(launcher)
        #: For whoever works in the workspace.
        self.inner_python = self.python if launcher == "root" else _find_python("user")
        self.give(self.workspace)
        if launcher == "user":
            for folder in (self.home, self.outside, self.assent_home):
                self.give(folder)

    def give(self, path):
        """Make it belong to whoever works in the workspace."""
        if self.launcher != "root" and os.geteuid() == 0:
            for each in (path, *Path(path).rglob("*")):
                os.chown(each, NOBODY, NOBODY, follow_symlinks=False)

    def write(self, path, text="", mode=None):
        file = Path(path) if os.path.isabs(path) else self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if mode is not None:
            file.chmod(mode)
        self.give(self.workspace)
        if self.launcher == "user":
            self.give(self.home)
            self.give(self.outside)
        return file

    def configure(self, text):
        self.write(self.base / "config/assent/assent.yaml", text)

    @property
    def environ(self):
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "ASSENT_HOME": str(self.assent_home),
            "XDG_CONFIG_HOME": str(self.base / "config"),
            "PYTHONPATH": f"{SOURCE}:{PACKAGES}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8",
        }

    def argv(self, *words, options=()):
        argv = [self.python, "-m", "assent", "run", *options, "--", *words]
        return as_user(argv) if self.launcher == "user" else argv

    def run(self, *words, options=(), environ=None, cwd=None, argv=(), **more):
        settings = {"capture_output": True, "text": True, "timeout": 120, "check": False} | more
        if "input" not in settings:
            settings.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(  # noqa: PLW1510 - said above
            argv or self.argv(*words, options=options),
            env=self.environ | (environ or {}),
            cwd=cwd or self.workspace,
            **settings,
        )

    @contextlib.contextmanager
    def waiting(self, *words, options=(), argv=()):
        """A command that says `up` and then reads; lent from there on, and ended with its launcher."""
        running = subprocess.Popen(
            argv or self.argv(*words, options=options),
            env=self.environ,
            cwd=self.workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert select.select([running.stdout], [], [], 60)[0]
            assert running.stdout.readline() == "up\n"
            yield running
        finally:
            running.kill()
            running.communicate(timeout=60)

    def sh(self, script, **more):
        """Run a script of shell inside, and return what it printed."""
        return self.run("sh", "-c", script, **more)

    def remove(self):
        shutil.rmtree(self.base, ignore_errors=True)

    def left_over(self):
        """Everything in the workspace, by name."""
        return sorted(str(p.relative_to(self.workspace)) for p in self.workspace.rglob("*"))


def make_repository(world):
    """Make a repository of the workspace."""
    subprocess.run(["git", "init", "-q", world.workspace], check=True, timeout=60)
    world.give(world.workspace)
