"""Trust is bound to a path and to every byte; what cannot be read for sure is not trusted."""

import hashlib
import json
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from assent.config import trust as module
from assent.config.trust import TrustedFile, forget, is_trusted, listing, trust, trust_file
from assent.model import ConfigError

RULES = b"permissions:\n  allow: [Bash(make:*)]\n"


@pytest.fixture
def home(tmp_path):
    return str(tmp_path / "assent")


@pytest.fixture
def project(tmp_path):
    path = tmp_path / "project" / "assent.yaml"
    path.parent.mkdir()
    path.write_bytes(RULES)
    return path


def test_nothing_is_trusted_at_first(home, project):
    assert not is_trusted(str(project), RULES, home=home)
    assert listing(home=home) == ()
    assert not Path(home).exists()


def test_what_was_trusted_is_trusted(home, project):
    entry = trust(str(project), home=home)
    assert entry == TrustedFile(str(project), hashlib.sha256(RULES).hexdigest())
    assert is_trusted(str(project), RULES, home=home)
    assert listing(home=home) == (entry,)


@pytest.mark.parametrize("content", [RULES + b"\n", RULES[:-1], RULES.replace(b"make", b"Make"), b"", RULES + b" "])
def test_one_changed_byte_is_not_trusted(home, project, content):
    trust(str(project), home=home)
    assert not is_trusted(str(project), content, home=home)


def test_the_same_bytes_elsewhere_are_not_trusted(home, project):
    trust(str(project), home=home)
    assert not is_trusted(str(project.parent.parent / "other" / "assent.yaml"), RULES, home=home)


def test_a_project_under_another_name_is_the_same_project(home, project):
    (project.parent.parent / "link").symlink_to(project.parent)
    trust(str(project.parent.parent / "link" / "assent.yaml"), home=home)
    assert is_trusted(str(project), RULES, home=home)


def test_the_bytes_a_person_was_shown_are_what_is_trusted(home, project):
    project.write_bytes(RULES + b"# changed while the person was reading\n")
    trust(str(project), RULES, home=home)
    assert is_trusted(str(project), RULES, home=home)
    assert not is_trusted(str(project), project.read_bytes(), home=home)


def test_trusting_again_replaces_what_was_trusted(home, project):
    trust(str(project), home=home)
    project.write_bytes(RULES + b"#")
    trust(str(project), home=home)
    assert is_trusted(str(project), RULES + b"#", home=home)
    assert not is_trusted(str(project), RULES, home=home)


def test_what_is_forgotten_is_not_trusted(home, project):
    other = project.parent / "sub" / "assent.yaml"
    other.parent.mkdir()
    other.write_bytes(RULES)
    trust(str(project), home=home)
    trust(str(other), home=home)
    assert forget(str(project), home=home)
    assert not forget(str(project), home=home)
    assert not is_trusted(str(project), RULES, home=home)
    assert [entry.path for entry in listing(home=home)] == [str(other)]


@pytest.mark.parametrize("content", [b"permissions: [", b"", b"workspace: [/srv]", b"\xff"])
def test_a_file_with_a_fault_can_not_be_trusted(home, project, content):
    project.write_bytes(content)
    with pytest.raises(ConfigError):
        trust(str(project), home=home)
    assert listing(home=home) == ()


def test_a_file_that_is_not_there_can_not_be_trusted(home, tmp_path):
    with pytest.raises(ConfigError, match="file not found"):
        trust(str(tmp_path / "none"), home=home)


def test_the_file_is_private_in_a_private_home(home, project):
    trust(str(project), home=home)
    assert stat.S_IMODE(Path(home).stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in Path(home).iterdir()} == {0o600}


GOOD = hashlib.sha256(RULES).hexdigest()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"x"',
        b"{}}",
        b'{"version": 2}',
        b'{"version": "1"}',
        b'{"files": []}',
        b'{"files": {"/x": 1}}',
        b'{"files": {"/x": null}}',
        b'{"files": {"/x": "abc"}}',
        b'{"files": {"/x": "\xff"}}',
        b'{"files": {"/x": "%s\\n"}}' % GOOD.encode(),
        b'{"extra": 1}',
        b"[" * 100_000,
        b'{"files":' * 50_000,
        b'{"files": {"/x": ' + b"[" * 100_000,
        GOOD.upper().join(['{"files": {"/x": "', '"}}']).encode(),
    ],
    ids=lambda text: repr(text[:20]),
)
def test_a_damaged_file_is_an_error_that_says_how_to_mend_it(home, project, text):
    trust(str(project), home=home)
    Path(trust_file(home)).write_bytes(text)
    for attempt in (
        lambda: is_trusted(str(project), RULES, home=home),
        lambda: trust(str(project), home=home),
        lambda: forget(str(project), home=home),
        lambda: listing(home=home),
    ):
        with pytest.raises(ConfigError) as caught:
            attempt()
        assert caught.value.file == trust_file(home)
        assert caught.value.suggestion == "delete it, then run `assent trust` in each project again"
    assert Path(trust_file(home)).read_bytes() == text


def test_a_link_in_the_files_place_is_not_followed(home, project, tmp_path):
    trust(str(project), home=home)
    planted = tmp_path / "planted.json"
    Path(trust_file(home)).rename(planted)
    Path(trust_file(home)).symlink_to(planted)
    with pytest.raises(ConfigError, match="symbolic link"):
        is_trusted(str(project), RULES, home=home)
    with pytest.raises(ConfigError, match="symbolic link"):
        trust(str(project), home=home)


def test_a_link_in_the_locks_place_is_not_followed(home, project, tmp_path):
    Path(home).mkdir(mode=0o700)
    Path(trust_file(home) + ".lock").symlink_to(tmp_path / "planted")
    with pytest.raises(ConfigError, match="cannot use this file"):
        trust(str(project), home=home)
    assert not (tmp_path / "planted").exists()


@pytest.mark.parametrize("part", ["file", "home"])
def test_a_file_that_others_could_write_is_not_believed(home, project, part):
    trust(str(project), home=home)
    Path(home if part == "home" else trust_file(home)).chmod(0o777)
    with pytest.raises(ConfigError, match="writable by other users"):
        is_trusted(str(project), RULES, home=home)


def test_a_crash_before_the_rename_leaves_what_was_trusted(home, project):
    trust(str(project), home=home)
    crash = (
        "import os, sys; from assent.config.trust import forget;"
        "os.replace = lambda *args: os._exit(9); forget(sys.argv[1], home=sys.argv[2])"
    )
    done = subprocess.run([sys.executable, "-c", crash, str(project), home], check=False, timeout=60)
    assert done.returncode == 9
    assert is_trusted(str(project), RULES, home=home)


def test_writers_at_the_same_time_lose_nothing(home, tmp_path):
    paths = [tmp_path / f"p{index}" / "assent.yaml" for index in range(20)]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(RULES)
    threads = [threading.Thread(target=trust, args=(str(path),), kwargs={"home": home}) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {entry.path for entry in listing(home=home)} == {str(path) for path in paths}


def test_the_file_is_plain_json_for_people_to_read(home, project):
    trust(str(project), home=home)
    content = Path(trust_file(home)).read_bytes()
    assert json.loads(content) == {"version": 1, "files": {str(project): GOOD}}
    assert module.FILE_NAME == "trust.json"
