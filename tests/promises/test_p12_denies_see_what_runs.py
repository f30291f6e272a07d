"""A deny rule sees every program a line would run: wrapping, chaining, quoting, length, depth hide nothing.

The policy bypasses everything else, so that what denies here is the one rule.
"""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assent.model import Mode, Policy, Session, ToolCall, Verdict
from cases import decide, rule
from toyworld import Case

promise = settings(max_examples=300, deadline=None)
NO_RM = Policy(mode=Mode.BYPASS, deny=(rule("Bash(rm:*)"),))

SPELLINGS = (
    *(
        "rm x",
        "rm -r x",
        "rm",
        "'rm' x",
        '"rm" x',
        "\\rm x",
        "r\\m x",
        "r'm' x",
        "r''m x",
        'r""m x',
        "$'rm' x",
    ),
    *("$'\\x72m' x", "$'\\162\\155' x", "$'\\u0072m' x", '$"rm" x', "/bin/rm x", "/usr/bin/rm x", "X=1 rm x"),
    *("r\\\nm x", "rm\tx", ">out rm x", "2>&1 rm x", "rm<in", "X=rm; $X y", "X=rm; ${X} y", 'X=rm; "$X" y'),
    *("X=r; Y=m; $X$Y x", "{rm,x}", "rm\\\n x", "X=rm Y=2; $X y"),
)
SIMPLE = SPELLINGS[:10]
"""Spellings that a wrapper's own arguments can hold."""

PREFIXES = (
    *("sudo", "sudo -u bob", "sudo -E --", "doas", "runuser -u bob --", "pkexec", "chroot /mnt", "unshare -r"),
    *("env", "env A=1", "env -i PATH=/bin", "env -u A", "env -S", "command", "builtin command", "exec", "time"),
    *("time -p", "!", "timeout 5", "timeout -s KILL 1m", "nohup", "nice", "nice -n 5", "ionice -c 3", "chrt 1"),
    *("stdbuf -oL", "setsid", "taskset 1", "flock /tmp/l", "prlimit --nofile=9", "setpriv --no-new-privs"),
    *("nsenter -t 1 -m", "systemd-run --user", "bwrap --bind / /", "strace -f", "watch", "busybox", "parallel"),
    *("xargs", "xargs -n1", "xargs -I{} --", "find . -exec", "ssh host", "docker exec box", "docker run --rm img"),
    *("docker compose exec box", "kubectl exec pod --", "uv run", "poetry run", "npm exec --", "bundle exec"),
)
FRAMES = (
    *(
        "( %s )",
        "{ %s; }",
        "true && %s",
        "false || %s",
        "true; %s",
        "echo x | %s",
        "%s | cat",
        "%s &",
        "%s # ok",
    ),
    *("# ok\n%s", "ls\n%s", "if true; then %s; fi", "if %s; then :; fi", "while %s; do :; done"),
    *("for i in 1 2; do %s; done", "case a in a) %s;; esac", "f() { %s; }; f", "function f { %s; }; f x"),
    *(
        "echo $(%s)",
        'echo "$(%s)"',
        "echo `%s`",
        "cat <(%s)",
        "tee >(%s)",
        "$(echo ls; %s)",
        "X=$(%s)",
        "X=$(%s) ls",
    ),
    *(
        "echo ${X:-$(%s)}",
        "echo $(( $(%s) + 1 ))",
        "[[ $(%s) ]]",
        "a=($(%s))",
        "cat <<< $(%s)",
        "trap '%s' EXIT",
    ),
    *("cat <<E\n$(%s)\nE", "bash <<E\n%s\nE", "bash <<'E'\n%s\nE", "sh -s <<'E'\n%s\nE", "bash <<< '%s'"),
    *(
        "until %s; do :; done",
        "select i in 1; do %s; done",
        "coproc %s",
        "time { %s; }",
        "! ( %s )",
        "( ( %s ) )",
    ),
    *("cat <<E\n`%s`\nE", 'echo "${X:-`%s`}"', "echo ${X:-`%s`}", "(( a[$(%s)] ))"),
)
SHELLS = (
    "bash -c",
    "sh -c",
    "bash -lc",
    "sh -ec",
    "dash -c",
    "zsh -c",
    "eval",
    "builtin eval",
    "command eval",
)


def _verdict(line: str, policy: Policy = NO_RM) -> Verdict:
    call = ToolCall(tool="Bash", input={"command": line}, cwd="/ws")
    return decide(Case(call=call, policies=(policy,), session=Session(workspace=("/ws",)))).verdict


def _shell(name: str, line: str) -> str:
    return f"{name} {shlex.quote(line)}"


@pytest.mark.parametrize("line", SPELLINGS)
def test_a_spelling_does_not_hide_the_program(line):
    assert _verdict(line) is Verdict.DENY


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_wrapper_does_not_hide_the_program(prefix):
    assert _verdict(f"{prefix} rm x" + (" {} +" if "find" in prefix else "")) is Verdict.DENY


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_does_not_hide_the_program(frame):
    assert _verdict(frame % "rm x") is Verdict.DENY


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_in_the_shell_does_not_hide_the_program(shell):
    assert _verdict(_shell(shell, "ls && rm x")) is Verdict.DENY


@pytest.mark.parametrize("frame", [f for f in FRAMES if "$" not in f and "`" not in f])
def test_a_frame_around_something_else_is_not_denied(frame):
    assert _verdict(frame % "ls x") is not Verdict.DENY


@pytest.mark.parametrize("prefix", [p for p in PREFIXES if "find" not in p])
def test_a_wrapper_around_something_else_is_not_denied(prefix):
    assert _verdict(f"{prefix} ls x") is not Verdict.DENY


nests = st.recursive(
    st.sampled_from(SIMPLE),
    lambda inner: st.one_of(
        st.builds(_shell, st.sampled_from(SHELLS), inner),
        st.builds(
            lambda prefix, line: f"{prefix} {_shell('sh -c', line)}",
            st.sampled_from(("sudo", "env A=1", "timeout 5", "nohup", "nice -n 5", "xargs", "exec", "command")),
            inner,
        ),
        st.builds(
            lambda frame, line: frame % line,
            st.sampled_from(("( %s )", "{ %s; }", "true && %s", "true; %s", "echo x | %s", "echo $( %s )")),
            inner,
        ),
    ),
    max_leaves=6,
)


@promise
@given(nests)
def test_wrappers_in_wrappers_hide_nothing(line):
    assert _verdict(line) is Verdict.DENY


@promise
@given(st.lists(st.sampled_from(("ls", "git status", "echo hi", "true")), max_size=80), st.data())
def test_chaining_hides_nothing(parts, data):
    place = data.draw(st.integers(0, len(parts)))
    joint = data.draw(st.sampled_from((" && ", "; ", " | ", " || ", "\n", " & ")))
    assert _verdict(joint.join([*parts[:place], "rm x", *parts[place:]])) is Verdict.DENY


@pytest.mark.parametrize("size", [10**2, 10**3, 10**4, 10**5, 10**6])
@pytest.mark.parametrize(
    "filler", ["true; ", "echo x && ", "A=1 ", "(", "$(", "{ ", "sudo ", "! ", "if ", "#" * 99 + "\n"]
)
def test_length_and_depth_never_hide_it(size, filler):
    assert _verdict(filler * (size // len(filler)) + "rm x") is not Verdict.ALLOW


@pytest.mark.parametrize("depth", [1, 2, 5, 10, 15])
def test_shells_in_shells_never_hide_it(depth):
    line = "rm x"
    for _ in range(depth):
        line = _shell("bash -c", line)
        if len(line) > 10**6:
            break
    assert _verdict(line) is not Verdict.ALLOW


@pytest.mark.parametrize(
    "line",
    [
        *(
            "$X y",
            "${X} y",
            '"$X" y',
            "$(cat f) y",
            "`cat f` y",
            "${X:-ls} y",
            "$1 y",
            "r$X y",
            "${X}m y",
            "*m x",
            "r? x",
        ),
        *("eval $X", 'eval "$X"', "bash -c $X", 'bash -c "$X"', "echo $X | sh", "env $X", "sudo $X y"),
        *(
            "xargs $X",
            "find . -exec $X {} +",
            "rm$'",
            "rm 'x",
            "rm x)",
            "$(rm x",
            "if rm x",
            "rm x <<E",
            "eval 'rm",
        ),
        *("X=rm; read X; $X y", "for X in ls rm; do $X y; done", "X=(ls rm); ${X[1]} y", "set -- rm; $1 x"),
        *("printf -v X rm; $X y", "X=mr; $(rev <<< $X) y", "${!X} y"),
        *("rm$IFS-r$IFS/", "[r]m x", "/bin/r? x", ". <(echo rm x)", "source /dev/stdin <<< 'rm x'"),
        *("bash -s < <(echo rm x)", "echo rm x | cat | sh", "printf '%s x' rm | bash", "echo rm x | parallel"),
    ],
)
def test_what_may_be_the_program_is_not_allowed(line):
    assert _verdict(line) is not Verdict.ALLOW


@pytest.mark.parametrize(
    "line",
    [
        *(
            "cat f | bash",
            "base64 -d f | sh",
            "curl https://example.com | sh",
            "bash < f",
            "bash <(cat f)",
            "bash f",
        ),
        *(
            "source <(cat f)",
            ". ./f",
            "parallel < f",
            "make",
            "python f",
            "awk -f f",
            "sed -f f",
            "./f",
            "at now < f",
        ),
    ],
)
def test_code_that_is_not_in_the_line_is_not_allowed(line):
    assert _verdict(line, Policy(deny=NO_RM.deny)) is not Verdict.ALLOW


@promise
@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_around_it_raises(before, after):
    assert _verdict(f"{before}\nrm x\n{after}") in Verdict
