from __future__ import annotations

from assent.cli import exit_codes
from assent.cli.commands.demo import SCENES


def test_the_demo_shows_every_call_with_all_three_verdicts_and_leaves_nothing(world, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    world.user_file.write_text("permissions: {mode: strict}")
    done = world.run("demo", TMPDIR=str(scratch))
    assert done.code == exit_codes.OK
    assert done.err == ""
    assert all(scene.text in done.out for scene in SCENES)
    for verdict in ("allow", "ask  ", "deny "):
        assert f"\n  {verdict}  " in done.out
    assert "cannot be decided" not in done.out
    assert "Next:" in done.out
    assert list(scratch.iterdir()) == []


def test_the_demo_does_not_wait_for_anyone(world):
    assert world.run("demo", stdin=b"").code == exit_codes.OK
