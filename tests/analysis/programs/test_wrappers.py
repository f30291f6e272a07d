"""Commands inside commands: found through every layer, so that a rule about them sees them."""

from __future__ import annotations

import pytest

from assent.analysis.lines.commands import read_line
from assent.analysis.programs.wrappers import DEEPEST
from assent.model import Tier
from lines import PLACE, commands, operations, tier

FOUND = [
    # What a deny rule on `rm` must see.
    "ls && sudo rm x",
    "find . -exec rm {} +",
    "$(rm x)",
    "X=rm; $X y",
    "sudo -u root -n rm x",
    "doas rm x",
    "su -c 'rm x' root",
    "env rm x",
    "env -i A=1 rm x",
    "env -S 'rm x'",
    "env -u X rm x",
    "timeout 5 rm x",
    "timeout -k 1 -s KILL 5 rm x",
    "nice -n 5 rm x",
    "nice -5 rm x",
    "nohup rm x",
    "setsid -f rm x",
    "stdbuf -oL rm x",
    "ionice -c 3 rm x",
    "chrt -i 0 rm x",
    "taskset 1 rm x",
    "time rm x",
    "/usr/bin/time -v rm x",
    "command rm x",
    "command -p rm x",
    "builtin eval 'rm x'",
    "exec rm x",
    "exec -a ls rm x",
    "eval rm x",
    "eval 'rm x'",
    "trap 'rm x' EXIT",
    "ls | xargs rm",
    "ls | xargs -n 1 -P 4 rm -f",
    "ls | xargs -I % rm %",
    "ls | xargs -i rm {}",
    "parallel rm ::: a b",
    "ls | parallel rm {}",
    "find . -name x -exec rm {} \\;",
    "find . -execdir rm {} +",
    "find . -ok rm {} \\;",
    "fd -x rm",
    "fd x -X rm",
    "watch -n 1 rm x",
    "ssh host rm x",
    "ssh -p 22 -i k u@host 'ls; rm x'",
    "docker exec -it app rm x",
    "docker run --rm -v a:b image rm x",
    "podman exec app rm x",
    "kubectl exec pod -- rm x",
    "kubectl exec -n ns pod -c c -- rm x",
    "flock -n lock rm x",
    "flock lock -c 'rm x'",
    "strace -f -o out rm x",
    "script -qc 'rm x' out",
    "bash -c 'rm x'",
    "bash -lc 'rm x'",
    "bash -ec 'rm x'",
    "bash -c -l 'rm x'",
    "bash -c -- 'rm x'",
    "bash -o pipefail -c 'rm x'",
    "bash +x -c 'rm x'",
    "sh -c 'rm x' name arg",
    "zsh -c 'rm x'",
    "bash -c \"bash -c 'rm x'\"",
    "bash <<'EOF'\nrm x\nEOF",
    "bash -s <<< 'rm x'",
    "sudo bash <<'EOF'\nrm x\nEOF",
    "echo 'rm x' | sh",
    "printf 'rm x' | bash",
    "cat <<'EOF' | sh\nrm x\nEOF",
    "busybox rm x",
    "busybox sh -c 'rm x'",
    "toybox rm x",
    "git -c alias.z='!rm x' z",
    "git bisect run rm x",
    "git submodule foreach 'rm x'",
    "git submodule foreach --recursive rm x",
    "git rebase -x 'rm x' main",
    "git rebase --exec='rm x' main",
    "git grep -O'rm x' foo",
    "git fetch --upload-pack='rm x' h",
    "git difftool -x 'rm x'",
    "tar xf a --to-command='rm x'",
    "tar cf a b -I 'rm x'",
    "rsync -e 'rm x' a h:b",
    "sort --compress-program='rm x' y",
    "rg --pre='rm x' y",
    "assent run --profile read-only -- rm x",
    "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
    "mapfile -C 'rm x' -c 1 a",
    "diff <(ls) <(rm x)",
    "env bash -c 'timeout 5 nice rm x'",
    "if rm x; then ls; fi",
    "f() { rm x; }; f",
]


@pytest.mark.parametrize("line", FOUND)
def test_a_command_is_found_behind_every_layer(line: str) -> None:
    names = [o.argv[0].rsplit("/", 1)[-1] for o in operations(line) if o.argv]
    assert "rm" in names
    assert tier(line) is not Tier.SAFE


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("env ls", ["env ls", "ls"]),
        ("timeout 5 ls -l", ["timeout 5 ls -l", "ls -l"]),
        ("bash -lc 'cd src && ls'", ["bash -lc 'cd src && ls'", "cd src", "ls"]),
        ("find . -exec grep x {} +", ["find . -exec grep x {} +", "grep x ./\ufdd0"]),
        ("find a -exec cat {}.b ';'", ["find a -exec cat {}.b ';'", "cat a/\ufdd0.b"]),
        ("ls | xargs", ["ls", "xargs"]),
        ("ls | xargs wc -l", ["ls", "xargs wc -l", "wc -l \ufdd0"]),
        ("ls | xargs -I{} cat {}.x", ["ls", "xargs -I{} cat {}.x", "cat \ufdd0.x"]),
        ("ls | xargs -I % -n 1 wc %", ["ls", "xargs -I % -n 1 wc %", "wc \ufdd0 \ufdd0"]),
        ("ls | xargs -i% cat %.x {}", ["ls", "xargs -i% cat %.x {}", "cat \ufdd0.x \ufdd0"]),
        ("ls | xargs -J % cat % x", ["ls", "xargs -J % cat % x", "cat \ufdd0 x \ufdd0"]),
        ("ls | xargs -I '' cat x", ["ls", "xargs -I '' cat x", "cat x \ufdd0"]),
        ("ls | xargs --max-lines cat x", ["ls", "xargs --max-lines cat x", "cat x \ufdd0"]),
        ("env LANG=C CI=1", ["env LANG=C CI=1"]),
        ("env -S 'sort -r' x", ["env -S 'sort -r' x", "env sort -r x", "sort -r x"]),
        ("env -S sort ls -o x", ["env -S sort ls -o x", "env sort ls -o x", "sort ls -o x"]),
        ("env -Ssort -u x", ["env -Ssort -u x", "env sort -u x", "sort -u x"]),
        ("env -iSsort x", ["env -iSsort x", "env sort x", "sort x"]),
        ("env --split-string=sort x", ["env --split-string=sort x", "env sort x", "sort x"]),
        ("env -S 'LANG=C sort' x", ["env -S 'LANG=C sort' x", "env LANG=C sort x", "sort x"]),
        ("env -S 'a \"b c\"' d", ["env -S 'a \"b c\"' d", "env a 'b c' d", "a 'b c' d"]),
        ("assent run -- ls", ["assent run -- ls", "ls"]),
        ("watch ls -l", ["watch ls -l", "ls -l"]),
        ("echo 'ls -l' | tee", ["echo 'ls -l'", "tee"]),
    ],
)
def test_the_outer_command_and_the_inner_are_each_listed(line: str, expected: list[str]) -> None:
    # A brace is quoted where a word is written out.
    assert [
        c.replace("'{}'", "{}").replace("'{}.b'", "{}.b").replace("'-I{}'", "-I{}").replace("'{}.x'", "{}.x")
        for c in commands(line)
    ] == expected


@pytest.mark.parametrize(
    ("line", "through"),
    [
        ("sudo env rm x", ("sudo", "env")),
        ("bash -c 'nice rm x'", ("bash -c", "nice")),
        ("find . -exec rm {} +", ("find -exec",)),
        ("echo $(rm x)", ("$(…)",)),
        ("bash -c 'echo $(rm x)'", ("bash -c", "$(…)")),
        ("git -c alias.z='!rm x' z", ("git alias",)),
        ("ssh h rm x", ("ssh",)),
        ("bash <<< 'rm x'", ("bash",)),
    ],
)
def test_the_layers_are_told_outermost_first(line: str, through: tuple[str, ...]) -> None:
    (found,) = [o for o in operations(line) if o.argv[:1] == ("rm",)]
    assert found.through == through


def test_a_line_that_is_only_known_at_run_time_is_unreadable_but_still_searched() -> None:
    found, why = read_line('bash -c "rm $X"', PLACE)
    assert why == "a nested script is known only at run time"
    assert any(o.argv[:1] == ("rm",) for o in found)


def test_what_runs_elsewhere_does_not_stand_in_our_folder() -> None:
    (read,) = [o for o in operations("docker exec app cat x") if o.kind == "fs.read"]
    assert read.resource.startswith("\ufdd0")


def test_nesting_beyond_the_bound_is_unreadable() -> None:
    assert read_line("nice " * DEEPEST + "ls", PLACE)[1] is None
    found, why = read_line("nice " * (DEEPEST + 1) + "ls", PLACE)
    assert why == "commands are nested too deeply"
    assert max(o.tier for o in found) is Tier.DANGEROUS


@pytest.mark.parametrize(
    "line",
    [
        "bash",
        "bash x.sh",
        "bash -s",
        "bash < x",
        "echo $X | bash",
        "echo 'a\\nb' | sh",
        "printf '%s' ls | sh",
        "cat x | sh",
        "ls | sh",
        "python3 <<< 'print(1)'",
        "parallel ::: a",
        "xargs --frob ls",
        "find . -delete -name x -exec ';'",
    ],
)
def test_what_is_fed_and_not_known_is_dangerous(line: str) -> None:
    assert tier(line) is Tier.DANGEROUS


@pytest.mark.parametrize(
    "line",
    ["bash -c ls", "env ls", "nice ls", "exec ls", "eval ls", "trap - EXIT", "command -v ls", "find . -exec cat {} +"],
)
def test_running_something_safe_is_safe(line: str) -> None:
    assert tier(line) is Tier.SAFE


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("env -S 'ls $X'", "words inside a quoted argument are known only at run time"),
        ("env -S 'ls\\_x'", "words inside a quoted argument are known only at run time"),
        ('env -S "rm $X"', "words inside a quoted argument are known only at run time"),
        ("env -S 'ls #x' y", "words inside a quoted argument are known only at run time"),
        ("env -S 'rm \"x' y", "a quote inside an argument is not closed"),
    ],
)
def test_words_of_env_that_can_not_be_told_apart_are_unreadable(line: str, why: str) -> None:
    assert read_line(line, PLACE)[1] == why


@pytest.mark.parametrize("line", ["sudo ls", "doas ls", "su -c ls"])
def test_other_rights_are_destructive_whatever_runs(line: str) -> None:
    assert tier(line) is Tier.DESTRUCTIVE


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("find . -exec tee notes.txt \\;", Tier.SAFE),
        ("find . -execdir tee config \\;", Tier.DANGEROUS),
        ("find . -okdir tee config \\;", Tier.DANGEROUS),
        ("find . -execdir grep -l x {} +", Tier.SAFE),
    ],
)
def test_what_runs_where_something_was_found_writes_nobody_knows_where(line: str, expected: Tier) -> None:
    assert tier(line) is expected
