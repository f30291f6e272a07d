"""The daemon's settings: every one can be said in a file, in the environment and by a flag, and in that order."""

from __future__ import annotations

import pytest

from assent.config.effective_settings import load_settings
from assent.config.settings import BY_NAME, SETTINGS, ServerSettings
from assent.model import AssentError, ConfigError

SAMPLES = {
    "host": ("::1", "::1"),
    "port": ("8000", 8000),
    "expose": ("yes", True),
    "store": ("sqlite:////code/x.db", "sqlite:////code/x.db"),
    "names": ("a.example:80, b.example", ("a.example:80", "b.example")),
    "public_url": ("https://Assent.example/", "https://assent.example"),
    "socket": ("off", False),
    "expiry": ("2h", 7200.0),
    "wait": ("90", 90.0),
    "rate": ("0", 0),
    "body": ("64k", 65536),
    "hook_body": ("2m", 2 << 20),
    "pending": ("20", 20),
    "pending_size": ("2m", 2 << 20),
    "queue": ("8", 8),
    "heartbeat": ("0.5", 0.5),
    "grace": ("1m", 60.0),
    "lease": ("90s", 90.0),
    "strategies": ("/srv/strategies/, /opt/x", ("/srv/strategies", "/opt/x")),
    "agent_prompt": ("defer", "defer"),
    "notify_desktop": ("no", False),
    "notify_url": ("http://127.0.0.1:9/x", "http://127.0.0.1:9/x"),
    "notify_as": ("ntfy", "ntfy"),
    "log_format": ("text", "text"),
    "log_level": ("debug", "debug"),
}
WRONG = {
    "host": [""],
    "port": ["x", "-1", "65536", "1.5", "٣"],
    "expose": ["maybe", ""],
    "store": [" "],
    "names": ["a b", "http://x", "*"],
    "public_url": ["assent.example", "https://x/y", "ftp://x"],
    "socket": ["2"],
    "expiry": ["soon", "0", "9999d", "1w", "-1"],
    "wait": ["x"],
    "rate": ["-1", "1e9"],
    "body": ["1", "1g", "999m"],
    "hook_body": ["x"],
    "pending": ["0"],
    "pending_size": ["65m"],
    "queue": ["0"],
    "heartbeat": [""],
    "grace": ["x"],
    "lease": ["x", "0.5"],
    "strategies": ["here", "/srv/a,b"],
    "agent_prompt": ["agent"],
    "notify_desktop": ["perhaps"],
    "notify_url": ["example.com", "ftp://example.com/x"],
    "notify_as": ["pigeon"],
    "log_format": ["xml"],
    "log_level": ["loud"],
}


@pytest.fixture
def environ(tmp_path):
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def write_user_file(tmp_path):
    def write(text):
        file = tmp_path / "config" / "assent" / "assent.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return write


def load(environ, flags=None, managed="/nonexistent/assent.yaml", **kwargs):
    return load_settings(flags, environ=environ, managed_file=managed, **kwargs)


def test_there_is_a_sample_a_fault_and_a_field_for_every_setting():
    assert set(SAMPLES) == set(WRONG) == set(BY_NAME) == set(ServerSettings.__struct_fields__)


def test_nothing_said_gives_the_defaults(environ):
    assert load(environ) == ServerSettings()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_setting_is_read_alike_from_file_environment_and_flag(environ, write_user_file, name):
    text, value = SAMPLES[name]
    assert getattr(load(environ, {name: text}), name) == value
    assert getattr(load({**environ, BY_NAME[name].variable: text}), name) == value
    write_user_file(f"server:\n  {name}: '{text}'\n")
    assert getattr(load(environ), name) == value


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in WRONG.items() for text in texts])
def test_a_wrong_value_is_an_error_wherever_it_stands(environ, write_user_file, name, text):
    with pytest.raises(AssentError, match=BY_NAME[name].flag):
        load(environ, {name: text})
    with pytest.raises(AssentError, match=BY_NAME[name].variable):
        load({**environ, BY_NAME[name].variable: text})
    write_user_file(f"server:\n  {name}: '{text}'\n")
    with pytest.raises(ConfigError) as caught:
        load(environ)
    assert caught.value.line == 2


def test_a_flag_goes_before_the_environment_then_the_organisation_then_the_user(environ, write_user_file, tmp_path):
    managed = tmp_path / "etc" / "assent.yaml"
    managed.parent.mkdir(mode=0o755)
    write_user_file("server: {port: 1, rate: 1, queue: 1, wait: 1}")
    managed.write_text("server: {port: 2, rate: 2, queue: 2}")
    managed.chmod(0o644)
    given = {**environ, "ASSENT_PORT": "3", "ASSENT_RATE": "3"}
    found = load(given, {"port": "4"}, managed=str(managed), managed_owner=managed.stat().st_uid)
    assert (found.port, found.rate, found.queue, found.wait) == (4, 3, 2, 1)


def test_a_list_may_be_written_as_one(environ, write_user_file):
    write_user_file("server:\n  names: [a.example:1, b.example]\n")
    assert load(environ).names == ("a.example:1", "b.example")


@pytest.mark.parametrize("text", ["server: []", "server: {prot: 1}", "server: {port: }", "server: {port: {x: 1}}"])
def test_a_block_that_is_none_is_an_error(environ, write_user_file, text):
    write_user_file(text)
    with pytest.raises(ConfigError):
        load(environ)


def test_a_project_can_not_configure_the_daemon(tmp_path):
    from assent.config.assent_yaml import parse_assentfile
    from assent.model import Layer

    with pytest.raises(ConfigError, match="a project cannot configure the daemon"):
        parse_assentfile(b"server: {port: 1}", "/code/assent.yaml", layer=Layer.PROJECT)


def test_every_setting_has_its_own_flag_and_variable():
    assert len({s.flag for s in SETTINGS}) == len({s.variable for s in SETTINGS}) == len(SETTINGS)
