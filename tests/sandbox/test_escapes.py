"""Ways out of a sandbox, each tried for real by something that knows nothing of Assent: shell, or a program in C."""

import os
import shlex
import socket
import subprocess

import pytest
from driver import make_repository

SECRET = "the-secret-text"


def test_a_protected_file_is_read_and_not_written(world):
    make_repository(world)
    before = (world.workspace / ".git/config").read_text()
    done = world.sh("cat .git/config && echo evil >> .git/config")
    assert before in done.stdout
    assert "Read-only file system" in done.stderr
    assert (world.workspace / ".git/config").read_text() == before


def test_a_folder_above_a_protected_one_can_not_be_renamed(world):
    make_repository(world)
    done = world.sh("mv .git .git2; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; mv .git/info .git/info2")
    assert "busy" in done.stderr
    assert not (world.workspace / ".git2").exists()
    assert not (world.workspace / ".git/hooks/pre-commit").exists()
    assert not (world.workspace / ".git/info2").exists()


@pytest.mark.parametrize("place", [".claude/hooks", ".vscode/a/b", ".husky/_", ".git/hooks/lib"])
def test_nothing_hidden_or_protected_in_a_protected_folder_opens_the_folders_on_the_way(own_world, place):
    make_repository(own_world)
    own_world.write(f"{place}/.env", "TOKEN=x")
    own_world.write(f"{place}/deep/.env", "TOKEN=x")
    own_world.write("sub/deep/.env", "TOKEN=x")
    done = own_world.sh(
        f"echo > {place}/new; echo > {place}/deep/new; mv {place} {place}2; echo > sub/deep/new; mv sub s"
    )
    assert not (own_world.workspace / place / "new").exists()
    assert not (own_world.workspace / place / "deep/new").exists()
    assert (own_world.workspace / place / ".env").exists()
    assert done.stderr.count("Read-only file system") >= 2
    assert (own_world.workspace / "sub/deep/new").exists()


@pytest.mark.parametrize(
    "name",
    [
        ".mcp.json",
        ".claude/settings.json",
        ".vscode/tasks.json",
        ".envrc",
        ".git/hooks/pre-commit",
        ".codex/config.toml",
    ],
)
def test_a_protected_name_that_does_not_exist_can_not_be_made(world, name):
    world.sh(
        f"mkdir -p $(dirname {name}); chmod 777 {name.split('/', maxsplit=1)[0]}; echo evil > {name};"
        f"rmdir {name}; mv x {name}"
    )
    assert world.left_over() == []


@pytest.mark.parametrize("name", ["config.worktree", "info/attributes", "commondir", "hooks/post-checkout"])
def test_a_repository_s_store_takes_no_new_settings(world, name):
    make_repository(world)
    done = world.sh(
        f"echo evil > .git/{name}; rm -rf .git/{name}; cp /etc/hostname .git/{name};git status >/dev/null && echo works"
    )
    assert "works" in done.stdout
    assert not (world.workspace / ".git" / name).exists()


@pytest.mark.parametrize(
    ("folder", "mode", "name"),
    [(".", 0o500, ".envrc"), (".git", 0o500, "config.worktree"), (".git/info", 0, "attributes")],
)
def test_nor_in_a_folder_that_its_owner_closed_and_could_open(world, folder, mode, name):
    world.write(".git/HEAD", "ref: refs/heads/main\n")
    world.write(".git/config", "")
    closed = world.workspace / folder
    closed.mkdir(exist_ok=True)
    world.give(closed)
    closed.chmod(mode)
    done = world.sh(f"chmod 755 {folder}; echo x > {folder}/{name}")
    closed.chmod(0o755)
    assert not (closed / name).exists()
    if world.launcher == "user":
        assert "closed to its owner" in done.stderr
        assert done.returncode == 4


@pytest.mark.parametrize("there", [True, False])
def test_hooks_and_settings_that_a_repository_keeps_elsewhere_are_protected(own_world, there):
    make_repository(own_world)
    store = own_world.workspace / ".git/config"
    store.write_text(store.read_text() + "[core]\n\thooksPath = tools/hooks # ours\n[include] path = ../local.cfg\n")
    own_world.write("local.cfg", "[user]\n")
    own_world.write("tools/build", "x")
    if there:
        own_world.write("tools/hooks/pre-commit", "old")
    own_world.sh(
        "mkdir -p tools/hooks; echo evil > tools/hooks/pre-commit; mv tools tools2; echo evil >> local.cfg;"
        "echo new > tools/build; git status"
    )
    hook = own_world.workspace / "tools/hooks/pre-commit"
    assert (hook.read_text() if there else hook.exists()) == ("old" if there else False)
    assert (own_world.workspace / "local.cfg").read_text() == "[user]\n"
    assert (own_world.workspace / "tools/build").read_text() == "new\n"
    assert (own_world.workspace / "tools/hooks").exists() is there


def test_the_other_files_of_a_workspace_are_still_written(world):
    make_repository(world)
    done = world.sh(
        "mkdir -p src .github && echo a > src/a && echo b > .gitignore && echo c > conftest.py && ls -A src"
    )
    assert (done.returncode, done.stdout) == (0, "a\n")
    assert {"src/a", ".gitignore", "conftest.py"} <= set(world.left_over())


def test_a_symbolic_link_out_of_the_workspace_leads_nowhere(world):
    target = world.write(world.outside / "file", "old")
    done = world.sh(f"ln -s {target} link; ln -s {world.outside} folder; echo evil > link; echo evil > folder/new")
    assert done.returncode != 0
    assert target.read_text() == "old"
    assert not (world.outside / "new").exists()


@pytest.mark.parametrize("name", [".git/config", ".git/hooks/pre-commit", ".claude/hooks/run.sh", ".husky/_/a/h"])
def test_a_protected_file_with_a_second_name_is_not_started_with(own_world, name):
    make_repository(own_world)
    file = own_world.workspace / name
    own_world.write(name, "") if not file.exists() else None
    os.link(file, own_world.workspace / "second")
    done = own_world.sh("echo evil >> second")
    assert done.returncode == 4
    assert "hard link" in done.stderr
    assert "evil" not in file.read_text()


def test_no_hard_link_is_made_to_a_protected_or_outer_file(world):
    make_repository(world)
    target = world.write(world.outside / "file", "old")
    done = world.sh(f"ln .git/config second; ln {target} third; ls")
    assert "second" not in done.stdout
    assert "third" not in done.stdout
    assert target.stat().st_nlink == 1


def test_a_protected_name_that_is_a_symbolic_link_is_not_started_with(world):
    (world.workspace / "evil").mkdir()
    (world.workspace / ".vscode").symlink_to("evil")
    done = world.sh("echo started")
    assert (done.returncode, done.stdout) == (4, "")
    assert "symbolic link" in done.stderr


@pytest.fixture
def listener(world):
    server = socket.socket(socket.AF_UNIX)
    path = world.base / "daemon.sock"
    server.bind(str(path))
    path.chmod(0o777)
    server.listen()
    yield path
    server.close()


def test_a_unix_socket_of_the_host_is_not_reached(world, probe, listener):
    assert probe("unix", listener) == "blocked: EACCES"


def test_nor_where_a_profile_lets_unix_sockets_be_opened(world, probe, listener):
    world.configure("profiles: {mine: {unix_sockets: yes}}")
    assert probe("unix", listener, options=["--profile", "mine"]).startswith("blocked: ")


@pytest.fixture
def hearer(world):
    """Whoever takes datagrams listens to nobody in particular."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    path = world.base / "log.sock"
    server.bind(str(path))
    path.chmod(0o777)
    server.setblocking(False)
    yield server, path
    server.close()


@pytest.mark.parametrize("kind", ["dgram", "raw", "stream", "seqpacket"])
def test_nor_from_one_of_a_pair(world, probe, hearer, kind):
    server, path = hearer
    assert probe(f"pair-{kind}", path).startswith("blocked: ")
    with pytest.raises(BlockingIOError):
        server.recv(1)


def test_nor_by_datagrams_where_a_profile_lets_unix_sockets_be_opened(world, probe, hearer):
    server, path = hearer
    world.configure("profiles: {mine: {unix_sockets: yes}}")
    assert probe("pair-dgram", path, options=["--profile", "mine"]).startswith("blocked: ")
    with pytest.raises(BlockingIOError):
        server.recv(1)


def test_pairs_of_other_families_are_not_made_and_those_that_programs_use_are(world, probe):
    assert probe("pair-tipc") == "blocked: EACCES"
    done = world.run("python3", "-c", "import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))")
    assert done.stdout == "b'x'\n", done.stderr


def test_an_abstract_socket_and_the_host_s_loopback_are_not_reached(world, probe):
    world.configure("profiles: {mine: {unix_sockets: yes}}")
    name = f"assent-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server, socket.create_server(("127.0.0.1", 0)) as tcp:
        server.bind("\0" + name)
        server.listen()
        assert probe("abstract", name, options=["--profile", "mine"]).startswith("blocked: ")
        assert probe("tcp", tcp.getsockname()[1]) == "blocked: ECONNREFUSED"


def test_with_the_network_full_the_host_s_loopback_is_reached_so_that_the_probe_can_be_trusted(world, probe):
    world.configure("profiles: {mine: {network: full}}")
    with socket.create_server(("127.0.0.1", 0)) as tcp:
        assert probe("tcp", tcp.getsockname()[1], options=["--profile", "mine"]) == "GOT THROUGH"


def test_no_descriptor_of_the_launcher_is_inherited(world, probe):
    secret = world.write(world.outside / "secret", SECRET)
    with secret.open() as file:
        os.set_inheritable(file.fileno(), True)
        assert probe("fds", pass_fds=[file.fileno()]) == "none"
        done = world.sh("cat /proc/self/fd/[3-9]* /proc/self/fd/[1-9][0-9]*; ls /proc/1/fd", pass_fds=[file.fileno()])
    assert SECRET not in done.stdout


@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_nor_where_a_stream_is_closed(world, closing):
    line = shlex.join(world.argv("sh", "-c", "readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2 > seen; exit 7"))
    done = world.run(argv=["sh", "-c", f"{line} {closing}"])
    assert done.returncode == 7
    seen = (world.workspace / "seen").read_text().splitlines()
    assert "/dev/null" in seen
    assert not [name for name in seen if "anon_inode" in name or "socket" in name]


@pytest.mark.parametrize("name", [".git/config", ".envrc", ".env"])
def test_a_protected_or_hidden_file_given_to_be_read_is_not_written(world, name):
    make_repository(world)
    file = world.write(name, "old\n")
    with file.open() as given:
        done = world.sh("echo evil > /proc/self/fd/0", stdin=given)
    assert done.returncode == 4
    assert "send it through a pipe" in done.stderr
    assert file.read_text() == "old\n"


def test_any_other_file_is_given_as_it_is(world):
    with world.write("input", "text").open() as given:
        assert world.sh("cat", stdin=given).stdout == "text"


def test_a_folder_is_no_stream(world):
    folder = os.open(world.outside, os.O_RDONLY)
    try:
        done = world.sh("ls /proc/self/fd/2/..", stderr=folder, stdout=subprocess.PIPE, capture_output=False)
    finally:
        os.close(folder)
    assert (done.returncode > 0, done.stdout) == (True, "")  # what it says cannot be said there either


def test_the_environment_is_a_list_without_secrets(world):
    said = {
        "GITHUB_TOKEN": SECRET,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "MY_THING": SECRET,
        "LD_PRELOAD": "/nothing.so",
        "PIP_INDEX_URL": f"https://user:{SECRET}@index.test/simple",
    }
    done = world.sh("env; cat /proc/[0-9]*/environ", environ=said)
    assert SECRET not in done.stdout
    assert "LD_PRELOAD" not in done.stdout
    assert "PIP_INDEX_URL=https://index.test/simple" in done.stdout


def test_a_variable_that_a_profile_names_is_passed_on(world):
    world.configure("profiles: {mine: {environment: [MY_TOKEN]}}")
    done = world.sh("echo $MY_TOKEN", environ={"MY_TOKEN": SECRET}, options=["--profile", "mine"])
    assert done.stdout == SECRET + "\n"


def test_the_system_s_passwords_and_the_user_s_keys_are_not_read(world):
    world.write(world.home / ".ssh/id_rsa", SECRET)
    world.write(world.home / ".aws/credentials", SECRET)
    world.write(".env", SECRET)
    world.write(".env.example", "shown")
    done = world.sh("cat /etc/shadow ~/.ssh/id_rsa ~/.aws/credentials .env; cat .env.example")
    assert done.stdout == "shown"
    assert done.stderr.count("denied") + done.stderr.count("No such file") >= 4


def test_assent_s_own_home_is_not_seen(world):
    world.write(world.assent_home / "token", SECRET)
    if world.launcher == "user":
        world.give(world.assent_home)
    done = world.sh("cat $0/token; echo evil > $0/token; ls -A $0", environ={}, options=[])
    done = world.run("sh", "-c", f"cat {world.assent_home}/token; ls {world.assent_home}; rm -rf {world.assent_home}")
    assert SECRET not in done.stdout
    assert (world.assent_home / "token").read_text() == SECRET


@pytest.mark.parametrize("there", ["file", "folder", "nothing"])
def test_the_user_s_own_rules_are_not_written_where_they_lie_in_the_workspace(world, there):
    rules = world.workspace / "config/assent/assent.yaml"
    (world.workspace / "config/other").mkdir(parents=True)
    if there != "nothing":
        rules.parent.mkdir()
    if there == "file":
        rules.write_text("permissions: {mode: default}\n")
    world.give(world.workspace)
    before = world.left_over()
    script = "mkdir -p config/assent; echo evil > config/assent/assent.yaml; mv config/assent config/a; mv config c;"
    done = world.sh(script + "echo x > config/other/made", environ={"XDG_CONFIG_HOME": str(rules.parents[1])})
    assert "busy" in done.stderr
    assert world.left_over() == sorted([*before, "config/other/made"])
    assert not rules.exists() or rules.read_text() == "permissions: {mode: default}\n"


def test_no_namespace_can_be_made_inside(world, probe):
    for way in ("unshare", "unshare-mount", "clone", "clone3", "setns"):
        assert probe(way).startswith("blocked: "), way


def test_it_has_no_capability_and_gains_none(world, probe):
    assert probe("nnp") == "1"
    status = world.sh("grep -E '^(CapEff|CapPrm|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status").stdout.split()
    assert dict(zip(status[::2], status[1::2], strict=True)) == {
        "CapPrm:": "0" * 16,
        "CapEff:": "0" * 16,
        "CapAmb:": "0" * 16,
        "NoNewPrivs:": "1",
        "Seccomp:": "2",
    }


#: What the probe got, without any sandbox, need not be a success: with one it must be exactly this.
REFUSED = {
    "ptrace": "EPERM",
    "process_vm_readv": "EPERM",
    "keyctl": "EPERM",
    "add_key": "EPERM",
    "bpf": "EPERM",
    "perf": "EPERM",
    "io_uring": "EPERM",
    "userfaultfd": "EPERM",
    "mount": "EPERM",
    "umount": "EPERM",
    "open_tree": "EPERM",
    "fsopen": "EPERM",
    "chroot": "EPERM",
    "kexec": "EPERM",
    "reboot": "EPERM",
    "module": "EPERM",
    "handle": "EPERM",
    "vsock": "EACCES",
    "packet": "EACCES",
    "tiocsti": "EPERM",
    "tiocsti-high": "EPERM",
    "tioclinux": "EPERM",
}


def test_dangerous_system_calls_are_refused(world, probe):
    script = "; ".join(f"echo {name} $(./probe {name})" for name in REFUSED)
    found = dict(line.split(" ", 1) for line in world.sh(script).stdout.splitlines())
    assert found == {name: f"blocked: {errno}" for name, errno in REFUSED.items()}


MAKES_SETUID = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "open", "openat", "tmpfile", "creat", "mknod", "mknodat", "openat2"),
)


def test_nothing_is_made_that_lends_its_owner_s_powers(world, probe):
    script = "; ".join(f"echo {name} $(./probe {name} probe)" for name in MAKES_SETUID)
    found = dict(line.split(" ", 1) for line in world.sh(script).stdout.splitlines())
    assert found == dict.fromkeys(MAKES_SETUID, "blocked: EPERM") | {"openat2": "blocked: ENOSYS"}
    assert not [p for p in world.workspace.rglob("*") if p.lstat().st_mode & 0o4000]
    assert probe("open-there", "probe") == "GOT THROUGH"
    assert world.sh("chmod 2775 . && chmod 755 probe && ls").returncode == 0


@pytest.mark.parametrize("abi", ["x32", "i386"])
def test_other_abis_are_closed(world, probe, abi):
    assert probe(abi) == "blocked: signal 31"


@pytest.mark.parametrize(
    "way",
    [
        "sleep 300 & exit 0",
        "(setsid sleep 300 &) ; exit 0",
        "(nohup setsid sh -c 'trap \"\" TERM HUP INT; sleep 300' >/dev/null 2>&1 &) ; exit 0",
        "sh -c 'sleep 300 & disown 2>/dev/null; exit' ; exit 0",
    ],
)
def test_nothing_outlives_the_command(world, way):
    mark = f"30{os.getpid()}{os.urandom(3).hex()}"
    done = world.sh(
        way.replace("300", f"300 ; : {mark}").replace("sleep 300 ; :", "sh -c 'sleep 300' "), stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert mark not in listing


@pytest.mark.parametrize("program", ["at", "batch", "systemd-run", "tmux", "crontab"])
def test_no_other_process_can_be_made_to_run_something(world, program):
    mark = world.outside / "made"
    script = f"command -v {program} || exit 9; echo 'touch {mark}' | {program} now; tmux new -d touch {mark}; sleep 0.2"
    world.sh(script, stdin=subprocess.DEVNULL)
    assert not mark.exists()


def test_the_loader_as_a_program_gets_no_further(world):
    target = world.write(world.outside / "file", "old")
    done = world.sh(f"$(ls /lib64/ld-linux* /lib/ld-linux* 2>/dev/null | head -1) /bin/sh -c 'echo evil > {target}'")
    assert done.returncode != 0
    assert target.read_text() == "old"


OPENED = """
for file in $(find /proc /sys -maxdepth 5 -type f -perm /222 -not -path '/proc/[0-9]*' -not -path '/proc/*self/*' \\
    -not -path '/proc/pressure/*' 2>/dev/null | head -2000); do
    (exec 3>> $file) 2>/dev/null && echo $file
done
"""


def test_nothing_that_steers_the_kernel_is_opened_to_be_written(world):
    seen = world.sh("find /proc/sys -type f -perm /222 | head -100 | wc -l; ls -d /proc/[0-9]* | wc -l").stdout.split()
    assert int(seen[0]) == 100
    assert int(seen[1]) < 12
    assert world.sh(OPENED).stdout == ""


def test_proc_shows_the_sandbox(world):
    done = world.sh("cat /proc/self/root/etc/shadow; ls /proc/1/root/run; cat /proc/1/environ")
    assert (done.stdout, done.returncode) == ("", 1)


def test_the_first_process_inside_gives_nothing_away(world):
    names = "environ mem maps root/ cwd/ fd/4"
    done = world.sh(f"for p in {names}; do head -c 1 /proc/1/$p; ls /proc/1/$p/; done; readlink /proc/1/fd/*")
    assert (done.stdout, done.returncode) == ("", 1)


def test_what_keeps_a_sandbox_is_out_of_reach(world):
    done = world.sh("ls /proc | grep -c '^[0-9]'; kill -9 -1; kill -9 1; echo still there")
    assert int(done.stdout.split()[0]) <= 5 if done.stdout else done.returncode == 137


def test_tmp_and_run_are_its_own(world):
    seen = world.write(f"/var/tmp/{world.base.name}")
    try:
        done = world.sh("ls -A /tmp /var/tmp /run; echo a > /tmp/made-inside; cat /tmp/made-inside")
    finally:
        seen.unlink()
    assert world.base.name not in done.stdout
    assert done.stdout.endswith("a\n")
    assert not os.path.exists("/tmp/made-inside")


def test_nothing_of_ours_is_left_in_the_workspace(world):
    make_repository(world)
    before = world.left_over()
    world.sh("git status; ls -A")
    assert world.left_over() == before
