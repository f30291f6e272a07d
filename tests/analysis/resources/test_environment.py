"""The environment of a call: what leads into the project counts as an inline `VAR=… command`, the rest is quiet."""

from __future__ import annotations

import pytest

from assent.analysis.read import read
from assent.analysis.resources.environment import select
from assent.analysis.resources.paths import place_of
from assent.catalog import environment_variables as variables
from assent.catalog import inherited_environment as tables
from assent.model import Environment, Facts, Mode, Policy, Session, Tier, ToolCall, bound_digest
from assent.policy.engine import Engine
from scenes import policy

HOME = "/home/u"
LINKS = {"/home/u/led": "/ws/x", "/opt/home": HOME}


def world(**more):
    known = {"home": HOME, "resolve": lambda path: LINKS.get(path, path), "sandbox": True, "now": 1.0}
    return Facts(**{**known, **more})


def session_of(variables, workspace=("/ws",)):
    return Session(user="u", agent="a", id="s", workspace=workspace, environment=select(variables))


def reading_of(line, variables, facts=None, cwd="/ws", workspace=("/ws",)):
    call = ToolCall(tool="Bash", input={"command": line}, cwd=cwd)
    return read(call, place_of(call, session_of(variables, workspace), facts or world()))


def tier(line, **environ):
    return reading_of(line, environ).tier


def example(glob):
    return glob.replace("*", "X")


PERILOUS = sorted({*variables.tables().perilous, *tables.tables().more})
ANY = [name for name in map(example, PERILOUS) if not tables.matters(name, "/ws/evil")]
PROGRAMS = ("git status", "ls", "rg x", "python3 --version", "curl https://a.example/", "cd x", "node --version")


@pytest.mark.parametrize("glob", [g for g in PERILOUS if example(g) not in (*ANY, "PATH", "PS4")])
@pytest.mark.parametrize("value", ["/ws/evil", "./evil"])
def test_what_the_catalog_judges_inline_is_judged_in_the_environment(glob, value):
    name = example(glob)
    for line in PROGRAMS:
        obeyed = tables.is_early(name) or tables.is_obeyed(name, line.split()[0])
        inline = tier(f"{name}={value} {line}") is Tier.DANGEROUS
        assert (tier(line, **{name: value}) is Tier.DANGEROUS) is (inline and obeyed), line


def test_few_names_pass_with_any_value():
    assert all(tables.tables().any.count(glob) == 1 for glob in tables.tables().any)
    assert {"PWD", "TMPDIR"} <= {*ANY}
    assert {"GIT_X", "LD_X", "BASH_X", "HOME", "ENV"}.isdisjoint(ANY)


@pytest.mark.parametrize("name", sorted(variables.tables().harmless))
def test_what_is_harmless_inline_is_harmless_in_the_environment(name):
    assert tier("git status", **{name: "1"}) is Tier.SAFE


QUIET = {
    "HOME": [HOME, "/opt/home"],
    "SHELL": ["/bin/bash", "/usr/bin/zsh", "/usr/bin/fish"],
    "XDG_CONFIG_HOME": ["/home/u/.config", "/etc/xdg", ""],
    "LD_LIBRARY_PATH": ["/usr/local/lib", "/usr/local/cuda/lib64:/opt/lib", ""],
    "LD_PRELOAD": ["libjemalloc.so.2", "/usr/lib/libgtk3-nocsd.so.0", "/usr/lib/a.so:libb.so"],
    "PYTHONPATH": ["/opt/x:/home/u/lib"],
    "PYTHONWARNINGS": ["ignore::DeprecationWarning", "error"],
    "BASH_ENV": ["/home/u/.bash_env"],
    "BASH_FUNC_which%%": [
        '() {  ( alias;\n eval ${which_declare} ) | /usr/bin/which --tty-only --show-dot "$@"\n}',
    ],
    "which_declare": ["declare -f"],
    "SHELLOPTS": ["braceexpand:hashall:interactive-comments", "xtrace"],
    "BASHOPTS": ["checkwinsize:cmdhist"],
    "PS4": ["+ ", "+${BASH_SOURCE}:${LINENO}: "],
    "EDITOR": ["vim", "/usr/bin/nano", "code --wait", "emacsclient -t -a ''", "true", ":"],
    "GIT_EDITOR": ["true", "nvim"],
    "PAGER": ["less -FRX", "delta", "/usr/bin/less"],
    "MANPAGER": ["sh -c 'col -bx | bat -l man -p'", "nvim +Man!"],
    "LESS": ["-R", "-FRX", "R", "-R --use-color -Dd+r -j.5", "--mouse --quit-if-one-screen"],
    "LESSOPEN": ["| /usr/bin/lesspipe %s", "||/usr/bin/lesspipe.sh %s", "|lesspipe %s"],
    "GIT_ASKPASS": ["/home/u/.vscode-server/extensions/git/dist/askpass.sh", "echo"],
    "GIT_SSH_COMMAND": ["ssh -i /home/u/.ssh/id -o IdentitiesOnly=yes", "ssh -i ~/.ssh/id"],
    "GIT_CONFIG_GLOBAL": ["/dev/null", "/home/u/.config/git/other"],
    "GIT_CONFIG_KEY_0": ["safe.directory"],
    "GIT_CONFIG_VALUE_0": ["*"],
    "GIT_CONFIG_COUNT": ["1"],
    "NODE_OPTIONS": [
        "--max-old-space-size=4096",
        "--no-warnings --enable-source-maps",
        '--require "/home/u/.vscode/bootloader.js" ',
    ],
    "JAVA_TOOL_OPTIONS": ["-Xmx2g -Dfile.encoding=UTF-8", "-Dhttps.proxyHost=proxy.example"],
    "MAVEN_OPTS": ["-Xss4m -XX:+UseG1GC"],
    "GOFLAGS": ["-mod=mod -trimpath"],
    "RUSTC_WRAPPER": ["sccache", "/usr/bin/sccache"],
    "CC": ["gcc-12", "ccache gcc", "/usr/bin/clang"],
    "MAKEFLAGS": ["w", " -j4 --jobserver-auth=3,4"],
    "TERM": ["xterm-256color"],
    "LC_ALL": ["en_US.UTF-8"],
    "TZ": ["Europe/Berlin"],
    "HTTPS_PROXY": ["http://proxy.example:8080"],
    "DOCKER_HOST": ["unix:///run/user/1000/docker.sock", "ssh://u@h"],
    "MY_HOST": ["db.example", "10.0.0.1"],
    "FOO_HOME": ["/opt/foo"],
    "FOO_CMD": ["npm start"],
    "GIT_PASSWORD": [None],
    "BASH_SILENCE_DEPRECATION_WARNING": ["1"],
    "PERL_MB_OPT": ['--install_base "/home/u/perl5"'],
    "HISTFILE": ["/home/u/.history"],
    "VIRTUAL_ENV": ["/home/u/.venvs/x"],
    "FOO": ["/ws/evil", "$(x)"],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in QUIET.items() for v in values])
def test_the_users_own_settings_pass(name, value):
    for line in (*PROGRAMS[:5], "node --version", "which x", "npm ls", "cargo metadata"):
        assert tier(line, **{name: value}) is Tier.SAFE, reading_of(line, {name: value}).reason


LOUD = {
    "HOME": ["/home/v", "/ws", "", "rel"],
    "SHELL": ["/ws/bash", "/usr/bin/python3"],
    "XDG_CONFIG_HOME": ["/ws", "/ws/../ws/x", "/home/u/led", "rel", "/tmp/x", "/etc\x01"],
    "LD_LIBRARY_PATH": ["/usr/lib:", ":/usr/lib", ".", "/usr/lib:/ws/lib", "/dev/shm/x"],
    "LD_PRELOAD": ["/ws/a.so", "./a.so", "/usr/lib/a.so /ws/b.so"],
    "BASH_ENV": ["$HOME/x", "~/x", "/tmp/x"],
    "BASH_FUNC_git%%": ["() { :; }", None],
    "BASH_FUNC_git()": ["() { :; }"],
    "BASH_FUNC_cd%%": ["() { :; }"],
    "BASH_FUNC_which%%": None,
    "SHELLOPTS": ["keyword", "braceexpand:posix"],
    "PS4": ["$(x)", "`x`", "${x[$(y)]}"],
    "EDITOR": ["/ws/vim", "sh -c x", "vim;x", "python evil.py", "@vim x", "./vim"],
    "PAGER": ["sh", "less|x", "/ws/less"],
    "LESS": ["+!x", "-kfile", "--lesskey-file=x"],
    "LESSOPEN": ["|/ws/x %s", "|./lesspipe %s", "|sh -c x %s"],
    "GIT_ASKPASS": ["/bin/sh", "./askpass", "/ws/askpass"],
    "GIT_SSH_COMMAND": ["ssh -o ProxyCommand=x", "ssh -F conf", "ssh -i ./id"],
    "GIT_CONFIG_KEY_0": ["core.pager", "diff.external"],
    "GIT_FOO": ["1", None],
    "NODE_OPTIONS": ["--require evil.js", "-r ./x", "--import file:///ws/x.js", "--experimental-loader=x", "-e"],
    "JAVA_TOOL_OPTIONS": ["-javaagent:evil.jar", "-XX:OnOutOfMemoryError=x y"],
    "PYTHONWARNINGS": ["ignore::evil.Class"],
    "PERL5OPT": ["-Mevil"],
    "MY_CMD": ["./run", "a; b", "src/run", "$(x)", "x | y", "/ws/x", ".hidden"],
    "FOO_HOME": ["."],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in LOUD.items() for v in values or ()])
def test_what_leads_elsewhere_does_not(name, value):
    found = reading_of("cd x; git status", {name: value})
    assert found.tier is Tier.DANGEROUS
    assert f"`{name}` in the agent's environment" in found.reason
    assert [o.variable for o in found.operations if o.variable] == [name]  # once for the line
    assert found.environment == select({name: value}).digest


OBEYED = [
    # a bare word is a relative path, also one that consists of digits
    *(("pip list", name, value) for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP") for value in ("1", "lib")),
    *(("bat a", name, "conf") for name in ("BAT_CONFIG_PATH", "BAT_CONFIG_DIR", "BAT_CACHE_PATH")),
    ("php -v", "PHP_INI_SCAN_DIR", "conf"),
    ("fzf -f x", "FZF_DEFAULT_OPTS_FILE", "conf"),
    ("ack x", "ACKRC", "conf"),
    ("apt list", "APT_CONFIG", "conf"),
    ("screen -ls", "SCREENRC", "conf"),
    ("wget -qO- https://a.example/", "SYSTEM_WGETRC", "conf"),
    ("gcloud config list", "CLOUDSDK_CONFIG", "conf"),
    # commands, interpreters and options in words that lead nowhere by their look
    ("fzf -f x", "FZF_DEFAULT_COMMAND", "sh evil"),
    ("fzf -f x", "FZF_DEFAULT_COMMAND", "fd -x sh evil"),
    ("kubectl diff -f x", "KUBECTL_EXTERNAL_DIFF", "sh evil"),
    ("svn log", "SVN_SSH", "sh evil"),
    ("man ls", "MANOPT", "-Cconf"),
    ("git help log", "MANOPT", "-Cconf"),  # starts man
    ("kubecolor diff -f x", "KUBECTL_EXTERNAL_DIFF", "sh evil"),
    ("mvn --version", "MAVEN_ARGS", "-Dmaven.ext.class.path=evil.jar"),
    ("go list", "GOFLAGS", "-toolexec=evil"),
    ("java -version", "JAVA_TOOL_OPTIONS", "-XX:VMOptionsFile=evil"),
    ("pip list", "PIP_PYTHON", "env"),
    ("uv pip list", "UV_PYTHON", "env"),
    ("gcloud config list", "CLOUDSDK_PYTHON_ARGS", "-m evil"),
    ("node --version", "ASDF_NODEJS_VERSION", "path:evil"),
    ("node --version", "MISE_NODE_VERSION", "path:/ws/evil"),
    ("ruby --version", "RBENV_VERSION", "../../ws/evil"),
    ("yarn --version", "COREPACK_INTEGRITY_KEYS", "0"),
    ("dotnet --version", "DOTNET_STARTUP_HOOKS", "evil"),
    # what bash decodes or evaluates in the prompt of a traced line
    *(("ls", "PS4", value) for value in ("${x@P}", "${a[x]}", "\\044(x)", "\\140x\\140")),
]


@pytest.mark.parametrize(("line", "name", "value"), OBEYED)
def test_words_that_a_program_takes_for_a_file_or_a_command_count_for_it(line, name, value):
    assert tier(line) is Tier.SAFE
    assert tier(line, **{name: value}) is Tier.DANGEROUS


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("fzf -f x", "FZF_DEFAULT_COMMAND", "fd --type f --hidden --exclude .git"),
        ("fzf -f x", "FZF_DEFAULT_COMMAND", "rg --files --glob '!*.o'"),
        ("uv pip list", "UV_PYTHON", "3.13t"),
        ("uv pip list", "UV_PYTHON", "cpython-3.12.1-linux-x86_64-gnu"),
        ("python3 --version", "PYTHON_VERSION", "3.12.1"),
        ("java -version", "JAVA_VERSION", "jdk-17.0.1+12"),
        ("node --version", "NODE_VERSION", "lts/hydrogen"),
        ("java -version", "JAVA_TOOL_OPTIONS", "-XX:MaxRAMPercentage=75.0 -XX:MaxMetaspaceSize=256m"),
        ("yarn --version", "COREPACK_ENABLE_DOWNLOAD_PROMPT", "0"),
        ("dotnet --version", "DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
        ("bat a", "BAT_THEME", "Solarized dark"),
    ],
)
def test_usual_values_of_such_variables_pass(line, name, value):
    assert tier(line, **{name: value}) is Tier.SAFE


def test_a_function_counts_where_its_command_is_called_and_the_shells_own_everywhere():
    body = "() { :; }"
    assert tier("ls", **{"BASH_FUNC_git%%": body}) is Tier.SAFE
    assert tier("ls", **{"BASH_FUNC_eval%%": body}) is Tier.DANGEROUS
    assert tier("ls; x=1", **{"BASH_FUNC_command_not_found_handle%%": body}) is Tier.DANGEROUS


def test_what_the_shell_obeys_counts_for_lines_without_a_command():
    assert tier("x=1", BASH_ENV="/ws/x") is Tier.DANGEROUS
    assert tier("x=1", GIT_DIR="/ws/x") is Tier.SAFE


def test_without_a_workspace_the_working_directory_is_the_project():
    def judged(value, cwd):
        return reading_of("git status", {"XDG_CONFIG_HOME": value}, cwd=cwd, workspace=()).tier

    assert judged("/srv/x/c", "/srv/x") is Tier.DANGEROUS
    assert judged("/srv/y", "/srv/x") is Tier.SAFE
    assert judged("/home/u/.config", HOME) is Tier.SAFE
    assert judged("/home/u/.config", None) is Tier.SAFE


def test_on_an_unseen_disk_nothing_of_the_daemons_machine_is_assumed():
    unseen = Facts()

    def judged(line, **environ):
        return reading_of(line, environ, unseen).tier

    assert judged("git status", HOME="/root", PATH="/usr/local/bin:/usr/bin") is Tier.SAFE
    assert judged("git status", HOME="/ws/home") is Tier.DANGEROUS
    assert judged("git status", HOME="home") is Tier.DANGEROUS
    assert judged("git status", HOME="/tmp") is Tier.SAFE
    assert judged("git status", XDG_CONFIG_HOME="/tmp") is Tier.DANGEROUS
    assert judged("git status", GIT_SSH_COMMAND="ssh -i ~/.ssh/id") is Tier.DANGEROUS
    assert judged("git status", PATH="/opt/bin:/ws/bin:/usr/bin") is Tier.DANGEROUS
    assert judged("cd x", PATH="bin:/usr/bin") is Tier.DANGEROUS
    assert judged("git status", PATH="/opt/bin:/usr/bin:/ws/bin") is Tier.SAFE
    assert judged("git status", PATH="/opt/bin") is Tier.SAFE


def test_an_environment_that_was_not_told_changes_nothing():
    call = ToolCall(tool="Bash", input={"command": "git status"}, cwd="/ws")
    found = read(call, place_of(call, Session(workspace=("/ws",)), world()))
    assert (found.tier, found.environment) == (Tier.SAFE, "")


def test_other_tools_obey_no_variable():
    call = ToolCall(tool="Read", input={"file_path": "/ws/a"}, cwd="/ws")
    found = read(call, place_of(call, session_of({"BASH_ENV": "/ws/x"}), world()))
    assert (found.tier, found.environment) == (Tier.SAFE, "")


def test_a_long_value_is_shown_in_part_and_matched_by_no_allow():
    (shown,) = [o for o in reading_of("git diff", {"GIT_DIR": "x" * 900}).operations if o.variable]
    assert len(shown.resource) < 300
    assert not shown.known


def decide(line, variables, *policies, mode=Mode.DEFAULT):
    engine = Engine((*policies, Policy(mode=mode)), facts=world)
    return engine.decide(ToolCall(tool="Bash", input={"command": line}, cwd="/ws"), session_of(variables))


def test_no_allow_on_the_command_speaks_for_the_environment():
    allows = policy(allow=["Bash(git push:*)"])
    assert decide("git push", {}, allows).decision == "allow"
    assert decide("git push", {"GIT_SSH_COMMAND": "./x"}, allows).decision == "ask"
    both = policy(allow=["Bash(git push:*)", "Bash(GIT_SSH_COMMAND=./x)"])
    assert decide("git push", {"GIT_SSH_COMMAND": "./x"}, both).decision == "allow"


#: what each mode says where a variable acts on programs, and where the agent's own shell obeys it first
MODES = [
    (Mode.DEFAULT, "ask", "ask"),
    (Mode.UNTRUSTED, "ask", "ask"),
    (Mode.ACCEPT_EDITS, "ask", "ask"),
    (Mode.AUTO, "sandboxed", "ask"),
    (Mode.ON_FAILURE, "sandboxed", "ask"),
    (Mode.PLAN, "deny", "deny"),
    (Mode.STRICT, "deny", "deny"),
    (Mode.DONT_ASK, "deny", "deny"),
    (Mode.BYPASS, "allow", "allow"),
]


@pytest.mark.parametrize(("mode", "later", "early"), MODES)
def test_a_sandbox_holds_what_it_scrubs_and_nothing_that_acts_before_it(mode, later, early):
    assert decide("git diff", {"GIT_EXTERNAL_DIFF": "./x"}, mode=mode).decision == later
    assert decide("git diff", {"BASH_ENV": "/ws/x"}, mode=mode).decision == early
    assert decide("git diff", {"LD_PRELOAD": "/ws/x.so"}, mode=mode).decision == early


def test_a_digest_covers_the_environment_where_that_changes_what_runs():
    clean = decide("git diff", {})
    assert decide("git diff", {"PAGER": "less", "FOO": "1"}).digest == clean.digest
    assert decide("ls", {"PYTHONPATH": "/ws"}).digest == decide("ls", {}).digest
    one, other = (decide("git diff", {"GIT_EXTERNAL_DIFF": v, "PWD": v}) for v in ("./x", "./y"))
    assert len({clean.digest, one.digest, other.digest}) == 3
    more = decide("git diff", {"GIT_EXTERNAL_DIFF": "./x", "GIT_CONFIG_GLOBAL": "/etc/x"})
    assert more.digest != one.digest


def test_a_digest_without_an_environment_is_what_it_was():
    call = ToolCall(tool="Bash", input={"command": "ls"}, cwd="/ws")
    untold = Session(user="u", agent="a", id="s", workspace=("/ws",))
    assert bound_digest(call, session_of({"GIT_DIR": "x"}), "Bash", None) == bound_digest(call, untold, "Bash", None)


def test_environments_are_the_same_by_what_they_hold():
    one, same, other = Environment((("A", "1"),)), Environment((("A", "1"),)), Environment((("A", None),))
    assert one == same
    assert one not in (other, "A")
    assert len({one, same, other}) == 2
    assert (one.path, Environment((("PATH", ""),)).path) == ((), (".",))


def test_a_decision_is_remembered_for_its_environment_alone():
    engine = Engine((), facts=world)
    call = ToolCall(tool="Bash", input={"command": "git diff"}, cwd="/ws")
    for _ in range(3):
        assert engine.decide(call, session_of({})).decision == "allow"
        assert engine.decide(call, session_of({"GIT_DIR": "x"})).decision == "ask"


@pytest.mark.parametrize(
    ("folder", "home", "why"),
    [
        ("/tmp/x", HOME, "in a folder that anybody can write to"),
        ("/ws/bin", HOME, "in the workspace"),
        ("bin", HOME, "in the workspace"),
        ("/tmp/home/bin", "/tmp/home", None),
        ("/tmp/x", None, "in a folder that anybody can write to"),
        ("/opt/bin", HOME, None),
    ],
)
def test_a_program_that_the_project_or_anybody_could_have_put_on_the_path_is_not_the_known_one(folder, home, why):
    found = reading_of("ls", {"PATH": f"{folder}:/usr/bin"}, world(home=home, is_program=lambda _: True))
    assert found.tier is (Tier.SAFE if why is None else Tier.DANGEROUS)
    assert why is None or why in found.reason
