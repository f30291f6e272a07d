"""Variables: few may be handed to any program, and some may not even be assigned."""

from __future__ import annotations

import pytest

from assent.catalog import (
    assignment_is_inert,
    environment_is_harmless,
    environment_variables,
    inherited_environment,
    is_unheard,
    setting_is_harmless,
)
from assent.catalog.environment_variables import diverts, emptied_names, turning_names, turns_programs
from assent.model import UNKNOWN


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LANG", "en_US.UTF-8"),
        ("LANGUAGE", "de_DE:de"),
        ("LC_ALL", "C"),
        ("TZ", "Europe/Berlin"),
        ("TZ", ":UTC"),
        ("TZ", "UTC+3"),
        ("TZ", "EST5EDT,M3.2.0,M11.1.0/2"),
        ("TZ", "<+03>-3"),
        ("TZ", ""),
        ("TERM", "xterm-256color"),
        ("CI", UNKNOWN),
        ("NODE_ENV", "test"),
        ("GIT_PAGER", "cat"),
        ("PAGER", ""),
    ],
)
def test_harmless_variables_may_be_handed_to_a_program(name: str, value: str) -> None:
    assert environment_is_harmless(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LD_PRELOAD", "x.so"),
        ("PATH", "."),
        ("LANGUAGE", "../../x"),
        ("LC_ALL", "/x"),
        ("LC_ALL", UNKNOWN),
        ("LC_X", "C"),
        ("TZ", "/home/x"),
        ("TZ", ":/home/x"),
        ("TZ", "Europe/../../x"),
        ("TERM", "../x"),
        ("DEBIAN_FRONTEND", "x;1"),
        ("GIT_PAGER", "touch x"),
        ("GIT_PAGER", UNKNOWN),
        ("PAGER", "cat; id"),
        ("FOO", "1"),
        ("XLANG", "C"),
        ("LANGX", "C"),
        ("NODE_OPTIONS", "--require x"),
        ("BASH_ENV", "x"),
        ("PYTHONPATH", "."),
        ("EDITOR", "vim"),
        ("HTTP_PROXY", "http://x"),
        ("", ""),
    ],
)
def test_every_other_variable_is_not(name: str, value: str) -> None:
    assert not environment_is_harmless(name, value)


@pytest.mark.parametrize("name", ["x", "f", "FILES", "VERSION", "i", "name", "TARGET"])
def test_plain_assignments_change_nothing_but_the_line(name: str) -> None:
    assert assignment_is_inert(name)


@pytest.mark.parametrize(
    "name",
    ["PATH", "IFS", "LD_PRELOAD", "GIT_DIR", "BASH_ENV", "PYTHONPATH", "EDITOR", "http_proxy", "PS4", "ENV", "HOME"],
)
def test_assignments_that_the_shell_or_programs_act_on_do_more(name: str) -> None:
    assert not assignment_is_inert(name)


def test_git_settings_are_harmless_only_by_list() -> None:
    assert setting_is_harmless("color.ui")
    assert setting_is_harmless("Core.QuotePath")
    assert not setting_is_harmless("core.fsmonitor")
    assert not setting_is_harmless("alias.x")
    assert not setting_is_harmless("xcolor.ui")


@pytest.mark.parametrize("name", ["FOO", "X", "x", "VERSION", "MY_VAR", "branch"])
def test_a_name_that_nobody_knows_is_nothing_to_a_program_that_listens_to_none(name: str) -> None:
    assert is_unheard(name, "ls")
    assert not is_unheard(name, "git")


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD",
        "PATH",
        "GLIBC_TUNABLES",
        "MallocLogFile",
        "LLVM_PROFILE_FILE",
        "LDAPCONF",
        "GMON_OUT_PREFIX",
        "_X",
        "",
    ],
)
def test_a_name_that_a_library_may_know_is_not(name: str) -> None:
    assert not is_unheard(name, "ls")


def test_a_line_that_gives_a_program_what_turns_programs_means_something_by_it() -> None:
    names = {
        name.replace("*", "X")
        for name in (*environment_variables.tables().turning, *environment_variables.tables().perilous)
    }
    assert not [
        (name, each) for name in names for each in environment_variables.tables().deaf if is_unheard(name, each)
    ]


#: each with a program that looks at it, and one that does not
OBEYED = [
    ("CDPATH", "cd", "ls"),
    ("FZF_DEFAULT_OPTS", "fzf", "git"),
    ("RIPGREP_CONFIG_PATH", "rg", "grep"),
    ("PYTHONPATH", "git", "cat"),
    ("PYTHONPATH", "python3", "cd"),
    ("GIT_DIR", "git", "find"),
    ("KUBECONFIG", "kubectl", "git"),
    ("npm_config_prefix", "npm", "gh"),
    ("MY_VAR", "git", "ls"),
]


@pytest.mark.parametrize(("name", "by", "never"), OBEYED)
def test_a_variable_of_the_environment_counts_for_the_programs_that_look_at_it(name, by, never):
    assert (inherited_environment.is_obeyed(name, by), inherited_environment.is_obeyed(name, never)) == (True, False)


@pytest.mark.parametrize("program", ["ls", "git", "cd", "rg", "python3"])
def test_what_every_program_looks_at_counts_for_all(program):
    assert all(
        inherited_environment.is_obeyed(name, program) for name in ("LD_PRELOAD", "HOME", "http_proxy", "TERMINFO")
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BASH_ENV", "x"),
        ("BASH_FUNC_exec%%", "() { :; }"),
        ("LD_PRELOAD", "./x.so"),
        ("LD_AUDIT", "x"),
        ("PYTHONEXECUTABLE", "bin/python"),
        ("GCONV_PATH", "."),
        ("NODE_OPTIONS", "--require ./x"),
        ("GIT_EXTERNAL_DIFF", "./x"),
        ("PATH", "./bin"),
        ("ASSENT_URL", "http://x"),
        ("PAGER", "./x"),
    ],
)
def test_some_variables_turn_whatever_is_started(name: str, value: str) -> None:
    assert turns_programs(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("NODE_ENV", "test"), ("DATABASE_URL", "x"), ("PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0"), ("PGHOST", "db")],
)
def test_what_a_project_may_well_set_turns_nothing(name: str, value: str) -> None:
    assert not turns_programs(name, value)


def test_what_can_be_set_to_nothing_turns_programs_and_has_a_name_of_its_own() -> None:
    assert set(emptied_names()) < set(turning_names())
    assert not [name for name in turning_names() if "*" in name]


def test_what_turns_programs_is_judged_in_the_environment_too():
    """But for what only tells an agent where its own settings are."""
    agents = {"GEMINI_CLI_TRUST_WORKSPACE", "OPENCODE_CONFIG*", "OPENCODE_PERMISSION"}
    names = {name.replace("*", "X") for name in environment_variables.tables().turning if name not in agents}
    assert {name for name in names if not inherited_environment.is_judged(name)} == set()


def test_what_sends_an_agents_own_requests_elsewhere_is_known() -> None:
    assert diverts("ANTHROPIC_BASE_URL")
    assert not diverts("PATH")
