"""What lies above a link is, to a program, above where the link leads; a shell goes back by names."""

from __future__ import annotations

import posixpath

import pytest

from assent.analysis.lines.commands import read_line
from assent.analysis.resources.paths import Place
from assent.model import Facts, Operation

LINKS = {"/ws/src/ssl": "/etc/ssl"}


def resolve(path: str) -> str:
    """Follow the links of a small disk, folder by folder."""
    real = "/"
    for name in path.split("/"):
        real = posixpath.normpath(posixpath.join(real, name))
        real = LINKS.get(real, real)
    return real


def operations(line: str) -> list[Operation]:
    place = Place(Facts(home="/home/u", resolve=resolve), "/ws", ("/ws",))
    return list(read_line(line, place)[0])


@pytest.mark.parametrize(
    "line",
    [
        "env -C src/ssl/.. tee hosts <<< x",
        "cd src/ssl && env -C .. tee hosts <<< x",
        "cd src && env -C ../src/ssl/.. tee hosts <<< x",
        "cd -P src/ssl/.. && echo x > hosts",
        "cd src/ssl && cd -P .. && echo x > hosts",
        "cd src/ssl && echo x > ../hosts",
    ],
)
def test_a_file_above_a_link_lies_where_the_link_leads(line):
    found = [o for o in operations(line) if o.kind == "fs.write"]
    assert any("/etc/hosts" in (o.resource, o.target) or not o.resource.startswith("/ws") for o in found)


@pytest.mark.parametrize(
    "line", ["cd src/ssl && find .. -name shadow -exec cat {} +", "tar -C src/ssl/.. -cf - shadow"]
)
def test_a_secret_above_a_link_is_one(line):
    assert any(o.secret for o in operations(line))


@pytest.mark.parametrize("line", ["cd src/ssl/.. && echo x > hosts", "cd src/ssl && cd .. && echo x > notes.txt"])
def test_a_shell_goes_back_by_names(line):
    assert [o.resource.rpartition("/")[0] for o in operations(line) if o.kind == "fs.write"] == ["/ws/src"]
