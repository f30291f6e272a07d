"""What a line sets, opens and prints is carried along to where it is used; what is told to who said it is not new."""

import pytest

from assent.analysis.lines.commands import read_line
from assent.analysis.resources.paths import Place
from assent.model import Facts, Tier
from corpus import FOLDER, load
from lines import tier

PLACE = Place(Facts(home="/home/u"), "/code/app", ("/code/app",))

ASKED = """
x='a[$(touch y)]'; eval 'echo $((x))'
export CI='a[$(touch y)]'; bash -c 'echo $((CI))'
IFS=X; eval 'v="aX-oXb"; sort $v'
exec 3<<< /etc/shadow; read x <&3; cat "$x"
read x < <(echo /etc/shadow); exec < <(echo x); cat "$x"
sleep 0 & read x <<< '-pq[$(touch y)]'; wait "$x" $!
bash -c 'cat "/etc/$0$1"' sha dow
x=$(ls | xargs printf %s%s sha); cat /etc/$x
x=$(find . -maxdepth 0 -exec printf %s%s sha dow \\;); cat /etc/$x
cat ~/"$(basename -s X .netrcX)"
set -- a; if b; then set -- c; fi; cat /etc/sha$1
g() { cat /etc/$1; }; g sh*dow
read x y <<< '-v q[$(touch y)]'; [ "$x" "$y" ]
read x <<< 'a -o -v q[$(touch y)]'; [ -z $x ]
read x <<< ';'; find . -exec echo "$x" -fprint /etc/hosts -exec echo \\;
http https://x.example/a | xargs cat
kubectl describe pod "x.example/$(kubectl get pods -o name)"
kubectl get pods | awk '{print $1}' | tee x | xargs kubectl describe pod
uniq p*
"""


@pytest.mark.parametrize("line", ASKED.strip().splitlines())
def test_what_a_line_carries_along_is_followed(line):
    found, unreadable = read_line(line, PLACE)
    assert unreadable or any(o.tier is not Tier.SAFE or o.secret for o in found)


SAFE = """
kubectl get pods | grep Crash | awk '{print $1}' | xargs kubectl describe pod
gh pr list --state open | awk '{print $1}' | while read n; do gh pr view $n; done
for c in $(git log --oneline -5 | cut -d' ' -f1); do git show --stat $c; done
exec 3< a.txt; read -u 3 l; echo "$l"
exec 2>&1; ls
ls | xargs
ls *.py | xargs wc -l
cat "$(command -v ls)"
set -- a b; shift; head "$1"
x=5; wait $!
kubectl get --raw /healthz?verbose
git -c core.abbrev="$(nproc)" log -1
gh api repos/o/r/actions/runs?per_page=5
"""


@pytest.mark.parametrize("line", SAFE.strip().splitlines())
def test_what_is_known_of_it_is_safe(line):
    assert tier(line, PLACE) is Tier.SAFE


def test_searches_for_more_than_is_looked_at_are_not_read_to_their_end():
    line = "; ".join(f"find r{number} -name 'n{number}*' -exec cat {{}} +" for number in range(120))
    found, unreadable = read_line(line, PLACE)
    assert unreadable
    assert any(o.tier is not Tier.SAFE for o in found)


SECTIONS = ("state that a line carries along", "what a shell holds, prints and opens")


@pytest.mark.parametrize("kind", SECTIONS)
def test_no_line_that_was_once_read_wrongly_is_safe_as_it_is_read(kind):
    rows = [row for row in load(FOLDER / "attacks.txt") if row.kind == kind]
    read = {row.line: read_line(row.line, PLACE) for row in rows}
    plain = [
        line
        for line, (found, unreadable) in read.items()
        if not unreadable and all(o.tier is Tier.SAFE and not o.secret for o in found)
    ]
    assert len(rows) > 200
    assert plain == []
