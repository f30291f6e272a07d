"""Calls made to be slow: each goes after another loop, and would keep whoever decides it busy for seconds."""

from __future__ import annotations

RULES = [f"Bash(* --force{i}*)" for i in range(60)] + [f"Read(**/*.s{i})" for i in range(60)]
RULES += [f"Write(**/*.w{i})" for i in range(60)] + ["Bash(bad:*)"]
LOOP = "for i in 1 2 3 4 5 6 7 8 9 a b c d e f g h i j k l m n o; do {}; done"
LONG = 60_000


def rep(text, length=LONG):
    return text * (length // len(text))


def numbered(text, length=LONG, most=LONG):
    """Write something again and again, with another number each time, as long as there is room."""
    found = ""
    for number in range(most):
        piece = text.replace("#", str(number))
        if len(found) + len(piece) > length:
            break
        found += piece
    return found


LINES = {
    "arguments": "set --" + rep(" v", 30_000) + ";" + rep('cat "$@";', 30_000),
    "arrays": "A=(" + rep("v ", 30_000) + ");" + rep("echo ${A[@]};", 30_000),
    "rounds of words": LOOP.format("rm -r $i" + rep(" w")),
    "rounds of variables": LOOP.format("echo $i" + rep(" $i")),
    "rounds of commands": LOOP.format(rep("echo $i $1 $2; ")),
    "a function with many words": "f(){ rm -r $1" + rep(" w") + ";}; " + "f a; " * 32,
    "a function with many commands": "f(){ " + rep("rm -r $1; ") + "}; " + "f a; " * 32,
    "variables of variables": "x=" + numbered("$a#", 30_000) + ";" + rep("frob $x;", 30_000),
    "conditions that assign": "if a; then b; " + numbered("elif ls; then a#=1; ") + "fi",
    "braces": rep("cat {1..64};"),
    "files": numbered("rm f#;"),
    "patterns": numbered("rm -r d#*;"),
    "programs that are not known": rep("frob" + " w" * 63 + ";"),
    "paths of programs that are not known": numbered("frob ./a# ./b#;"),
    "lines inside lines": "docker run x sh -c '" + numbered("cat f#;") + "'",
    "substitutions": numbered("cat $(ls d#);"),
    "redirections": numbered("echo >q#;"),
    "options": "curl" + rep(" -d w"),
    "an expression of find": "find ." + rep(" -o -name x"),
    "commands of find": "find ." + rep(" -exec cat {} ;"),
    "statements": "sqlite3 x '" + rep("select 1;") + "'",
    "a program of awk": "awk '" + rep("{print a+b/2}") + "' x",
    "a script of sed": "sed -n '" + rep("1p;") + "' x",
    "a list": rep("true && ls || "),
    "a pipe": rep("cat | "),
    "subshells": rep("(cd a; ls); "),
    "exports": "export" + numbered(" A#=b"),
    "folders": numbered("cd d# || cd e#;", 50_000) + "rm *",
    "here-documents": rep("cat <<E\n$x\nE\n"),
    "tildes": "tail" + numbered(" ~/h#"),
    "hints": "for x in " + numbered(" p#", most=60) + " $q; do " + rep("cat $x;") + "done",
    "trims": "for x in " + rep("a" * 240 + " ", 14_000) + " $q; do " + rep("cat ${x%%*a*a*b};", 40_000) + "done",
    "evaluations": "eval " * 9 + "'" + rep("cp -r * d;") + "'",
}
LOADED = "ls $x *; docker run x ls; sqlite3 x 'select 1'; awk 1 x; sed -n 1p x; curl x; find . -name x; rm -r b*; frob"
"""What takes a while when it is first read."""
CALLS = {
    "paths": ("Read", {"paths": [f"d{i}/" * 40 + "x" for i in range(799)]}),
    "paths with patterns": ("Read", {"paths": [f"d{i}/*x" for i in range(100)]}),
    "deep objects": ("Read", {"file_path": "x", "z": [{"a": {"b": {"path": ["x"]}}} for _ in range(20_000)]}),
    "texts": ("Read", {"file_path": "x", "target": ["aa"] * 200_000}),
    "fields": ("Read", {f"file{i}_path": "v" for i in range(40_000)}),
    "deletions": ("Delete", {"paths": [f"s{i}" for i in range(299)]}),
    "a patch of files": ("apply_patch", {"input": numbered("*** Add File: q#\n+a\n", 900_000)}),
    "a patch of stars": ("apply_patch", {"patch": "*** \n" * 200_000}),
    "a patch of sides": ("apply_patch", {"diff": "--- a/x\n+++ b/x\n" * 60_000}),
    "command fields": ("Bash", dict.fromkeys(("command", "cmd", "input"), LINES["files"])),
}
