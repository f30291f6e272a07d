"""What a command leaves in the folders that it keeps between runs leads whoever sets up the next one nowhere."""

import os

import pytest

from assent.sandbox import Unavailable
from assent.sandbox.persistent import package_caches
from assent.sandbox.profiles.user import User
from assent.sandbox.upkeep.placeholders import Placeholders

CACHE = "/run/assent/cache"


@pytest.mark.parametrize("way", ["ln -s $1 {0}/cargo", "mkdir {0}/cargo; ln -s $1/config.toml {0}/cargo/config.toml"])
def test_a_link_in_the_cache_is_not_followed(world, way):
    precious = world.write(world.outside / "config.toml", "precious")
    before = world.outside.stat()
    planted = world.run("sh", "-c", f"rm -rf {CACHE}/cargo; {way.format(CACHE)}", "sh", str(world.outside))
    assert planted.returncode == 0, planted.stderr
    done = world.sh(f"test ! -L {CACHE}/cargo && test ! -L {CACHE}/cargo/config.toml && touch {CACHE}/cargo/new")
    assert done.returncode == 0, done.stderr
    assert precious.read_text() == "precious"
    after = world.outside.stat()
    assert (after.st_uid, after.st_mode, os.listdir(world.outside)) == (before.st_uid, before.st_mode, ["config.toml"])


def test_a_cache_that_a_command_closed_is_opened_again(world):
    world.sh(f"chmod 000 {CACHE} {CACHE}/cargo")
    done = world.sh(f"touch {CACHE}/new && echo made")
    assert done.stdout == "made\n"


def test_cargo_finds_the_settings_of_its_user_and_nobody_else_s(own_world):
    file = own_world.write(own_world.home / ".cargo/config.toml", "own = 1  # not for others")
    done = own_world.sh("cat $CARGO_HOME/config.toml")
    assert done.stdout == '"own" = 1\n'
    (own_world.home / ".cargo/config").symlink_to(file)
    other = User(uid=os.geteuid() + 1, gid=os.getegid(), home=str(own_world.home), homes=(), dropped=True)
    for name in ("config.toml", "config"):
        with pytest.raises(PermissionError):
            package_caches._read_own(str(own_world.home / ".cargo" / name), other)


def test_stand_ins_are_made_and_removed_through_no_link(own_world, tmp_path):
    elsewhere = own_world.outside / "hooks"
    (own_world.workspace / "tools").mkdir()
    name = str(own_world.workspace / "tools/hooks")
    with Placeholders(str(tmp_path), [name]) as places:
        assert places.made == (name,)
        elsewhere.mkdir()
        (own_world.workspace / "tools").rename(own_world.workspace / "moved")
        (own_world.workspace / "tools").symlink_to(own_world.outside)
    assert elsewhere.is_dir()
    elsewhere.rmdir()
    with pytest.raises(Unavailable, match="cannot be held"), Placeholders(str(tmp_path), [name]):
        pass
    assert not elsewhere.exists()
