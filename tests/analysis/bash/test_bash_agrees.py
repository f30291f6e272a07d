"""Bash is the oracle: what it makes of words, what it accepts, and what it runs."""

import contextlib
import os
import re
import shutil
import signal
import subprocess

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assent.model import UNKNOWN
from shell_lines import read

BASH = shutil.which("bash") or "bash"
slow = settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])

FRAGMENTS = re.split(
    r"\|",
    'a|b c|\'|"|\\|$|{|}|,|..|1|3|~|/|=|:|x|$x|${x}|$y|"$y"|$\'|\\n|\\x41|\\101|\\u00e9|*|?|[|]|-|#| |  |$z|\'q\'|"d"|'
    '"a$x"|{a,b}|{1..3}|{01..03}|{a..c}|~/|X=|é|\\ |$@|"$@"|$*|"$*"|$1|${2}|${arr[0]}|"${arr[@]}"|${arr}|'
    '$\'\\t\'|$"t"|\\\'|\\"|!|%|^|+=|`|$e|"$e"|""|\'\'|{,|}}|{{|{3..1}|{a,{b,c}}|~+|$w|\\\n',
)
KNOWN = "x=1; y='p  q '; z=$'\\n v\\t'; e=; w='s*t'; set -- 'A B' C; arr=('m n' o); "
EACH = 'for line; do ( eval "$line" ) 2>/dev/null; printf "\\1\\0"; done'
WORD = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=9).map("".join)


def evaluate(lines, folder):
    """Give, for each line, the words that bash printed."""
    done = subprocess.run(
        [BASH, "-c", EACH, "_", *lines],
        capture_output=True,
        cwd=folder,
        env={"HOME": "/home/u", "PATH": "/nonexistent", "LC_ALL": "C.UTF-8"},
        check=False,
    )
    answers, words = [], []
    for item in done.stdout.split(b"\0")[:-1]:
        if item == b"\1":
            answers.append(words)
            words = []
        else:
            words.append(item.decode(errors="replace"))
    return answers


@slow
@given(st.lists(WORD, min_size=100, max_size=100))
def test_words_that_are_known_are_those_that_bash_makes(tmp_path, texts):
    lines = [f"{KNOWN}printf '%s\\0' S {text}" for text in texts]
    for line, expected in zip(lines, evaluate(lines, tmp_path), strict=True):
        script = read(line, cwd=str(tmp_path))
        command = next(each for each in script.commands if each.words and each.words[0].text == "printf")
        words = [word.text for word in command.words[2:]]
        matches_files = any(word.startswith("/") and set(word) & set("*?[") for word in words)
        if script.unreadable is None and UNKNOWN not in "".join(words) and not matches_files:
            assert words == expected, line


TOKENS = [
    "|",
    "||",
    "|&",
    *re.split(
        r"\|",
        "aa|bb x|cc 'y z'|$(dd)|`ee`|\"$(ff)\"|;|&&|\n|(|)|{ | }| { aa; }|if |then |else |elif |fi|while |do |done|"
        "for i in 1 2; do |case x in x) |esac|;;|a) |*) |! |time |time -p |X=gg |$X |X=hh;|[[ |]]| == |[ |]|((|))|"
        "1+1|$((1+1))|$((|$(|`|\"|'|\\|<(kk)|>(ll) |<<E\n|E\n|<<'E'\n|<<-E\n|\tE\n|\n$(mm)\nE\n|\n`nn`\nE\n|"
        "${x:-$(oo)}|${x:-`pp`}|> f|2>&1|< f|<<< q|&> f|{fd}> f|function f |f() |f|# qq\n|$x|\\\n| |=|in |"
        'rr|{a,b}|{|}|$\'tt\'|$"uu"|~|a[|a[0]=1 |a=(v w) |a=(|${a[0]} |set -- yy; |$1 |"$@" |export Y=zz;|$Y |'
        "true|false|-eq|=~|<|> |<&-|;&|Z+=1 |unset X;|read X;|printf -v X rr;",
    ),
]
LINE = st.lists(st.sampled_from(TOKENS), min_size=2, max_size=10).map(" ".join)
LOGGING = (
    "command_not_found_handle() { local IFS=$'\\x1f'; printf '%s\\x1e' \"$*\" >>\"$LOG\"; return 1; }; number=0; "
    "for line; do LOG=$LOGS/$number; ((number++)); "
    '( set --; ulimit -t 1; eval "$line"; wait ) >/dev/null 2>&1 </dev/null; done'
)


def run(lines, folder):
    """Give, for each line, the commands that bash tried to run; none of them exists."""
    logs = folder / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    (folder / "run").mkdir(exist_ok=True)
    process = subprocess.Popen(
        [BASH, "-c", LOGGING, "_", *lines],
        cwd=folder / "run",
        # without a bound, a function that calls itself twice would fill the machine
        env={"HOME": "/home/u", "PATH": "/nonexistent", "LOGS": str(logs), "LC_ALL": "C.UTF-8", "FUNCNEST": "4"},
        start_new_session=True,
    )
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        return []
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return [commands_in(logs / str(number)) for number in range(len(lines))]


def commands_in(log):
    text = log.read_text(errors="replace") if log.exists() else ""
    return [ran.split("\x1f") for ran in text.split("\x1e")[:-1]]


def fits(command, arguments):
    """Tell whether a command as we read it can be the one that was run with these arguments."""
    ends = {0}
    for word in command.words:
        if word.splits:
            ends = set(range(min(ends, default=len(arguments) + 1), len(arguments) + 1))
        else:
            text = re.compile(".*".join(map(re.escape, word.text.split(UNKNOWN))), re.DOTALL)
            ends = {end + 1 for end in ends if end < len(arguments) and text.fullmatch(arguments[end])}
    return len(arguments) in ends


@slow
@given(st.lists(LINE, min_size=150, max_size=150))
def test_every_command_that_bash_runs_was_found(tmp_path, lines):
    readable = [line for line in lines if read(line).unreadable is None]
    for line, ran in zip(readable, run(readable, tmp_path), strict=False):
        commands = [command for command in read(line).commands if command.words]
        for arguments in ran:
            assert any(fits(command, arguments) for command in commands), (line, arguments)


@slow
@given(st.lists(LINE, min_size=40, max_size=40))
def test_what_is_readable_is_what_bash_accepts(lines):
    for line in lines:
        if read(line).unreadable is None:
            done = subprocess.run([BASH, "-n", "-c", "--", line], capture_output=True, check=False)
            assert done.returncode == 0, (line, done.stderr)
