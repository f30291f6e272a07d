"""An allow covers no option that redirects what runs, unless it spells it. Denies and asks find it as ever."""

from __future__ import annotations

import pytest

from assent.model import ALLOW, ASK, DENY, Certainty, Consent, Grant, Rule
from assent.policy.rules.containment import contains
from assent.policy.rules.match import compile_rule
from assent.policy.rules.parse import parse_rule
from scenes import judge, policy, view_of

YES, NO = Certainty.YES, Certainty.NO


def run(line):
    return view_of("Bash", {"command": line})


def match(rule, view, *, broad):
    return compile_rule(parse_rule(rule)).match(view.reading.operations[0], view, broad=broad)


#: pattern, command, as an allow; as a deny it matches each
TABLE = [
    ("npm test:*", "npm test", YES),
    ("npm test:*", "npm test --silent", YES),
    ("npm test:*", "npm test --script-shell=./evil.sh", NO),
    ("npm test:*", "npm test --prefix ../other", NO),
    ("npm test:*", "npm test --node-options=--require=./x", NO),
    ("npm test --prefix:*", "npm test --prefix web", YES),
    ("npm test --prefix web:*", "npm test --prefix web --prefix ../other", NO),
    ("npm test --prefix=*", "npm test --prefix=web", YES),
    ("npm test --prefix=*:*", "npm test --prefix=web --silent", YES),
    ("npm test --prefix=*:*", "npm test --prefix=web --prefix=../other", NO),
    ("npm test --prefix=*:*", "npm test --prefix=web --script-shell=x", NO),
    ("npm test --p*", "npm test --prefix=web", NO),
    ("npm * --prefix web:*", "npm test --prefix web", YES),
    ("npm * --prefix web:*", "npm test --script-shell=x --prefix web", NO),
    ("make:*", "make test", YES),
    ("make:*", "make -C ../other", NO),
    ("make:*", "make SHELL=./x", NO),
    ("make -C lib:*", "make -C lib test", YES),
    ("make -C *:*", "make -C lib test", YES),
    ("git:*", "git push origin main", YES),
    ("git:*", "git -c core.sshCommand=./x push", NO),
    ("git:*", "git -C /code/app log", YES),
    ("git -C * push:*", "git -C /x push origin", YES),
    ("cargo test:*", "cargo test --manifest-path ../x", NO),
    ("pytest:*", "pytest -p evil", NO),
    ("go test:*", "go test -exec ./x ./...", NO),
    ("gradle test:*", "gradle test -I x", NO),
    ("docker build:*", "docker build -f ../x .", NO),
    ("kubectl delete:*", "kubectl delete pod x --context prod", NO),
    ("ssh:*", "ssh host uptime", YES),
    ("ssh:*", "ssh -o ProxyCommand=./x host", NO),
    ("ssh host:*", "ssh host -Fx", NO),
    ("sftp:*", "sftp -S ./x h", NO),
    ("scp:*", "scp -D ./x a h:b", NO),
    ("cargo:*", "cargo +mine test", NO),
    ("make:*", "make 'SHELL =./x'", NO),
    ("ninja:*", "ninja -vC x", NO),
    ("pytest:*", "pytest -qpx", NO),
    ("pytest:*", "pytest --tx popen//python=./x", NO),
    ("python3 -m unittest:*", "python3 -m unittest discover -s ..", NO),
    ("cmake --build build:*", "cmake --build build -j4", YES),
    ("cmake --build build:*", "cmake --build build -- SHELL=./x", NO),
    ("git send-email:*", "git send-email --sendmail-cmd=./x y", NO),
    ("podman:*", "podman --conmon ./x run y", NO),
    ("gcc:*", "gcc -O2 -c a.c", YES),
    ("gcc:*", "gcc -B./x a.c", NO),
    ("gcc:*", "gcc -fplugin=./x.so a.c", NO),
    ("gcc:*", "gcc -wrapper ./x a.c", NO),
    ("gcc:*", "gcc @words", NO),
    ("rustc:*", "rustc -C linker=./x a.rs", NO),
    ("rustc:*", "rustc -Clinker=./x a.rs", NO),
    ("javac:*", "javac -processorpath x A.java", NO),
    ("javac:*", "javac -d out A.java", YES),
    ("phpunit:*", "phpunit --bootstrap x.php", NO),
    ("lerna run test:*", "lerna run test --npm-client ./x", NO),
    ("pytest:*", "pytest @words", NO),
    ("python -m pytest:*", "python -m pytest @words", NO),
    ("pytest:*", "pytest tests -k 'a@b'", YES),
    ("dotnet test:*", "dotnet test @words", NO),
    ("dotnet test:*", "dotnet test --no-build", YES),
    ("mypy:*", "mypy @words", NO),
    ("tsc:*", "tsc @words", NO),
    ("ruff check:*", "ruff check @words", NO),
    ("protoc:*", "protoc @words", NO),
    ("nm:*", "nm @words", NO),
    ("clang-format:*", "clang-format @words x.c", NO),
    ("deno test:*", "deno test src", YES),
    ("deno test:*", "deno test -A", NO),
    ("deno test:*", "deno test --allow-run=sh", NO),
    ("deno test -A:*", "deno test -A src", YES),
    ("less:*", "less --lesskey-src=x y", NO),
    ("less:*", "less --lesskey-content=x y", NO),
    ("less:*", "less '+!sh' y", NO),
    ("less:*", "less -Nkx y", NO),
    ("less:*", "less +G y", YES),
    ("more:*", "more +/x y", NO),
    ("vim:*", "vim src/a.c", YES),
    ("vim:*", "vim -c '!sh' x", NO),
    ("vim:*", "vim '+!sh' x", NO),
    ("vim:*", "vim -S x", NO),
    ("curl:*", "curl -K x", NO),
    ("curl:*", "curl --unix-socket /run/docker.sock http://x/", NO),
    ("zip:*", "zip x.zip a -T -TT ./x", NO),
    ("ack:*", "ack --ackrc=x y", NO),
    ("rhash:*", "rhash --embed-crc x", YES),
    ("bat:*", "bat --pager=./x y", NO),
    ("ugrep:*", "ugrep --pager ./x y", NO),
    ("fzf:*", "fzf --bind 'start:execute(./x)'", NO),
    ("actionlint:*", "actionlint -shellcheck=./x", NO),
    ("clang-tidy:*", "clang-tidy -load=./x.so y.c", NO),
    ("cloc:*", "cloc --vcs=./x .", NO),
    ("tshark:*", "tshark -r x -X lua_script:x", NO),
    ("nginx:*", "nginx -g 'load_module ./x.so;' -t", NO),
    ("man:*", "man --html=./x ls", NO),
    ("wget:*", "wget -e use_proxy=yes https://x.example", NO),
    ("node --test:*", "node --test -r ./x", NO),
    ("php -l:*", "php -l -d auto_prepend_file=x y", NO),
    ("docker run:*", "docker run --privileged x", NO),
    ("docker run:*", "docker run --rm x ls", YES),
    ("docker exec:*", "docker exec --privileged x ls", NO),
    ("stripe customers list:*", "stripe customers list --api-base https://x.example", NO),
    ("git diff:*", "git diff --ext-diff", NO),
    ("git log:*", "git log -p --textconv", NO),
    ("*", "npm test --script-shell=./evil.sh", YES),
]


@pytest.mark.parametrize(("pattern", "line", "allowed"), TABLE)
def test_an_allow_must_spell_an_option_that_redirects_what_runs(pattern, line, allowed):
    assert match(f"Bash({pattern})", run(line), broad=False) is allowed
    assert match(f"Bash({pattern})", run(line), broad=True) is YES


def test_the_bare_tool_covers_it_as_it_covers_everything():
    assert match("Bash", run("npm test --script-shell=./evil.sh"), broad=False) is YES


def test_a_rule_and_a_standing_answer_ask_about_it_alike():
    evil, good = run("npm test --script-shell=./evil.sh"), run("npm test")
    rule = policy(allow=["Bash(npm test:*)"])
    assert [judge(call, rule).verdict for call in (good, evil)] == [ALLOW, ASK]
    said = Consent(grants=(Grant(id="g", rule=parse_rule("Bash(npm test:*)")),))
    assert [judge(call, consent=said).verdict for call in (good, evil)] == [ALLOW, ASK]


def test_what_a_deny_leaves_out_is_left_out_as_far_as_it_is_spelled():
    rule = Rule(tool="Bash", pattern="npm:*", exceptions=("npm test:*",))
    evil, good = run("npm test --script-shell=./evil.sh"), run("npm test")
    assert [judge(call, policy(deny=[rule])).verdict for call in (good, evil)] == [ASK, DENY]


def test_a_rule_with_such_an_option_is_no_repetition_of_the_wider_one():
    wide, narrow, plain = (
        compile_rule(parse_rule(text)) for text in ("Bash(npm:*)", "Bash(npm --prefix web:*)", "Bash(npm test:*)")
    )
    assert not contains(wide, narrow, broad=False, narrow_broad=False)
    assert contains(wide, plain, broad=False, narrow_broad=False)
    assert contains(wide, narrow, broad=True, narrow_broad=True)
