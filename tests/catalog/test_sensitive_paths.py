"""Places that matter by their name."""

from __future__ import annotations

import pytest

from assent.catalog import secret_names, sensitive_paths
from assent.catalog.name_matching import Names

SECRET = [
    "/ws/.env",
    "/ws/.env.local",
    "/ws/deep/.ENV",
    "/ws/key.pem",
    "/ws/server.key",
    "/home/x/.ssh/config",
    "/home/x/.ssh/id_ed25519",
    "/home/x/.aws/credentials",
    "/home/x/.config/gh/hosts.yml",
    "/home/x/.docker/config.json",
    "/ws/terraform.tfstate.backup",
    "/home/x/.bash_history",
    "/ws/secrets/a",
    "/etc/shadow",
    "/etc/shadow-",
    "/proc/1/environ",
    "/proc/self/environ",
    "/proc/self/task/1/environ",
    "/proc/self/mem",
    "/run/secrets/db",
    "/dev/sda",
    "/dev/mem",
    "/home/x/.terraform.d/credentials.tfrc.json",
    "/home/x/.cargo/credentials.toml",
    "/ws/a.pub/.env",
    "/ws/keys.pub/id_rsa",
    "/ws/credentials.yaml",
    "/home/x/.git-credentials",
]
PLAIN = [
    "/ws/main.py",
    "/ws/env",
    "/ws/environment.py",
    "/ws/.env.example",
    "/ws/.env.sample",
    "/ws/id.pub",
    "/home/x/.ssh/id_rsa.pub",
    "/ws/keynote.md",
    "/ws/monkey.txt",
    "/ws/.dockerignore",
    "/etc/hosts",
    "/proc/cpuinfo",
    "/proc/1/status",
    "/ws/x.docker/config.json",
    "/ws/secretsanta.py",
    "/ws/cacert.pem",
    "/dev/null",
    "/ws/aws",
    "/ws/docker/config.json",
    "/",
]


@pytest.mark.parametrize("path", SECRET)
def test_keys_credentials_and_histories_are_secrets_wherever_they_lie(path):
    assert secret_names.is_secret(path)
    assert sensitive_paths.is_sensitive(path)


@pytest.mark.parametrize("path", PLAIN)
def test_what_only_looks_like_a_secret_is_none(path):
    assert not secret_names.is_secret(path)


CONTROL = [
    "/ws/.claude/settings.json",
    "/ws/CLAUDE.md",
    "/ws/.MCP.json",
    "/ws/.git/hooks/x",
    "/ws/.git/config",
    "/ws/.git",
    "/home/x/.bashrc",
    "/home/x/.config/fish/config.fish",
    "/ws/.vscode/tasks.json",
    "/ws/.github/workflows/ci.yml",
    "/ws/.venv/bin/python",
    "/ws/node_modules/.bin/eslint",
    "/ws/conftest.py",
    "/ws/lib/site.pth",
    "/ws/x.code-workspace",
    "/etc/cron.d/x",
    "/etc/profile",
    "/etc/ld.so.preload",
    "/etc/assent/assent.yaml",
    "/ws/assent.yaml",
    "/home/x/.ssh/authorized_keys",
]
NO_CONTROL = [
    "/ws/main.py",
    "/ws/git/hooks/x",
    "/ws/.github/ISSUE_TEMPLATE.md",
    "/ws/.gitignore",
    "/ws/vscode/a",
    "/ws/venv/lib/x.py",
    "/ws/claude.md.txt",
    "/etc/hosts",
    "/ws/etc/cron.d/x",
    "/",
]


@pytest.mark.parametrize("path", CONTROL)
def test_what_decides_later_what_runs_is_the_control_plane(path):
    assert sensitive_paths.is_control_plane(path)
    assert sensitive_paths.is_sensitive(path)


@pytest.mark.parametrize("path", NO_CONTROL)
def test_plain_files_are_not_the_control_plane(path):
    assert not sensitive_paths.is_control_plane(path)


@pytest.mark.parametrize(
    ("path", "system"),
    [
        ("/etc/hosts", True),
        ("/usr", True),
        ("/usrlocal/x", False),
        ("/home/x", False),
        ("/dev/sda", True),
        ("/dev/null", False),
        ("/dev/stdout", False),
        ("/Library/x", True),
        ("/tmp/etc/x", False),
    ],
)
def test_the_system_s_folders_are_the_system_s(path, system):
    assert sensitive_paths.is_system(path) is system
    assert sensitive_paths.is_sensitive(path) is system


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("API_KEY", True),
        ("OPENAI_API_KEY", True),
        ("GITHUB_TOKEN", True),
        ("TOKEN", True),
        ("DB_PASSWORD", True),
        ("PGPASSWORD", True),
        ("DATABASE_URL", True),
        ("aws_secret_access_key", True),
        ("MY_SECRET_THING", True),
        ("apikey", True),
        ("SSH_AUTH_SOCK", False),
        ("TOKENIZERS_PARALLELISM", False),
        ("HOME", False),
        ("KEYBOARD", False),
        ("MONKEY", False),
        ("AUTHOR", False),
    ],
)
def test_a_variable_is_known_for_a_secret_by_its_name(name, secret):
    assert secret_names.is_secret_variable(name) is secret


NAMES = Names((".ssh", "*.pem", "a/b", "c/d*"), ("/etc/x*", "/opt"))


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/x/.ssh/y", True),
        ("/x/.SSH", True),
        ("/x/.sshd", False),
        ("/k.pem", True),
        ("/k.pem/inside", True),
        ("/a/b", True),
        ("/x/a/b/y", True),
        ("/xa/b", False),
        ("/a/bc", False),
        ("/a/x/b", False),
        ("/c/dd/e", True),
        ("/c/e", False),
        ("/etc/xyz/a", True),
        ("/etc/y", False),
        ("/opt", True),
        ("/optional", False),
        ("/x/opt", False),
        ("/", False),
        ("", False),
    ],
)
def test_names_are_found_segment_by_segment(path, found):
    assert NAMES.find(path) is found


def test_no_names_are_found_nowhere():
    assert not Names(()).find("/a/b")


@pytest.mark.parametrize("path", ["/ws/.git\u200c/config", "/ws/.git./config", "/ws/.env ", "/ws/GIT~1/config"])
def test_names_that_some_disks_take_for_the_same_are_the_same(path):
    assert sensitive_paths.is_sensitive(path)


FIRST_NAMES = sorted(
    {name.strip("/").split("/")[0] for name in (*sensitive_paths.CONTROL_PLANE, *sensitive_paths.CONTROL_PATHS)}
)
SPELLINGS = (
    str,
    str.upper,
    str.title,
    "{}.".format,
    "{} ".format,
    "\u200b{}".format,
    lambda n: n.replace("s", "\u017f"),
)


@pytest.mark.parametrize("spell", SPELLINGS)
def test_the_quick_look_at_a_name_misses_none_that_matters(spell):
    names = [spell(name.replace("*", filling)) for name in FIRST_NAMES for filling in ("", "x", ".y")]
    found = [
        name
        for name in names
        if sensitive_paths.is_control_plane(f"/{name}") or sensitive_paths.holds_control_plane(name)
    ]
    assert len(found) > 50
    assert [name for name in found if not sensitive_paths.may_begin_control_plane(name)] == []
    assert not sensitive_paths.may_begin_control_plane("readme.txt")


@pytest.mark.parametrize(
    ("folder", "below"),
    [
        (".cargo", ("config", "config.toml")),
        ("/sub/.Cargo/", ("config", "config.toml")),
        (".config/git", ("config", "attributes")),
        ("git", ()),
        (".cargo2", ()),
        ("my.cargo", ()),
        (".claude", ()),
        ("", ()),
    ],
)
def test_of_a_folder_on_the_way_it_is_known_what_decides_below(folder, below):
    assert sensitive_paths.control_plane_below(folder) == below
