"""What a boundary protects beyond what its profile says."""

import os
import shutil
import sys
from pathlib import Path

import msgspec
import pytest

from assent.analysis.resources.paths import Place
from assent.model import Facts
from assent.policy.sandbox_profiles import profile
from assent.sandbox.profiles.boundary import make_boundary
from assent.sandbox.redeem.launcher import loaded_packages

_RUN = """import sys
sys.path.insert(0, {!r})
from assent.cli.commands.run import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize("name", ["prefix", "base_prefix"])
def test_the_python_that_runs_assent_is_protected_where_it_lies_in_the_workspace(tmp_path, monkeypatch, name):
    root = tmp_path / "ws"
    (root / ".python/bin").mkdir(parents=True)
    wanted = profile("workspace-write", Place(Facts(), str(root), (str(root),)))
    monkeypatch.setattr(sys, name, str(root / ".python"))
    assert str(root / ".python") in make_boundary(wanted, {"HOME": str(tmp_path / "home")}).profile.protected


@pytest.mark.parametrize("kind", ["environment", "installed", "copied"])
def test_what_the_launcher_loads_is_protected_where_it_lies_in_the_workspace(own_world, kind):
    """It runs the Python that an environment was made from, so that `sys.prefix` says nothing of that."""
    folder = own_world.workspace / {"environment": ".venv/lib/site-packages", "installed": "site-packages"}.get(
        kind, "x"
    )
    folder.mkdir(parents=True)
    if kind == "environment":
        own_world.write(".venv/pyvenv.cfg", "")
    for package in loaded_packages():
        link = os.path.isfile(package)
        (shutil.copy if link else shutil.copytree)(package, folder / os.path.basename(package))
    for file in Path(msgspec.__file__).parent.parent.glob("*.so"):
        shutil.copy(file, folder)
    own_world.write(own_world.base / "run.py", _RUN.format(str(folder)))
    script = (
        f"echo '#' >> {folder}/msgspec/__init__.py; echo '#' >> {folder}/assent/__init__.py; echo > new.txt; echo done"
    )
    if kind != "copied":
        script = f"echo > {folder}/yaml.py; {script}"
    python = os.path.realpath(sys.executable)
    done = own_world.run(argv=[python, "-I", "-S", str(own_world.base / "run.py"), "--", "sh", "-c", script])
    assert done.stdout == "done\n", done.stderr
    assert done.stderr.count("Read-only file system") == (2 if kind == "copied" else 3)
    assert (own_world.workspace / "new.txt").exists()
