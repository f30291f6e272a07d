"""`assent.yaml` becomes one policy, or one error that names file, line and field."""

import pytest

from assent.config.assent_yaml import MODES, Settings, load_policy, parse_assentfile
from assent.model import MODE_ALIASES, ConfigError, Layer, Mode, Origin, PathPolicy, Policy, Rule, Verdict
from work import steps

EVERYTHING = """\
permissions:
  mode: on_request
  allow:
    - Bash(git:*)
    - rule: "Bash(rm -r build)"
      destructive: true
      expires: 2030-01-02
    - mcp__github__*
  ask:
    - rule: Write
      every_time: true
      except: [./src/**]
      match: /srv/x
      not_match: [src/a.py, ./src/b/c.py]
  deny:
    - rule: Bash(curl:*)
      reason: use the fetch tool
      except: curl localhost
      expires: 2030-01-02T03:04:05+01:00
  classifier: off
  read: {allow: [~/notes/**], deny: [/etc/shadow], default: ask}
  write:
    default: deny
  forbidden: ["**/*.pem"]
  deny_commands: ["shutdown:*"]
  approve_commands: ["make:*"]
  profile: off
  interactive: no
  unknown_repository: ask
workspace:
  - /srv/data/
  - ~/other/../shared
"""


def parse(text, layer=Layer.USER, **options):
    return parse_assentfile(text.encode(), "a.yaml", layer=layer, home="/home/u", **options)


def fault(text, layer=Layer.USER):
    with pytest.raises(ConfigError) as caught:
        parse(text, layer)
    assert caught.value.file == "a.yaml"
    return caught.value


def test_every_key_arrives_in_the_policy():
    found = parse(EVERYTHING)
    assert found.policy == Policy(
        mode=Mode.DEFAULT,
        allow=(
            Rule(tool="Bash", pattern="git:*", origin=Origin(Layer.USER, "a.yaml", 4)),
            Rule(
                tool="Bash",
                pattern="rm -r build",
                destructive=True,
                expires=1893542400.0,
                origin=Origin(Layer.USER, "a.yaml", 5),
            ),
            Rule(tool="mcp__github__*", origin=Origin(Layer.USER, "a.yaml", 8)),
        ),
        ask=(
            Rule(
                tool="Write",
                every_time=True,
                exceptions=("./src/**",),
                match=("/srv/x",),
                not_match=("src/a.py", "./src/b/c.py"),
                origin=Origin(Layer.USER, "a.yaml", 10),
            ),
        ),
        deny=(
            Rule(
                tool="Bash",
                pattern="curl:*",
                reason="use the fetch tool",
                exceptions=("curl localhost",),
                expires=1893549845.0,
                origin=Origin(Layer.USER, "a.yaml", 16),
            ),
        ),
        classifier=False,
        read=PathPolicy(("~/notes/**",), ("/etc/shadow",), Verdict.ASK),
        write=PathPolicy(default=Verdict.DENY),
        forbidden=("**/*.pem",),
        deny_commands=("shutdown:*",),
        approve_commands=("make:*",),
        profile="off",
        interactive=False,
        unknown_repository=Verdict.ASK,
        layer=Layer.USER,
        file="a.yaml",
    )
    assert found.settings == Settings(("/srv/data", "/home/u/shared"))


@pytest.mark.parametrize("text", ["# nothing yet\n", "permissions: {}", "{}", "permissions: {allow: []}"])
@pytest.mark.parametrize("layer", list(Layer))
def test_a_file_that_says_nothing_is_a_policy_that_says_nothing(text, layer):
    found = parse(text, layer, trusted=False)
    assert found.policy == Policy(layer=layer, file="a.yaml", trusted=False)
    assert found.settings == Settings()


@pytest.mark.parametrize("text", ["", " \n\n\t "])
def test_an_emptied_file_is_an_error(text):
    assert fault(text).message == "the file is empty"


@pytest.mark.parametrize(("name", "mode"), list(MODES.items()))
def test_a_mode_may_be_said_by_any_of_its_names(name, mode):
    assert parse(f"permissions: {{mode: {name}}}").policy.mode is mode


def test_all_modes_and_other_names_are_known():
    assert set(MODES) == {m.value for m in Mode} | set(MODE_ALIASES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", True),
        ("off", False),
        ("'on'", True),
        ('"off"', False),
        ("true", True),
        ("FALSE", False),
        ("Yes", True),
    ],
)
def test_the_classifier_is_switched_by_word_or_boolean(text, value):
    assert parse(f"permissions: {{classifier: {text}}}").policy.classifier is value


ALL_MODES = (
    "default, untrusted, acceptEdits, auto, on_failure, plan, strict, dontAsk, bypassPermissions, "
    "on_request, never, bypass"
)
LONG = "x" * 100_000
FIRST_DENY = "permissions.deny: Permission rule at index 0 is invalid:"


@pytest.mark.parametrize(
    ("text", "line", "message", "suggestion"),
    [
        # shapes
        ("- a", 1, "Expected the file to be an object.", ""),
        ("just text", 1, "Expected the file to be an object.", ""),
        ("permissions:", 1, "Expected permissions to be an object.", ""),
        ("permissions: [a]", 1, "Expected permissions to be an object.", ""),
        ("permissions:\n  ask: Bash", 2, "Expected permissions.ask to be an array.", ""),
        (
            "permissions:\n  ask:\n  deny: []",
            2,
            "Expected permissions.ask to be an array.",
            "leave the key out to say nothing",
        ),
        (
            "permissions:\n  ask:\n    - 1",
            3,
            "Expected permissions.ask.0 to be a string or an object.",
            "put it in quotes",
        ),
        (
            "permissions:\n  ask:\n    - a\n    - [b]",
            4,
            "Expected permissions.ask.1 to be a string or an object.",
            "",
        ),
        ("permissions:\n  ask:\n    -", 3, "Expected permissions.ask.0 to be a string or an object.", ""),
        ("permissions:\n  read: []", 2, "Expected permissions.read to be an object.", ""),
        ("permissions:\n  read: {allow: x}", 2, "Expected permissions.read.allow to be an array.", ""),
        (
            "permissions:\n  read: {allow: [1]}",
            2,
            "Expected permissions.read.allow.0 to be a string.",
            "put it in quotes",
        ),
        (
            "permissions:\n  forbidden: ['Read(a/**)']",
            2,
            'Invalid permissions.forbidden.0 "Read(a/**)": it holds another rule, `Read(a/**)`; write `a/**` alone',
            "",
        ),
        ("permissions:\n  forbidden: ['']", 2, "Expected permissions.forbidden.0 not to be empty.", ""),
        (
            f"permissions:\n  forbidden: [{LONG}]",
            2,
            "Expected permissions.forbidden.0 to have at most 4096 characters.",
            "",
        ),
        (
            "permissions:\n  interactive: maybe",
            2,
            "Expected permissions.interactive to be true or false.",
            "",
        ),
        (
            "permissions:\n  interactive: [true]",
            2,
            "Expected permissions.interactive to be true or false.",
            "",
        ),
        ("permissions:\n  classifier: 1", 2, "Expected permissions.classifier to be true or false.", ""),
        ("permissions:\n  mode: [plan]", 2, "Expected permissions.mode to be a string.", ""),
        # names
        ("permisions: {}", 1, "Unknown configuration field 'permisions'.", "did you mean 'permissions'?"),
        (
            "permissions:\n  alow: []",
            2,
            "Unknown configuration field 'permissions.alow'.",
            "did you mean 'allow'?",
        ),
        (
            "permissions:\n  read: {alow: []}",
            2,
            "Unknown configuration field 'permissions.read.alow'.",
            "did you mean 'allow'?",
        ),
        ("permissions: {zzz: 1}", 1, "Unknown configuration field 'permissions.zzz'.", ""),
        (f"{LONG[:500]}: 1", 1, f"Unknown configuration field '{'x' * 77}…'.", ""),
        (
            "permissions:\n  ask:\n  - rule: Bash\n    reasn: x",
            4,
            "Unknown configuration field 'permissions.ask.0.reasn'.",
            "did you mean 'reason'?",
        ),
        ("a: 1\na: 2", 2, "Duplicate key 'a'.", "it is first on line 1"),
        # words
        (
            "permissions:\n  mode: yolo",
            2,
            f'Invalid permissions.mode "yolo". Must be one of: {ALL_MODES}.',
            "",
        ),
        (
            "permissions:\n  mode: accept_edits",
            2,
            f'Invalid permissions.mode "accept_edits". Must be one of: {ALL_MODES}.',
            "did you mean 'acceptEdits'?",
        ),
        ("permissions:\n  mode:", 2, f'Invalid permissions.mode "". Must be one of: {ALL_MODES}.', ""),
        (
            f"permissions:\n  mode: {LONG}",
            2,
            f'Invalid permissions.mode "{"x" * 77}…". Must be one of: {ALL_MODES}.',
            "",
        ),
        (
            "permissions:\n  classifier: sometimes",
            2,
            'Invalid permissions.classifier "sometimes". Must be one of: on, off.',
            "",
        ),
        (
            "permissions:\n  profile: none",
            2,
            'Invalid permissions.profile "none". Must be one of: read-only, workspace-write, agent, off.',
            "",
        ),
        (
            "permissions:\n  unknown_repository: denyy",
            2,
            'Invalid permissions.unknown_repository "denyy". Must be one of: allow, ask, deny.',
            "did you mean 'deny'?",
        ),
        (
            "permissions:\n  write: {default: no}",
            2,
            'Invalid permissions.write.default "no". Must be one of: allow, ask, deny.',
            "",
        ),
        # rules
        (
            "permissions:\n  deny:\n    - ok\n    - ''",
            4,
            "permissions.deny: Permission rule at index 1 is invalid: Invalid permission rule: empty string",
            "",
        ),
        (
            "permissions:\n  deny:\n    - Bash(rm",
            3,
            f'{FIRST_DENY} Invalid permission rule "Bash(rm": missing closing parenthesis',
            "a rule with ` #` or `: ` in it needs quotes",
        ),
        (
            "permissions:\n  deny:\n    - Bash(echo #x)",
            3,
            f'{FIRST_DENY} Invalid permission rule "Bash(echo": missing closing parenthesis',
            "a rule with ` #` or `: ` in it needs quotes",
        ),
        (
            "permissions:\n  deny:\n    - Bash(git commit: x)",
            3,
            "Expected permissions.deny.0 to be a string or an object.",
            "a rule with `: ` in it needs quotes",
        ),
        ("permissions:\n  deny:\n    - reason: x", 3, "Expected permissions.deny.0.rule to be a string.", ""),
        (
            "permissions:\n  deny:\n    - reason: x\n      rule: 5",
            4,
            "Expected permissions.deny.0.rule to be a string.",
            "put it in quotes",
        ),
        (
            "permissions:\n  deny:\n    - rule: Bash\n      match: {}",
            4,
            "Expected permissions.deny.0.match to be a string or an array of strings.",
            "",
        ),
        (
            "permissions:\n  ask:\n    - rule: Bash\n      every_time: sure",
            4,
            "Expected permissions.ask.0.every_time to be true or false.",
            "",
        ),
        (
            "permissions:\n  allow:\n    - rule: Bash\n      except: rm",
            4,
            "permissions.allow.0.except has no effect in a rule of the allow list",
            "",
        ),
        (
            "permissions:\n  allow:\n    - rule: Bash\n      every_time: true",
            4,
            "permissions.allow.0.every_time has no effect in a rule of the allow list",
            "",
        ),
        (
            "permissions:\n  ask:\n    - rule: Bash\n      destructive: true",
            4,
            "permissions.ask.0.destructive has no effect in a rule of the ask list",
            "",
        ),
        (
            "permissions:\n  deny:\n    - rule: Bash\n      every_time: true",
            4,
            "permissions.deny.0.every_time has no effect in a rule of the deny list",
            "",
        ),
        (
            "permissions:\n  deny:\n    - WebFetch(domain:a/b)",
            3,
            'permissions.deny: Permission rule at index 0 is invalid: "a/b" is not a domain',
            "",
        ),
        (
            "permissions:\n  deny:\n    - Bash(git commit: *)",
            3,
            "Invalid YAML: did not find expected alphabetic or numeric character.",
            "a value with special characters needs quotes",
        ),
        # the workspace
        ("workspace: /srv", 1, "Expected workspace to be an array.", ""),
        (
            "workspace:\n  - srv",
            2,
            "Expected workspace.0 to be an absolute path.",
            "begin it with `/` or `~/`",
        ),
        (
            "workspace:\n  - ~other/x",
            2,
            "Expected workspace.0 to be an absolute path.",
            "begin it with `/` or `~/`",
        ),
        ("workspace:\n  - /", 2, "workspace.0 cannot be a workspace: '/': it contains everything else too.", ""),
        ("workspace:\n  - //", 2, "workspace.0 cannot be a workspace: '/': it contains everything else too.", ""),
        (
            "workspace:\n  - /srv/..",
            2,
            "workspace.0 cannot be a workspace: '/': it contains everything else too.",
            "",
        ),
        (
            "workspace:\n  - '~'",
            2,
            "workspace.0 cannot be a workspace: '/home/u': it contains everything else too.",
            "",
        ),
        (
            "workspace:\n  - ~/x/..",
            2,
            "workspace.0 cannot be a workspace: '/home/u': it contains everything else too.",
            "",
        ),
    ],
)
def test_a_fault_is_named_with_its_line_and_what_was_meant(text, line, message, suggestion):
    error = fault(text)
    assert (error.message, error.line, error.suggestion) == (message, line, suggestion)


@pytest.mark.parametrize("effect", ["allow", "ask", "deny"])
def test_a_pattern_of_any_length_is_an_error_that_can_be_read(effect):
    error = fault(f"permissions:\n  {effect}:\n    - Bash({LONG})")
    assert "longer than 4096 characters" in error.message
    assert len(str(error)) < 400


@pytest.mark.parametrize(
    ("key", "example", "says"),
    [
        ("match", "/srv/x", "the example `/srv/x` does not match"),
        ("not_match", "/etc/x", "the example `/etc/x` matches"),
    ],
)
def test_a_rule_that_contradicts_its_own_examples_is_an_error(key, example, says):
    rule = f"{{rule: Write(/etc/**), {key}: [{example}]}}"
    error = fault(f"permissions:\n  deny:\n    - Bash\n    - {rule}")
    assert error.message.startswith(f"permissions.deny: Permission rule at index 1 is invalid: {says}")
    assert error.line == 4


def test_more_examples_than_anyone_writes_are_refused():
    examples = ", ".join(f"/etc/{i}" for i in range(1001))
    error = fault(f"permissions:\n  deny:\n    - {{rule: Write(/etc/**), match: [{examples}]}}")
    assert error.message == "Expected permissions.deny to have at most 1000 examples."


@pytest.mark.parametrize("key", ["forbidden", "deny_commands", "approve_commands"])
def test_a_pattern_that_can_never_match_is_an_error(key, monkeypatch):
    from assent.config import assent_yaml
    from assent.model import RuleError

    def refuse(text):
        raise RuleError("pattern cannot be used: no")

    monkeypatch.setattr(assent_yaml, "compile_glob", refuse)
    monkeypatch.setattr(assent_yaml, "compile_command", refuse)
    error = fault(f"permissions:\n  {key}: [abc]")
    assert (error.message, error.line) == (
        f'Invalid permissions.{key}.0 "abc": pattern cannot be used: no',
        2,
    )


@pytest.mark.parametrize(
    "text",
    [
        "tomorrow",
        "2030-13-01",
        "2030-02-30",
        "2030-01-02T03:04:05",
        "2030-01-02 03:04:05",
        "20300102",
        "2030-W01-1",
        "2030-01-02T25:00:00Z",
        "2030-01-02T03:04Z",
        "1893542400",
        "''",
        "~",
        "[2030-01-02]",
        "'2030-01-02\n'",
        "\uff12030-01-02",
        "0000-01-01",
    ],
)
def test_a_moment_that_is_not_surely_one_is_an_error(text):
    error = fault(f"permissions:\n  deny:\n    - rule: Bash\n      expires: {text}")
    assert error.message.startswith('Invalid permissions.deny.0.expires "')
    assert error.line == 4


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-02", 86400.0),
        ("'1970-01-02'", 86400.0),
        ("1970-01-01T00:00:01Z", 1.0),
        ("1970-01-01t00:00:01.5z", 1.5),
        ("1970-01-01 02:00:00+02:00", 0.0),
        ("1969-12-31T23:00:00-01:00", 0.0),
        ("9999-12-31T23:59:59Z", 253402300799.0),
    ],
)
def test_a_moment_is_kept_in_seconds_of_utc(text, seconds):
    policy = parse(f"permissions:\n  deny:\n    - rule: Bash\n      expires: {text}").policy
    assert policy.deny[0].expires == seconds


@pytest.mark.parametrize(
    "tool", ["*", "mcp__*", "mcp__git*", "mcp__*__read", "B*", "mcp____*", "Ba?h", "[B]ash", "mcp_a__*"]
)
def test_an_allow_for_tools_nobody_named_is_refused(tool):
    error = fault(f"permissions:\n  allow: ['{tool}']")
    assert "would allow tools that are not named" in error.message
    assert error.suggestion == "name the tool, or all of one server: mcp__server__*"


@pytest.mark.parametrize("tool", ["mcp__git__*", "mcp__my_git__read_*", "mcp__git__get_?", "Bash", "mcp__git__read"])
def test_an_allow_may_name_a_tool_or_one_servers_tools(tool):
    assert parse(f"permissions:\n  allow: ['{tool}']").policy.allow[0].tool == tool


@pytest.mark.parametrize("effect", ["ask", "deny"])
def test_an_ask_or_deny_may_name_all_tools(effect):
    assert len(getattr(parse(f"permissions:\n  {effect}: ['*']").policy, effect)) == 1


@pytest.mark.parametrize("layer", [Layer.PROJECT, Layer.RUN])
def test_only_the_organisation_and_the_user_extend_the_workspace(layer):
    assert fault("workspace: [/srv/app]", layer).message == "a project cannot define the workspace"
    assert parse("workspace: [/srv/app]", Layer.MANAGED).settings.workspace == ("/srv/app",)


def test_a_tilde_needs_a_home():
    with pytest.raises(ConfigError, match="to be an absolute path"):
        parse_assentfile(b"workspace: [~/x]", "f", layer=Layer.USER)


def test_the_work_for_rules_grows_as_their_number():
    def text(number: int) -> str:
        return "permissions:\n  deny:\n" + "".join(f"    - Bash(command{i}:*)\n" for i in range(number))

    few, many = (steps(lambda number=number: parse(text(number))) for number in (100, 10_000))
    assert many < 110 * few
    policy = parse(text(50_000)).policy
    assert len(policy.deny) == 50_000
    assert policy.deny[-1].origin.line == 50_002


def test_one_bad_rule_among_many_is_found():
    rules = "".join(f"    - Bash(command{i}:*)\n" for i in range(1000))
    assert fault(f"permissions:\n  deny:\n{rules}    - Bash(\n").line == 1003


def test_a_policy_is_loaded_from_disk(tmp_path):
    path = tmp_path / "assent.yaml"
    path.write_text("permissions: {mode: plan}\n")
    policy = load_policy(path, layer=Layer.MANAGED)
    assert policy == Policy(mode=Mode.PLAN, layer=Layer.MANAGED, file=str(path))
    assert load_policy(str(path), layer=Layer.PROJECT, trusted=False).trusted is False


def test_a_policy_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="file not found"):
        load_policy(tmp_path / "none", layer=Layer.USER)
