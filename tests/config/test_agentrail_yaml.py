"""`agentrail.yaml` is found where it is looked for, and its messages are those of its format."""

import re

import pytest

from assent.config.agentrail_yaml import (
    AgentrailConfig,
    PermissionsConfig,
    config_permissions_to_policy,
    load_agentrail_config,
)
from assent.model import ConfigError, Mode, Policy, Rule, RuleError


def write(path, text="permissions: {}\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def load(tmp_path, text):
    return load_agentrail_config(write(tmp_path / "a.yaml", text), environ={})


def test_the_block_is_kept_as_written(tmp_path):
    text = 'permissions:\n  mode: dontAsk\n  ask:\n    - "Bash"\n    - "Write"\n  deny:\n    - "Bash(rm:*)"\n'
    assert load(tmp_path, text).permissions == PermissionsConfig(
        mode="dontAsk", ask=("Bash", "Write"), deny=("Bash(rm:*)",)
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}"])
def test_no_block_is_no_policy(tmp_path, text):
    assert load(tmp_path, text).permissions is None


def test_what_is_missing_has_its_default(tmp_path):
    assert load(tmp_path, "permissions: {}").permissions == PermissionsConfig()
    assert PermissionsConfig() == PermissionsConfig(mode="default", allow=(), ask=(), deny=())


MODES = "default, acceptEdits, bypassPermissions, dontAsk, strict"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("permissions:\n  mode: plan", 2, f'Invalid permissions.mode "plan". Must be one of: {MODES}.'),
        ("permissions:\n  mode: bypass", 2, f'Invalid permissions.mode "bypass". Must be one of: {MODES}.'),
        ("permissions:\n  ask: Bash", 2, "Expected permissions.ask to be an array."),
        ("permissions:\n  deny: {a: b}", 2, "Expected permissions.deny to be an array."),
        ("permissions:\n  ask: [1]", 2, "Expected permissions.ask.0 to be a string."),
        ("permissions:\n  allow:\n  - a\n  - rule: b", 4, "Expected permissions.allow.1 to be a string."),
        ("permissions:\n  classifier: off", 2, "Unknown configuration field 'permissions.classifier'."),
        ("version: 1\npermisions: {}", 2, "Unknown configuration field 'permisions'."),
        ("Permissions: {}", 1, "Unknown configuration field 'Permissions'."),
        ("permissions: []", 1, "Expected permissions to be an object."),
        ("[]", 1, "Expected the file to be an object."),
        ("permissions:\n  mode: strict\n  mode: default", 3, "Duplicate key 'mode'."),
    ],
)
def test_a_fault_has_the_message_of_the_format(tmp_path, text, line, message):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert (caught.value.message, caught.value.line) == (message, line)


def test_a_whole_file_of_the_format_is_read_and_what_it_does_not_have_is_named(tmp_path):
    text = (
        "version: 1\nllm: {provider: anthropic, modelId: m, baseUrl: ''}\nsearch: {provider: tavily}\n"
        "paths: {dataDir: ~/.agentrail}\nauth: {uiSecretToken: ''}\nsandbox: {idleTimeoutMs: 1000}\n"
        "orchestration: {subagent: {pollIntervalMs: 500}}\napps: {playgroundServer: {port: 3000}}\n"
        "permissions: {mode: strict}\nmodel: x\nextras: [1]\n"
    )
    loaded = load(tmp_path, text)
    assert loaded.permissions == PermissionsConfig(mode="strict")
    assert loaded.ignored == ("model", "extras")


def test_an_argument_comes_first(tmp_path):
    wanted = write(tmp_path / "x.yaml")
    environ = {"AGENTRAIL_CONFIG_PATH": write(tmp_path / "y.yaml")}
    assert load_agentrail_config(wanted, start=tmp_path, environ=environ).file == wanted


def test_the_environment_comes_second(tmp_path):
    write(tmp_path / "agentrail.yaml")
    wanted = write(tmp_path / "y.yaml")
    assert load_agentrail_config(start=tmp_path, environ={"AGENTRAIL_CONFIG_PATH": wanted}).file == wanted


def test_a_file_named_and_missing_is_not_replaced_by_another(tmp_path):
    write(tmp_path / "agentrail.yaml")
    with pytest.raises(ConfigError, match="file not found"):
        load_agentrail_config(start=tmp_path, environ={"AGENTRAIL_CONFIG_PATH": str(tmp_path / "none")})


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["agentrail.yaml"], "agentrail.yaml"),
        (["config/agentrail.yaml", "agentrail.yaml"], "config/agentrail.yaml"),
        (["config/agentrail.yaml", "a/agentrail.yaml"], "a/agentrail.yaml"),
        (["a/b/config/agentrail.yaml", "a/agentrail.yaml"], "a/b/config/agentrail.yaml"),
    ],
)
def test_the_nearest_file_upward_is_found(tmp_path, monkeypatch, files, found):
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in files:
        write(tmp_path / name)
    environ = {"AGENTRAIL_CONFIG_PATH": ""}
    assert load_agentrail_config(start=tmp_path / "a" / "b", environ=environ).file == str(tmp_path / found)
    monkeypatch.chdir(tmp_path / "a" / "b")
    assert load_agentrail_config(environ=environ).file == str(tmp_path / found)


def test_no_file_anywhere_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=f"There is no agentrail.yaml in '{tmp_path}' or above"):
        load_agentrail_config(start=tmp_path, environ={})


def test_a_link_to_nothing_is_an_error_and_not_passed_over(tmp_path):
    (tmp_path / "agentrail.yaml").write_text("permissions: {}")
    inner = tmp_path / "a"
    inner.mkdir()
    (inner / "agentrail.yaml").symlink_to("nowhere")
    with pytest.raises(ConfigError, match="dangling symbolic link"):
        load_agentrail_config(start=inner, environ={})


def test_a_block_becomes_an_embedded_policy():
    block = PermissionsConfig(mode="strict", allow=("Read",), ask=("Write",), deny=("Bash(rm:*)",))
    assert config_permissions_to_policy(block) == Policy(
        mode=Mode.STRICT,
        allow=(Rule(tool="Read"),),
        ask=(Rule(tool="Write"),),
        deny=(Rule(tool="Bash", pattern="rm:*"),),
        embedded=True,
    )


def test_a_rule_that_can_not_be_read_is_named_by_its_place():
    with pytest.raises(RuleError) as caught:
        config_permissions_to_policy(PermissionsConfig(deny=("Bash", "")))
    assert str(caught.value) == "Permission rule at index 1 is invalid: Invalid permission rule: empty string"


def test_a_block_made_by_hand_is_checked_too():
    with pytest.raises(ConfigError, match=re.escape('Invalid permissions.mode "yolo"')):
        config_permissions_to_policy(PermissionsConfig(mode="yolo"))


def test_no_file_is_an_empty_config():
    assert AgentrailConfig() == AgentrailConfig(permissions=None, file="")
