"""Random lines of bash, made to hide something: each holds payloads that leave a mark where they run.

Half of the art is that a payload often does not run (it stands in quotes, in a comment, behind `--`): then the line may
be allowed, and whoever reads it wrongly in the one direction reads it wrongly in the other.
"""

from __future__ import annotations

import re
import shlex
import shutil
from functools import cache
from typing import TYPE_CHECKING

from assent.catalog import lookup, names
from assent.model import SAFE

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from assent.catalog import Entry

HIT = "/marker/hit"
PAYLOADS = (
    *(f"touch {HIT}", f"touch {HIT}", f"touch {HIT}", "marker", "marker x", "./evil", "/tmp/evil", "sh src/util.sh"),
    *(f"echo x >{HIT}", f"echo x>>{HIT}", f">{HIT}", f"cp a.txt {HIT}", ". src/util.sh", "rm a.txt", f"tee {HIT}"),
    *(f"mkdir {HIT}", f"ln -s x {HIT}", "make", "cat .env", f"sort -o{HIT} a.txt", f"dd of={HIT}", "mv a.txt c.txt"),
    *("chmod 600 a.txt", f"printf x >| {HIT}", "source ./src/util.sh", f"sed -n w{HIT} a.txt", "truncate -s0 b.txt"),
    *(f"find . -name a.txt -fprint {HIT}", "xargs ./evil", "env ./evil", "git config core.pager ./evil"),
)
SAFE_LINES = (
    *("ls", "pwd", "echo hi", "cat a.txt", "true", ":", "date", "id", "git status", "git log --oneline", "wc -l a.txt"),
    *("head -1 b.txt", "grep -n alpha a.txt", "sort a.txt", "find . -name '*.txt'", "false", "echo $HOME", "uname -a"),
    *("sed -n 1p a.txt", "awk '{print $1}' b.txt", "jq .a data.json", "cut -d, -f1 f.csv", "tail -n 1 a.txt"),
    *("printf '%s\\n' x", "basename /a/b", "seq 3", "tr a b <a.txt", "test -f a.txt", "[ -d src ]", "stat a.txt"),
    *(
        "git diff --stat",
        "ls -la src",
        "du -sh .",
        "cat <a.txt",
        "echo a >/dev/null",
        "ls 2>&1",
        "file a.txt",
        "cd src",
    ),
    *("diff a.txt b.txt", "uniq a.txt", "rev a.txt", "tac a.txt", "nl a.txt", "xxd a.txt", "cmp a.txt b.txt"),
    *("command -v ls", "type ls", 'echo "$PWD"', "env", "printenv HOME", "xargs echo <marks", "realpath a.txt"),
)
FILES = (
    "a.txt",
    "b.txt",
    "README.md",
    "data.json",
    "f.csv",
    "src",
    "src/main.py",
    ".",
    "*.txt",
    "./*",
    "marks",
    "x.sed",
)
NAMES = ("x", "y", "a", "PATH", "IFS", "IFS", "HOME", "PS4", "i", "BASH_ENV", "REPLY", "_", "OPTIND", "CDPATH", "PAGER")
META = (
    *tuple(" \t\n;&|()<>{}[]$`'\"\\*?!#~=%^-+,:@./0aex"),
    "$(",
    "${",
    "$((",
    "))",
    "\\\n",
    "$'",
    '$"',
    "<<E\n",
    "\r",
)

FRAMES = (
    # one after the other, beside each other, inside each other
    *("‹c›; ‹c›", "‹c› && ‹c›", "‹c› || ‹c›", "‹c› | ‹c›", "‹c› |& ‹c›", "‹c› & ‹c›", "‹c›\n‹c›", "‹c› ;; ‹c›", "‹c›;"),
    *(
        "( ‹c› )",
        "{ ‹c›; }",
        "! ‹c›",
        "time ‹c›",
        "time -p ‹c›",
        "coproc ‹c›",
        "coproc N { ‹c›; }",
        "‹c› # ‹p›",
        "#‹p›\n‹c›",
    ),
    *(
        "if ‹c›; then ‹c›; fi",
        "if ‹c›; then ‹c›; else ‹c›; fi",
        "while ‹s›; do ‹c›; break; done",
        "until ‹c›; do ‹c›; done",
    ),
    *("for ‹n› in ‹w› ‹w›; do ‹c›; done", 'for ‹n› in ‹w›; do ‹s› "$‹n›"; done', "for ((‹e›; i<2; i++)); do ‹c›; done"),
    *(
        "case ‹w› in ‹w›) ‹c›;; *) ‹c›;; esac",
        "case ‹w› in (‹w›|‹w›) ‹c›;& x) ‹c›;;& esac",
        "select ‹n› in ‹w›; do ‹c›; done",
    ),
    *(
        "f() { ‹c›; }",
        "f() { ‹c›; }; f",
        "function f { ‹c›; }; ‹s›",
        "f() ( ‹c› ) ; ‹s›",
        "ls() { ‹p›; }; ls",
        "f() { ‹c›; } >‹f›",
    ),
    # words
    *(
        "echo ‹w›",
        "echo ‹w› ‹w› ‹w›",
        "printf ‹w› ‹w›",
        ": ‹w›",
        "ls ‹w›",
        "cat ‹w›",
        "grep ‹w› a.txt",
        'echo "‹w›"',
        "test ‹w›",
    ),
    *(
        "echo ‹x›",
        'echo "‹x›"',
        "echo '‹x›'",
        "echo $'‹x›'",
        "echo \\‹x›",
        "echo ‹w›‹x›",
        'echo "‹w›‹x›‹w›"',
        "echo ‹q›",
    ),
    *(
        "‹w› ‹w›",
        "‹x›",
        '"‹x›"',
        "e\\cho ‹x›",
        "'ec'ho ‹x›",
        "ec\\\nho ‹w›",
        "$‹n› ‹w›",
        "‹n›=ls; $‹n› ‹w›",
        "‹n›=‹q›; $‹n›",
    ),
    # variables
    *("‹n›=‹w›; ‹s› $‹n›", "‹n›=‹w› ‹s›", "‹n›=‹q›; echo $‹n›", "‹n›=‹q›; echo ${‹n›@P}", '‹n›=‹q›; echo "${‹n›@‹o›}"'),
    *(
        "‹n›=‹q›; echo ${!‹n›}",
        "‹n›+=‹w›; ‹s›",
        "‹n›=(‹w› ‹w›); echo ${‹n›[‹e›]}",
        "‹n›[‹e›]=‹w›; ‹s›",
        "export ‹n›=‹w›; ‹s›",
    ),
    *(
        "declare ‹n›=‹w›; echo $‹n›",
        "declare -i ‹n›=‹q›; ‹s›",
        "declare -n ‹n›=‹q›; echo $‹n›",
        "declare -‹o› ‹n›=‹w›; ‹s›",
    ),
    *(
        "readonly ‹n›=‹w›; ‹s›",
        "local ‹n›=‹w›; ‹s›",
        "typeset -‹o› ‹n›; ‹n›=‹w›; ‹s›",
        "unset ‹n›; ‹s›",
        "unset ‹q›; ‹s›",
    ),
    *(
        "read ‹n› <<< ‹w›; ‹s› $‹n›",
        "read -r ‹n› < ‹f›; ‹s›",
        "read -a ‹n› <<< ‹q›; echo ${‹n›[0]}",
        "mapfile -t ‹n› < ‹f›; ‹s›",
    ),
    *(
        "printf -v ‹n› ‹w›; ‹s› $‹n›",
        "printf -v ‹q› ‹w›; ‹s›",
        "getopts ‹w› ‹n›; ‹s›",
        "let ‹e›; ‹s›",
        "let ‹q›; ‹s›",
        "set -- ‹w› ‹w›; ‹s› $1",
    ),
    *(
        "set -‹o›; ‹c›",
        "shopt -s ‹b›; ‹c›",
        "alias ls=‹q›; ls",
        "alias ‹n›=‹q›\n‹n›",
        "hash -p ./evil ls; ls",
        "enable -n echo; echo x",
    ),
    *(
        "wait -n -p ‹n›; ‹s›",
        "mapfile -C ‹q› -c 1 ‹n› < a.txt",
        "complete -C ‹q› x; ‹s›",
        "bind -x ‹q›; ‹s›",
        "compgen -‹o› ‹q›",
    ),
    # arithmetic and tests
    *(
        "((‹e›))",
        "echo $((‹e›))",
        "echo $[‹e›]",
        "[[ ‹w› == ‹w› ]]",
        "[[ ‹w› -eq ‹q› ]]",
        "[[ -v ‹q› ]]",
        "[ ‹w› -eq ‹q› ]",
        "test -v ‹q›",
    ),
    *(
        "[[ ‹w› =~ ‹w› ]]",
        "[[ -n ‹w› && ‹w› < ‹w› ]]",
        "[ ‹w› > ‹f› ]",
        "[ ‹w› \\> ‹w› ]",
        "‹n›=‹q›; ((‹n›))",
        "‹n›=‹q›; echo $((‹n› + 1))",
    ),
    *(
        "echo ${‹n›:‹e›}",
        "echo ${‹n›:‹e›:‹e›}",
        "echo ${‹n›[‹e›]}",
        "echo ${‹n›/‹w›/‹w›}",
        "echo ${‹n›#‹w›}",
        "echo ${‹n›^^‹w›}",
    ),
    *(
        "echo ${‹n›:-‹w›}",
        "echo ${‹n›:=‹w›}",
        'echo "${‹n›:+‹w›}"',
        "echo ${#‹n›}",
        "echo ${‹n›:?‹w›}",
        'echo "${‹n›:-‹x›}"',
    ),
    # redirections
    *(
        "‹s› > ‹f›",
        "‹s› >> ‹f›",
        "‹s› >| ‹f›",
        "‹s› &> ‹f›",
        "‹s› >& ‹f›",
        "‹s› <> ‹f›",
        "‹s› 3> ‹f›",
        "‹s› {fd}> ‹f›",
        "‹s› < ‹f›",
    ),
    *(
        "‹s› > /dev/null ‹w›",
        "> /dev/null ‹c›",
        "2>&1 ‹c›",
        "‹s› 2>&1 > ‹f›",
        "exec 3> ‹f›; ‹s›",
        "exec ‹c›",
        "{ ‹c›; } > ‹f›",
        "‹s› >&2-",
    ),
    *(
        "‹s› > ‹w›",
        "‹s› < <(‹c›)",
        "‹s› > >(‹c›)",
        "cat <(‹c›) ‹w›",
        "diff <(‹c›) <(‹c›)",
        "tee >(‹c›) < a.txt",
        "‹s› <<< ‹w›",
        "cat <<< ‹x›",
    ),
    *(
        "cat <<E\n‹x›\n‹w›\nE\n‹s›",
        "cat <<'E'\n‹x›\n‹p›\nE\n‹s›",
        "cat <<-E\n\t‹x›\n\tE\n‹s›",
        'cat <<"E"\n‹x›\nE\n',
        "cat <<\\E\n‹x›\nE",
    ),
    *(
        "cat <<E; ‹c›\n‹w›\nE",
        "cat <<A <<B\n‹x›\nA\n‹w›\nB\n‹s›",
        "cat <<E\n‹x›\n E\n‹p›\nE",
        "cat <<'E F'\n‹x›\nE F\n‹s›",
        "cat <<E\n‹w›\\\nE\n‹p›\nE",
    ),
    *(
        "bash <<E\n‹c›\nE",
        "bash <<'E'\n‹c›\nE",
        "sh <<E\n‹s›\nE",
        "xargs echo <<E\n‹w›\nE",
        "while read ‹n›; do ‹s› $‹n›; done <<E\n‹q›\nE",
    ),
    # layers
    *(
        "bash -c ‹k›",
        "sh -c ‹k›",
        "eval ‹k›",
        "eval ‹w› ‹w›",
        "bash -c ‹k› ‹w› ‹w›",
        'eval "‹w›"',
        "command ‹c›",
        "builtin ‹s›",
        "env ‹c›",
    ),
    *(
        "env ‹n›=‹w› ‹c›",
        "env -S ‹k›",
        "env -i ‹c›",
        "env -u ‹n› ‹s›",
        "timeout 1 ‹c›",
        "nice -n 1 ‹c›",
        "nohup ‹c›",
        "stdbuf -oL ‹c›",
    ),
    *(
        "xargs ‹c› < marks",
        "xargs -I{} ‹s› {} < marks",
        "xargs -n1 ‹s› < ‹f›",
        "echo ‹w› | xargs ‹s›",
        "xargs -a marks ‹s›",
        "xargs -‹o› ‹s› < marks",
    ),
    *(
        "find ‹f› -exec ‹c› \\;",
        "find ‹f› -exec ‹s› {} +",
        "find ‹f› ‹g› ‹w›",
        "find ‹f› -name ‹w› ‹g› ‹p›",
        "find ‹f› -‹w›",
        "find -files0-from ‹f›",
    ),
    *(
        "trap ‹k› EXIT; ‹s›",
        "trap ‹k› DEBUG; ‹s›",
        "trap -- ‹k› 0",
        "PS4=‹q›; set -x; ‹s›",
        "PROMPT_COMMAND=‹q›; ‹s›",
        "time -f ‹w› ‹c›",
    ),
    # programs with a language of their own
    *(
        "sed ‹q› a.txt",
        "sed -n ‹w› a.txt",
        "sed ‹l› a.txt",
        "sed -e ‹l› -e ‹w› a.txt",
        "sed -f ‹f› a.txt",
        "sed -‹o› ‹l› a.txt",
        "sed --expr=‹l› a.txt",
    ),
    *(
        "awk ‹m› a.txt",
        "awk -v ‹n›=‹w› ‹m› a.txt",
        "awk -f ‹f› a.txt",
        "awk ‹m› ‹n›=‹w› a.txt",
        "jq ‹q› data.json",
        "jq -n ‹w›",
        "awk -- ‹m›",
    ),
    *(
        "‹t›",
        "‹t›",
        "‹t›",
        "‹t›",
        "‹t›",
        "‹t›",
        "‹t› | ‹t›",
        "‹t› ‹w›",
        "git ‹h›",
        "git -c ‹q› ‹h›",
        "git ‹h› ‹w›",
        "git ‹h› --output=‹f›",
        "cat ‹t›",
    ),
)
ACTIONS = (
    "-exec",
    "-execdir",
    "-ok",
    "-fprint",
    "-fls",
    "-fprintf",
    "-delete",
    "-printf",
    "-newer",
    "-path",
    "-print0",
    "--",
)
SED = (
    *(
        "p",
        "1e",
        f"w {HIT}",
        f"s/a/b/w{HIT}",
        "s/a/touch x/e",
        f"1{{w{HIT}\n}}",
        "$!N",
        f"/a/w {HIT}",
        f"r {HIT}",
        f"1W{HIT}",
    ),
    *(
        "1,2p;e ./evil",
        "y/abc/xyz/",
        "s|a|b|;w x.out",
        "a\\\nw x",
        "s/a/b/g;#w x",
        "1i w out",
        "e",
        "s,a,b,e",
        "{p;w x.out\n}",
        "s/\\(a\\)/w/",
    ),
    *(
        "1!{p}",
        "/w x/p",
        "s/[/]w x/y/",
        "\\,a,w x.out",
        "a w x",
        "}w x.out",
        "F;w x.out",
        "1~2w x.out",
        "s/a/b/;;w x.out",
        "s/x/y/mw x.out",
    ),
)
AWK = (
    *(
        "{print}",
        f'{{print > "{HIT}"}}',
        f'BEGIN{{system("touch {HIT}")}}',
        f'{{print | "tee {HIT}"}}',
        '{"./evil" | getline}',
        "{print $1 > 2}",
    ),
    *(
        "1;{print >$1}",
        '{print "a > b"}',
        "/>/{print}",
        'BEGIN{f="x.out"; print 1 > f}',
        "{print (1 > 2)}",
        '{print 1, 2 > "x.out"}',
        'BEGIN{getline x < ".env"; print x}',
    ),
    *(
        '{printf "%s", $1 >> "x.out"}',
        '{print /a/ > "x.out"}',
        "{ if ($1 > 2) print }",
        "#system(1)\n{print}",
        '{print "\\"" > "x.out"}',
        '{print $1 |& "./evil"}',
    ),
    *(
        '{print a = 1 > "x.out"}',
        '@load "x"',
        '@include "x.awk"',
        'BEGIN{ENVIRON["A"]; close("x")}',
        '{x = "|" ; print x | "cat"}',
        'BEGIN { printf "x" | "./evil" }',
    ),
)
GIT = (
    *(
        "status",
        "log",
        "diff",
        "show",
        "branch",
        "log -p",
        "blame a.txt",
        "grep a",
        "ls-files",
        "rev-parse HEAD",
        "tag",
        "remote -v",
        "stash list",
    ),
    *(
        "config -l",
        "config --get core.pager",
        "archive HEAD",
        "diff --no-index a.txt b.txt",
        "format-patch -1",
        "show HEAD:.env",
        "cat-file -p HEAD",
    ),
    *(
        "log --output=x",
        "shortlog HEAD",
        "describe --all",
        "branch x",
        "tag x",
        "stash",
        "log -1 --format=%H",
        "diff --ext-diff",
        "log -S x",
        "ls-tree HEAD",
    ),
    *(
        "rev-list HEAD",
        "reflog",
        "worktree list",
        "submodule status",
        "symbolic-ref HEAD",
        "notes list",
        "bisect log",
        "var GIT_EDITOR",
        "fsck",
        "gc",
        "count-objects",
    ),
)
VALUES = (
    HIT,
    "./evil",
    "a.txt",
    "1",
    "x",
    "/code/new.out",
    "marker",
    f"touch {HIT}",
    "a",
    "*",
    "-",
    "x.sed",
    "src",
    ".env",
    "%s",
)


@cache
def programs() -> tuple[str, ...]:
    """Return the installed programs that the catalog calls safe, or that have safe subcommands."""
    known = (name for name in names() if (entry := lookup(name)) and not entry.runs and name not in WAITING)
    return tuple(n for n in known if shutil.which(n, path="/usr/bin:/bin") and _looks(lookup(n)))


WAITING = frozenset({"yes", "sleep", "watch", "top", "ping", "vmstat", "iostat", "tail", "journalctl", "dmesg", "cat"})
"""What goes on until it is stopped; the sandbox would wait for it."""


def _looks(entry: Entry | None) -> bool:
    return entry is not None and (entry.tier is SAFE or any(_looks(child) for child in entry.children.values()))


def options() -> Iterator[str]:
    """Give every option of every installed program that looks, in every spelling, with values that would be noticed."""
    for name in programs():
        if name not in REMOTE:
            yield from _options((name,), lookup(name))


REMOTE = frozenset({"gcloud", "gsutil", "bq", "kubectl", "npm", "systemctl", "loginctl", "busctl"})
"""What does nothing without another machine, or is slow to say so."""


def _options(words: tuple[str, ...], entry: Entry | None) -> Iterator[str]:
    if entry is None:
        return
    for option in entry.table:
        for value in (HIT, "./evil"):
            for spelling in ([option], [option, value], [f"{option}={value}"], [f"{option}{value}"]):
                for operands in ([], ["a.txt", "b.txt"]):
                    yield shlex.join([*words, *spelling, *operands])
    for spelled, child in entry.subcommands.items():
        yield from _options((*words, spelled.partition(",")[0].strip()), child)


class Lines:
    """Makes lines, the same ones for the same random numbers."""

    def __init__(self, numbers: random.Random) -> None:
        self.numbers = numbers
        self.fillers = {
            "c": self.command,
            "s": lambda _: self.pick(SAFE_LINES),
            "p": lambda _: self.pick(PAYLOADS),
            "w": self.word,
            "x": self.expansion,
            "q": lambda depth: self.quoted(self.hidden(depth)),
            "k": lambda depth: (
                shlex.quote(self.command(depth)) if self.chance(0.7) else self.quoted(self.command(depth))
            ),
            "n": lambda _: self.pick(NAMES),
            "f": self.file,
            "e": self.calculation,
            "g": lambda _: self.pick(ACTIONS),
            "h": lambda _: self.pick(GIT),
            "l": lambda _: self.quoted(self.pick(SED)),
            "m": lambda _: self.quoted(self.pick(AWK)),
            "o": lambda _: "".join(self.pick("aAefilnptuvwxCEIJLPQUTKkb0") for _ in range(self.pick((1, 1, 2)))),
            "b": lambda _: self.pick(("extglob", "nullglob", "expand_aliases", "globstar", "lastpipe", "sourcepath")),
            "t": self.tool,
        }

    def line(self) -> str:
        """Return a line, sometimes a damaged one."""
        line = self.fill(self.pick(FRAMES), 3)
        while self.chance(0.25):
            line = self.damage(line)
        return line

    def pick(self, things):
        return things[int(self.numbers.random() * len(things))]

    def chance(self, share: float) -> bool:
        return self.numbers.random() < share

    def fill(self, frame: str, depth: int) -> str:
        return re.sub("‹(.)›", lambda match: self.fillers[match[1]](depth - 1), frame)

    def command(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.6):
            return self.pick(PAYLOADS) if self.chance(0.12) else self.pick(SAFE_LINES)
        return self.fill(self.pick(FRAMES), depth)

    def hidden(self, depth: int) -> str:
        """Return text that runs something if it is ever evaluated."""
        payload = self.pick(PAYLOADS)
        return self.pick(
            (
                payload,
                f"$({payload})",
                f"`{payload}`",
                f"a[$({payload})]",
                f"x; {payload}",
                f"x\n{payload}",
                f"${{x:-$({payload})}}",
                f"x && {payload} #",
                self.pick(NAMES),
                "x",
                "core.pager=./evil",
                self.pick(SAFE_LINES),
            )
        )

    def quoted(self, text: str) -> str:
        """Quote a text so that it stays one, or so that it might not."""
        style = int(self.numbers.random() * 9)
        if style <= 2:
            return shlex.quote(text)
        if style == 3:
            return '"' + text.replace('"', '\\"') + '"'
        if style == 4:
            return "$'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        if style == 5:
            return re.sub(r"([^\w./-])", r"\\\1", text).replace("\\\n", "'\n'")
        if style == 6:
            return "$'" + "".join(f"\\x{ord(c):02x}" if ord(c) < 128 else c for c in text) + "'"
        if style == 7:
            cut = int(self.numbers.random() * len(text))
            return shlex.quote(text[:cut]) + shlex.quote(text[cut:])
        return f'"{text}"' if self.chance(0.5) else text

    def word(self, depth: int) -> str:
        kind = int(self.numbers.random() * 12)
        if kind <= 2:
            return self.pick(
                (*FILES, *VALUES[:6], "hello", "-n", "--", "-e", "1", "''", "{a,b}", "~", "$x", '"$HOME"', "[ab]")
            )
        if kind <= 4:
            return self.quoted(self.hidden(depth))
        if kind == 5:
            return self.expansion(depth)
        if kind == 6:
            return '"' + self.expansion(depth) + '"'
        if kind == 7 and depth > 0:
            return self.word(depth - 1) + self.word(depth - 1)
        if kind == 8:
            return "{" + self.pick(FILES) + "," + self.quoted(self.pick(VALUES)) + "}"
        if kind == 9:
            return "-" + self.pick("abcdefghijklmnopqrstuvwxyzCDEFIOTXZ0") + self.pick(("", self.pick(VALUES)))
        return self.pick(FILES)

    def expansion(self, depth: int) -> str:
        name, inner = self.pick(NAMES), self.command(min(depth, 1))
        return self.pick(
            (
                f"$({inner})",
                f"`{inner}`",
                f"${name}",
                f"${{{name}}}",
                f"${{{name}:-{self.quoted(self.hidden(0))}}}",
                f"${{{name}:-$({inner})}}",
                f"${{{name}@{self.pick('PQEAaKkULu')}}}",
                f"${{!{name}}}",
                f"${{!{name}@}}",
                f"${{{name}[{self.calculation(0)}]}}",
                f"$(({self.calculation(0)}))",
                f"${{{name}//{self.quoted(self.hidden(0))}/x}}",
                f"${{{name}%%`{inner}`}}",
                f"<({inner})",
                f"$(<{self.file(0)})",
                "$'\\x41\\n\\u0042'",
                '$"t"',
                "$-",
                "$!",
                "$#",
                "${@:1}",
                "${*}",
            )
        )

    def calculation(self, depth: int) -> str:
        return self.pick(
            (
                "1+1",
                "i=0",
                f"{self.pick(NAMES)}",
                f"{self.pick(NAMES)}++",
                f"a[{self.pick(('0', 'i', self.hidden(0)))}]",
                f"a[$({self.pick(PAYLOADS)})]",
                f"{self.pick(NAMES)}=1",
                "x?1:2",
                "1<2",
                "x>y",
                "0x1f",
                "16#ff",
                f"$({self.pick(SAFE_LINES)})",
                "x,y",
                "-1",
            )
        )

    def file(self, depth: int) -> str:
        return self.pick(
            (
                *FILES,
                *FILES,
                HIT,
                "new.out",
                "/tmp/t.txt",
                "src/new",
                "/dev/null",
                "/dev/stdout",
                "&1",
                ".env",
                "~/n",
                "$x",
                "../x",
            )
        )

    def tool(self, _depth: int) -> str:
        """Return a program with options, as they are written and as they may be abbreviated."""
        name = self.pick(programs())
        entry, words = lookup(name), [name]
        while entry and entry.children and self.chance(0.9):
            child = self.pick(tuple(entry.children))
            words.append(child)
            entry = entry.children[child]
        table = tuple(entry.table.values()) if entry else ()
        for _ in range(self.pick((0, 1, 1, 2, 3))):
            words += self.option(table)
        words += [self.pick((*FILES, *VALUES)) for _ in range(self.pick((0, 1, 1, 2)))]
        if self.chance(0.1):
            words.insert(1 + int(self.numbers.random() * len(words)), "--")
        return " ".join(w if re.fullmatch(r"[\w./=*:,%+-]+", w) else shlex.quote(w) for w in words)

    def option(self, table) -> list[str]:
        """Return an option that the catalog knows, or one that it does not, with a value before or behind a space."""
        value = self.pick(VALUES)
        if not table or self.chance(0.15):
            return [f"-{self.pick('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0')}{self.pick(('', value))}"]
        option = self.pick(table)
        name = option.name
        if name.startswith("--") and self.chance(0.3):
            name = name[: 3 + int(self.numbers.random() * (len(name) - 2))]
        if self.chance(0.15):
            return [f"{name}={value}"]
        if option.role is None:
            return [name]
        return self.pick(([name, value], [f"{name}={value}"] if name.startswith("--") else [f"{name}{value}"]))

    def damage(self, line: str) -> str:
        at = int(self.numbers.random() * (len(line) + 1))
        piece = self.pick(META)
        kind = int(self.numbers.random() * 5)
        if kind == 0:
            return line[:at] + line[at + 1 :]
        if kind == 1:
            return line[:at] + piece + line[at + 1 :]
        if kind == 2:
            end = at + int(self.numbers.random() * 6)
            return line[:at] + line[end:]
        return line[:at] + piece + line[at:]
