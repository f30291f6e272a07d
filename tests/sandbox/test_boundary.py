"""What a boundary protects beyond what its profile says."""

import sys

import pytest

from assent.model import Facts
from assent.policy.profiles import profile
from assent.reading.paths import Place
from assent.sandbox.boundary import settle


@pytest.mark.parametrize("name", ["prefix", "base_prefix"])
def test_the_python_that_runs_assent_is_protected_where_it_lies_in_the_workspace(tmp_path, monkeypatch, name):
    root = tmp_path / "ws"
    (root / ".python/bin").mkdir(parents=True)
    wanted = profile("workspace-write", Place(Facts(), str(root), (str(root),)))
    monkeypatch.setattr(sys, name, str(root / ".python"))
    assert str(root / ".python") in settle(wanted, {"HOME": str(tmp_path / "home")}).profile.protected
