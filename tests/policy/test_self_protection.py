"""Self-protection goes by what happens to a folder: what holds Assent's own files is as safe as they are."""

from __future__ import annotations

import posixpath

import msgspec
import pytest

from assent.model import Consent, Session, Source, Verdict
from scenes import HOME, judge, policy, rules, view_of, world

ALLOW, ASK, DENY = Verdict
OWN = f"{HOME}/.local/share/assent"
FILE = f"{HOME}/.config/assent/assent.yaml"
HOOK = f"{HOME}/.claude/settings.json"
PROGRAM = f"{HOME}/.local/bin/assent"
WORKSPACE = f"{HOME}/proj"
SESSION = Session(id="s", user="ann", agent="bot", workspace=(WORKSPACE,))
FOLDERS = {
    *("/", "/home", HOME, f"{HOME}/.local", f"{HOME}/.local/share", OWN, f"{HOME}/.local/bin", f"{HOME}/.config"),
    *(f"{HOME}/.config/assent", f"{HOME}/.claude", WORKSPACE, f"{WORKSPACE}/src", "/tmp", "/backup"),
}
FILES = {FILE, HOOK, PROGRAM, f"{WORKSPACE}/a.txt", f"{WORKSPACE}/conftest.py"}


def there(path: str) -> bool:
    found = posixpath.normpath(path)
    return found in FOLDERS or (found in FILES and not path.endswith("/."))


FACTS = world(links={}, exists=there, assent_paths=(OWN,), assent_files=(FILE, HOOK, PROGRAM))

LOOSEST = policy(mode="bypassPermissions", classifier=False, allow=["*", "Bash", "Read", "Write"])
EVERYTHING = Consent(destructive=True, yes=True)

GONE = [
    "rm -rf ~",
    "rm -rf ~/",
    "rm -rf /",
    "rm -rf /*",
    "rm -rf ~/*",
    "rm -rf ~/.*",
    "rm -rf ~/.[a-z]*",
    "rm -rf /home",
    "rm -rf /home/*",
    "rm -rf ..",
    "rm -rf ../.config",
    "rm -r ~/.local",
    "rm -r ~/.local/bin",
    "rm -r ~/.claude",
    "cd ~ && rm -rf .",
    "cd ~ && rm -rf .local",
    "cd / && rm -rf home",
    "sudo rm -rf ~",
    "rmdir -p ~/.config/assent",
    "unlink ~/.local",
    "mv ~ /tmp/x",
    "mv ~/.config /tmp/x",
    "mv -t /tmp ~/.local",
    "mv ~/.* /tmp",
    "mv -T /tmp/x ~/.config",
    "mv --exchange /tmp/x ~/.config",
    "find ~ -delete",
    "find / -delete",
    "find ~ -type f -delete",
    "find ~ -exec rm -rf {} +",
    "find ~/.local -mindepth 1 -delete",
    "cd ~ && find -delete",
    "chmod -R 777 ~",
    "chmod -R u-w ~/.config",
    "chmod 000 ~",
    "chmod 755 /",
    "chmod a-x ~/.local/share",
    "chown -R nobody ~",
    "chown nobody ~/.config",
    "chgrp -R users /home",
    "chattr -R +i ~",
    "chattr +i ~/.config",
    "setfacl -R -m u:nobody:rwx ~",
    "setfacl -b ~/.local",
    "rsync -a --delete empty/ ~/",
    "rsync -a --delete-after empty/ ~/.config/",
    "rsync -a --remove-source-files ~/ /backup/",
    "git -C ~ clean -fdx",
    "cd ~ && git clean -f",
    "git clean -fdx ~",
    "ln -sfn /tmp/x ~/.config",
    "ln -sfT /tmp/x ~/.config/assent",
    "shred -u ~/.config/assent/*",
    "trash-put ~/.local",
    "gio trash ~/.config",
    "mount --bind /tmp ~",
    "umount ~",
    "mount -t tmpfs tmpfs ~/.config",
    "bash -c 'rm -rf ~'",
    "eval 'rm -rf ~'",
    "rm -rf {~,/tmp/x}",
    "x=~; rm -rf $x",
    "git mv ~/.config ~/x",
    "git rm -r ~/.config",
    "rclone purge ~/.config",
    "rclone sync empty ~",
]
"""Lines that delete, move, replace or re-permission a folder in which Assent's own files are."""

PERHAPS = [
    "cp -r x ~/.config",
    "cp -a x/. ~",
    "cp -rT x ~/.config",
    "cp -r -t ~ x",
    "cp -r x/assent ~/.config/",
    "mv x/assent ~/.config/",
    "mv x/.config ~",
    "tar -C ~ -xf a.tar",
    "tar -xf a.tar -C ~/.config",
    "tar -xPf a.tar",
    "cd ~ && tar xf a.tar",
    "bsdtar -x -f a.tar -C ~",
    "unzip a.zip -d ~",
    "unzip -o a.zip -d ~/.local",
    "cd ~ && unzip a.zip",
    "7z x a.7z -o/home/dev",
    "cd ~ && 7z x a.7z",
    "cd ~ && cpio -id < a.cpio",
    "unsquashfs -d ~ a.sqfs",
    "rsync -a x/ ~/",
    "rsync -a h:x/ ~/.config/",
    "rm -rf ~/$X",
    "rm -rf ~/.local/$X",
    "rm -rf /$X",
    "echo x > ~/.config/$X",
    "find ~ -name '*.db' -delete",
    "find ~ -mtime +9 -exec rm {} +",
    "ln -sf x/assent ~/.config",
    "git -C ~ checkout -f main",
    "git -C ~ reset --hard",
    "git --work-tree=/home/dev checkout -f",
    "git -C ~ apply x.patch",
    "cd ~ && patch -p1 -i x.diff",
    "patch -d ~ -p1 -i x.diff",
    "git clone x ~/.config/assent",
    "echo ~ | xargs rm -rf",
    "cp x/* ~/.config/",
    "mv x/.* ~",
    "cp $X ~",
    "cpio -i < a.cpio",
    "pip uninstall -y assent",
    "pip install assent==0.0.1",
    "python -m pip uninstall -y assent",
    "uv tool uninstall assent",
    "sudo apt-get remove assent",
    "frobnicate ~/.config/assent/assent.yaml",
    "frobnicate ~/.local/share/assent",
]
"""Lines that may write over Assent's own files, or put them where there are none yet: what they bring is not known."""

FREE = [
    "rm -r build",
    "rm -rf ~/proj/build",
    "rm -rf ~/.cache/pip",
    "rm -rf /tmp/x",
    "rm -rf ~/.local/share/other",
    "rm -rf src/*",
    "mv a.txt ~/",
    "mv a.txt src/",
    "mv src lib",
    "cp a.txt ~/",
    "cp a.txt ~/.config/",
    "cp -r src lib",
    "cp -r src/. lib",
    "tar -xf a.tar",
    "tar -xf a.tar -C /tmp",
    "unzip a.zip",
    "unzip a.zip -d build",
    "rsync -a --delete src/ build/",
    "rsync -a a.txt ~/",
    "chmod -R u+w .",
    "chmod +x build.sh",
    "find . -name '*.pyc' -delete",
    "find . -exec touch {} +",
    "find /tmp/x -delete",
    "git clean -fdx",
    "git checkout -f main",
    "git reset --hard",
    "git apply x.patch",
    "patch -p1 -i x.diff",
    "git clone x y",
    "ln -s a.txt b.txt",
    "ln -s /tmp/x ~/x",
    "ln -s /tmp/x ~/.config/",
    "scp -r h:x ~",
    "cp *.txt ~",
    "pip install other",
    "pip show assent",
    "uv run assent check ls",
    "mkdir -p ~/.config/other",
    "mkdir -p ~/.local/share",
    "touch ~/x",
    "echo x > ~/notes",
    "ls -la ~",
    "du -sh ~",
    "find ~ -name '*.py'",
    "echo x > $X",
    "rm -r $X",
    "cp conftest.py conftest.bak",
    "cat ~/.config/assent/assent.yaml",
    "frobnicate ~/.config/other",
    "frobnicate ~",
]
"""Everyday lines beside them."""


def said(line: str, facts=FACTS, loose=(LOOSEST,), consent=None):
    view = view_of("Bash", {"command": line}, cwd=WORKSPACE, facts=facts, session=SESSION)
    decision = judge(view, *loose, consent=consent or Consent())
    return decision, [o for o in decision.opinions if o.policy == "self-protection"]


@pytest.mark.parametrize("line", GONE)
def test_a_folder_with_assent_s_own_files_in_it_is_not_taken_away(line):
    for consent in (Consent(), EVERYTHING):
        decision, found = said(line, consent=consent)
        assert (decision.verdict, decision.decision_source) == (DENY, Source.PROTECTION)
        assert found


@pytest.mark.parametrize("line", PERHAPS)
def test_what_may_write_over_assent_s_own_files_is_asked_about_firmly(line):
    decision, found = said(line)
    assert (decision.verdict, {o.verdict for o in found}) == (ASK, {ASK})
    assert all(o.firm for o in found)
    assert said(line, consent=EVERYTHING)[0].verdict is ALLOW


@pytest.mark.parametrize("line", FREE)
def test_everyday_lines_beside_assent_s_own_files_go_on(line):
    decision, found = said(line)
    assert found == []
    assert decision.verdict is ALLOW


def test_no_rule_and_no_person_gives_assent_away():
    destroying = policy(allow=[msgspec.structs.replace(rules("Bash")[0], destructive=True)])
    for policies in ((), (destroying,), (policy(mode="bypassPermissions"),)):
        assert said("rm -rf ~", loose=policies, consent=EVERYTHING)[0].verdict is DENY
    assert said("rm -rf ~/proj/build", loose=(destroying,))[0].verdict is ALLOW


def test_who_deletes_everything_is_told_that_first():
    decision, found = said("rm -rf /", loose=())
    assert (decision.decision_source, decision.decision_reason) == (
        Source.CLASSIFIER,
        "rm deletes whole trees",
    )
    assert {o.verdict for o in found} == {DENY}


def test_a_tool_that_deletes_takes_all_that_is_in_a_folder():
    for path, denied in ((f"{HOME}/.local", True), (FILE, True), (f"{WORKSPACE}/src", False)):
        view = view_of("Delete", {"path": path}, cwd=WORKSPACE, facts=FACTS, session=SESSION)
        assert (judge(view, LOOSEST, consent=EVERYTHING).verdict is DENY) is denied


#: line, what is written where the named things arrive
ARRIVALS = [
    ("cp x/.bashrc ~", f"{HOME}/.bashrc"),
    ("cp x/assent.yaml .", f"{WORKSPACE}/assent.yaml"),
    ("mv x/.envrc .", f"{WORKSPACE}/.envrc"),
    ("cp -t . x/.envrc a.txt", f"{WORKSPACE}/.envrc"),
    ("install -m 755 x/pre-commit .git/hooks", f"{WORKSPACE}/.git/hooks"),
    ("ln -s /tmp/conftest.py src/", f"{WORKSPACE}/src/conftest.py"),
    ("mkdir new && cp x/conftest.py new", f"{WORKSPACE}/new/conftest.py"),
    ("scp h:x/.envrc .", f"{WORKSPACE}/.envrc"),
    ("rsync -a h:x/.mcp.json ./", f"{WORKSPACE}/.mcp.json"),
    ("cp x/.env* .", f"{WORKSPACE}/.envrc"),
    ("git mv x/.envrc .", f"{WORKSPACE}/.envrc"),
]


@pytest.mark.parametrize(("line", "path"), ARRIVALS)
def test_what_arrives_in_a_folder_is_written_by_its_own_name(line, path):
    view = view_of("Bash", {"command": line}, cwd=WORKSPACE, facts=FACTS, session=SESSION)
    decision = judge(view, LOOSEST)
    assert decision.verdict is ASK
    assert path in {o.reason.partition(" ")[0] for o in decision.opinions if o.policy == "control-plane"}


def test_a_copy_by_another_name_is_that_file_alone():
    view = view_of("Bash", {"command": "cp x/conftest.py a.txt"}, cwd=WORKSPACE, facts=FACTS, session=SESSION)
    assert [o.resource for o in view.reading.operations[1:]] == [f"{WORKSPACE}/x/conftest.py", f"{WORKSPACE}/a.txt"]


def test_a_deny_on_a_file_is_about_what_arrives_there():
    loose = policy(mode="bypassPermissions", deny=["Write(src/prod.yaml)"])
    for line in ("cp x/prod.yaml src/", "cp x/prod.yaml src", "mv x/prod.yaml src", "find src -delete", "rm -r src"):
        assert said(line, loose=(loose,))[0].verdict is DENY
    assert said("cp x/test.yaml src", loose=(loose,))[0].verdict is ALLOW


@pytest.mark.parametrize("line", ["cp x/conftest.py new", "cp x/conftest.py /data", "cp x/conftest.py /ws/b/"])
def test_where_the_disk_can_not_be_seen_anything_may_be_a_folder(line):
    decision, _ = said(line, facts=world(assent_paths=(OWN,), assent_files=(FILE,)))
    assert decision.verdict is ASK
