"""A line for another shell is at least dangerous, is not taken for read, and the reason names that shell."""

from __future__ import annotations

import pytest

from assent.analysis.lines.commands import read_line
from assent.model import Tier
from lines import PLACE, tier, worst

#: a line, what the reason names
LINES = [
    ("Get-ChildItem -Recurse", "PowerShell"),
    ("Remove-Item -Recurse -Force x", "PowerShell"),
    ("ls | Where-Object Name -like x", "PowerShell"),
    ('$env:PATH = "x"', "PowerShell"),
    ("$x = 1", "PowerShell"),
    ("gci -r", "PowerShell"),
    ("iwr https://x.example -OutFile y", "PowerShell"),
    ("copy a b", "the Windows command prompt"),
    ("xcopy /s a b", "the Windows command prompt"),
    ("taskkill /f /im x", "the Windows command prompt"),
    ("set -x VAR val; and echo x", "fish"),
    ("test -f x; or echo no", "fish"),
    ("begin; ls; end", "fish"),
    ("ls -Recurse -Filter *.py", "PowerShell"),
    ("sort -Unique names.txt", "PowerShell"),
    ("echo $env:PATH", "PowerShell"),
    ("echo $PSVersionTable", "PowerShell"),
    ("ls env:", "PowerShell"),
    ("cd HKLM:", "PowerShell"),
    ("dir /s", "the Windows command prompt"),
    ("dir /a:h", "the Windows command prompt"),
    ("tree /f", "the Windows command prompt"),
    ("sort /r names.txt", "the Windows command prompt"),
    ('find /i "x" notes.txt', "the Windows command prompt"),
    ("whoami /all", "the Windows command prompt"),
    ("ipconfig /all", "the Windows command prompt"),
    ("cd C:\\code && dir", "the Windows command prompt"),
    ("dir C:\\Users", "the Windows command prompt"),
    ("echo %USERPROFILE%", "the Windows command prompt"),
    ("ls 2>nul", "the Windows command prompt"),
    ("set FOO=bar", "the Windows command prompt"),
    ("cls", "the Windows command prompt"),
    ("set -x PATH . $PATH", "fish"),
    ("set -e PATH", "fish"),
    ("set x 5", "fish"),
    ("alias ll 'ls -l'", "fish"),
    ("echo $argv", "fish"),
    ("setopt extendedglob", "zsh"),
    ("noglob ls *", "zsh"),
]


@pytest.mark.parametrize(("line", "shell"), LINES)
def test_a_line_for_another_shell_is_not_read(line: str, shell: str) -> None:
    found, unreadable = read_line(line, PLACE)
    assert max(o.tier for o in found) is not Tier.SAFE
    assert unreadable == f"looks like a command for {shell}, which Assent does not analyse"


@pytest.mark.parametrize(
    ("line", "shell"),
    [
        ("pwsh -Command Get-ChildItem", "PowerShell"),
        ("powershell -enc AAAA", "PowerShell"),
        ("fish -c ls", "fish"),
        ("cmd /c del x", "Windows"),
    ],
)
def test_a_command_that_starts_another_shell_names_it(line: str, shell: str) -> None:
    assert worst(line).tier is Tier.DANGEROUS
    assert shell in worst(line).reason


@pytest.mark.parametrize(
    "line",
    [
        *("ls", "type ls", "echo Get-ChildItem", "grep 'Remove-Item x' y", "grep '%PATH%' y", "ls -Rlah", "dir /tmp"),
        *("set -e", "set -euo pipefail", "set -- a b", "set - a b", "set -o pipefail", "set 5", "find /c -name x"),
        *(
            "alias ll",
            "echo $env",
            "sort Name",
            "cd /d",
            "ls C:/Users",
            "date +%Y%m%d%H",
            "x=1; status=$x; echo $status",
        ),
    ],
)
def test_what_bash_knows_too_stays_what_it_is(line: str) -> None:
    assert tier(line) is Tier.SAFE


@pytest.mark.parametrize("line", ["$X", "$X a = b", "frob", "$(ls) = x"])
def test_any_other_program_is_only_not_known(line: str) -> None:
    assert read_line(line, PLACE)[1] is None
    assert tier(line) is Tier.DANGEROUS
