"""Hook client: send a call to the daemon, wait while a person is asked, and print the answer for the agent.

One file, standard library only, started as `python -I -S FILE AGENT HOME KEY SECONDS [FLAG…]`. It is one long file
because `assent init` copies it to Assent's home and it must import as little as possible: it starts before every call.
Every error is a denial, in the form and with the exit code that the agent expects. KEY names the token in HOME. Flags:
`observe` (trial) and `report` (outcome of a call), for which errors are silent; `start` (start the daemon if it is not
running, as HOME says); or the URL of a daemon.
"""

# The usual modules (socket, json, pathlib …) would double the start-up time; these are built in. Even `__future__`
# would be a file to find and read.

import _signal
import _socket
import posix
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_MOST = 5 << 20
_LONGEST_ANSWER = 1 << 20
_GRACE = 10.0
"""How long to wait for a daemon that restarts."""
_STARTING = 20.0
"""How long a daemon may take to start."""
_SOCKET = "assent.sock"
_PROJECT = {"claude-code": b"CLAUDE_PROJECT_DIR", "gemini": b"GEMINI_PROJECT_DIR"}
"""The variables with which these agents name their project; other agents run hooks in it.

The variables of other agents are ignored: a file of the repository may set them.
"""
_LONGEST_HEADER = 32 << 10
_SHELL_STARTUP = (
    *(b"BASH_ENV", b"ZDOTDIR", b"SHELL", b"LD_PRELOAD"),
    *(b"CLAUDE_CODE_SHELL", b"CLAUDE_CODE_SHELL_PREFIX", b"CLAUDE_ENV_FILE"),
)
"""Variables that make a shell run a file before every command, or replace the shell."""
_SCRUBBED = (b"PYTHONEXECUTABLE", b"__PYVENV_LAUNCHER__")
_MARK = b"assent-hook"
"""The name of the shell in the hook's command line."""
_ADDED = (b"LC_ALL", b"LC_CTYPE")
"""Variables that the command line and Python set only for this client."""
_STARTS = b'"SessionStart"'
"""Marks a session start: then the daemon itself reports what is wrong with the project."""
_SHELLS = (b"/bin/bash", b"/bin/sh", b"/bin/zsh", b"/usr/bin/bash", b"/usr/bin/zsh", b"/usr/bin/fish")
_JUDGED = (
    b"*PATH *VIMRC *_CMD *_COMMAND *_CONFIG *_CONFIG_* *_EDITOR *_FLAGS *_HOME *_HOST *_OPTIONS *_OPTS *_PAGER "
    b"*_PRELOAD *_PROXY *_WRAPPER *_proxy ACKRC ANSIBLE_* APT_CONFIG AR ASDF_* ASSENT_* AWS_* AZURE_* BASH BASHOPTS "
    b"BASHPID BASH_* BAT_* BROWSER BUNDLE_* BUN_* BZIP* CARGO_* CC CCACHE_* CDPATH CFLAGS CLASSPATH CLAUDE_CODE_SHELL* "
    b"CLAUDE_ENV_FILE CLOUDSDK_* CMAKE_* COMP_* CONDA_* CORECLR_* COREPACK_* COR_* COVERAGE_PROCESS_START CPP CURL_* "
    b"CXX CXXFLAGS DELTA_* DENO_* DIRENV_CONFIG DIRSTACK DOCKER_* DOTNET_* DOTNET_ADDITIONAL_DEPS DOTNET_STARTUP_HOOKS "
    b"DYLD_* EDITOR ELECTRON_* ELIXIR_* ENV ERL_* EXECIGNORE EXINIT FCEDIT FIGNORE FONTCONFIG_* FPATH FZF_* "
    b"GCC_EXEC_PREFIX GCONV_* GEM_* GH_* GIO_* GIT_* GLAB_* GLIBC_* GLOBIGNORE GNUMAKEFLAGS GNUPG* GO* GOOGLE_* GPG_* "
    b"GRADLE_* GREP_* GROFF_* GST_* GTK_* GUILE_* GVIMINIT GZIP HELM_* HG* HIST* HISTCMD HISTFILE HOME HOSTALIASES "
    b"HOSTNAME IFS INPUTRC JAVA_* JDK_* JQ_* JULIA_* KRB5_* KUBE* LANG LANGUAGE LC_* LD LDFLAGS LD_* LEIN_* LESS* "
    b"LOCALDOMAIN LOCPATH LOGNAME LUA_* MAGICK_* MAIL* MAKE* MALLOC_* MAN* MANPAGER MAVEN_* MISE_* MORE MYSQL_* "
    b"NLSPATH NODE_* NPM_* NULLCMD OCAML* ODBC* OLDPWD OPENSSL_* OPTIND PAGER PATH PDM_* PERL* PG* PHP* PIPENV_* PIP_* "
    b"PKG_CONFIG* POETRY_* POSIXLY_CORRECT PRE_COMMIT_* PROMPT_* PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 PSQLRC PSQL_* PWD "
    b"PYENV_* PYTEST_ADDOPTS PYTEST_PLUGINS PYTHON* QT_* RANDOM RBENV_* READNULLCMD REQUESTS_* RIPGREP_* RSYNC_* RUBY* "
    b"RUST* R_* SCREENRC SECONDS SHELL SHELLOPTS SRANDOM SSH_* SSLKEYLOGFILE SSL_* STARSHIP_* SUDO_* SVN_* "
    b"SYSTEM_WGETRC TAR_* TCL* TERM TERMCAP TERMINFO TERMINFO_DIRS TERRAGRUNT_* TEXINPUTS TEXMF* TF_* TMPDIR TZ TZDIR "
    b"USER UV_* VAGRANT_* VAULT_* VIMINIT VIMRUNTIME VIRTUAL_ENV VISUAL VOLTA_* WGETRC XDG_* XZ_* YARN_* ZDOTDIR "
    b"ZSTD_* _JAVA_* __PYVENV_LAUNCHER__ npm_* which_declare"
).split()
"""Globs of variables that programs act on, from the catalog: their values are sent."""
_SECRET = frozenset(
    (
        b"SECRET TOKEN PASS PASSWD PASSWORD PASSPHRASE CRED CREDS CREDENTIAL CREDENTIALS AUTH COOKIE DSN PAT "
        b"WEBHOOK JWT BEARER APIKEY ACCESSKEY PRIVATEKEY PGPASSWORD CONNSTR CONNSTRING CONNECTIONSTR "
        b"CONNECTIONSTRING DATABASEURL DATABASEURI REDISURL REDISURI MONGOURL MONGOURI MONGODBURL MONGODBURI "
        b"POSTGRESURL POSTGRESURI POSTGRESQLURL POSTGRESQLURI MYSQLURL MYSQLURI AMQPURL AMQPURI BROKERURL "
        b"BROKERURI SMTPURL SMTPURI "
    ).split()
)
"""Words in the names of secret variables: their values are never sent."""
_SECRET_FILE_NAMES = (b"AWS_SHARED_CREDENTIALS_FILE", b"GOOGLE_APPLICATION_CREDENTIALS")
"""Variables that name a file with a secret but are not secret themselves."""
_LARGEST_ENVIRONMENT = 40 << 10
_LONGEST_VALUE = 8 << 10
_UNESCAPED = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+@~-")
_OUTPUT_BEFORE_HOOK = {"codex": (b"BASH_ENV", b"SHELLOPTS"), "gemini": (b"BASH_ENV", b"SHELLOPTS")}
"""Variables that can make the hook's shell print something first: then the agent reads only the exit code."""


class RefusedError(Exception):
    """The call cannot be decided."""


class AbsentError(RefusedError):
    """The daemon is not reachable."""


class HijackError(RefusedError):
    """A variable makes the agent's programs run other code."""


class LostError(AbsentError):
    """The connection to the daemon was lost; it may restart."""


def main(argv: list[str]) -> int:
    """Answer one call; return 0 or 2."""
    agent, home, key, seconds, flags = argv[1], argv[2], argv[3], float(argv[4]), argv[5:]
    # A hard limit, also for reading: the agent takes a late hook for an allow.
    _signal.signal(_signal.SIGALRM, _give_up)
    _signal.setitimer(_signal.ITIMER_REAL, seconds + 1)
    text = b""
    try:
        text = _read_input()
        project = posix.environ.get(_PROJECT.get(agent, b""), b"") or posix.getcwdb()
        hijack = _find_hijack(project)
        _refuse_hijack(hijack, heard=_STARTS in text)
        if agent == "codex" and "report" in flags:
            text = _with_ending(text)
        posix.chdir(home)
        token = _find_token("agents/" + key + ".token", agent)
        code, body = _ask(_Question(agent, token, text, project, flags), time.monotonic() + seconds)
        _refuse_hijack(hijack, heard=body)  # else the daemon named the file that sets it
    except Exception as error:  # noqa: BLE001 - any error is a denial
        return 0 if "observe" in flags or "report" in flags else _refuse(agent, text, error)
    if _write(1, body):
        # The agent did not read the answer, so the exit code must deny; some agents need a reason with it.
        return 0 if "report" in flags else _write(2, b"cannot write Assent's answer\n") or 2
    return code


def _give_up(_signum: int, _frame: object) -> None:
    raise RefusedError("no answer in time; repeat the same call")


class _Question:
    """One request to the daemon."""

    def __init__(self, agent: str, token: bytes, text: bytes, project: bytes, flags: list[str]) -> None:
        self.agent, self.token, self.text, self.project = agent, token, text, project
        self.observe = "observe" in flags
        self.start = "start" in flags
        self.url = next((flag for flag in flags if "://" in flag), "")


def _find_hijack(project: bytes) -> "HijackError | None":
    """Find a variable that makes the agent's shell run a file of the project before the decided command."""
    for variable in _SHELL_STARTUP:
        value = posix.environ.get(variable)
        if value and value not in _SHELLS and _leads_into(value, project):
            return HijackError(
                variable.decode() + " makes the shell run a file of the project before every command; remove it "
                "from the agent's environment (its settings, or a file like .env)"
            )
    for each in _scrubbed():
        return HijackError(
            each.decode() + " makes every Python load another library; remove it from the agent's environment"
        )
    return None


def _refuse_hijack(hijack: "HijackError | None", *, heard: "bytes | bool") -> None:
    """Raise the hijack, unless the daemon reports it."""
    if hijack is not None and not heard:
        raise hijack


def _scrubbed() -> "list[bytes]":
    """Return the variables that the shell around this client removed but the agent still has."""
    given = _read_of(posix.getppid(), b"environ").split(b"\0")
    return [name for name in _SCRUBBED for each in given if each.startswith(name + b"=") and each != name + b"="]


def _read_of(process: int, what: bytes) -> bytes:
    """Read the arguments or the environment of a process; empty if not permitted."""
    try:
        found = posix.open(b"/proc/%d/%s" % (process, what), posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return b""
    try:
        pieces = []
        while piece := posix.read(found, 1 << 20):
            pieces.append(piece)
        return b"".join(pieces)
    except OSError:
        return b""
    finally:
        posix.close(found)


def _agents_environment() -> "dict[bytes, bytes]":
    """Return the environment of the agent's commands, without what the hook's shells changed.

    Other shells do not pass on exported bash functions, so those come from the agent's own process.
    """
    found = dict(posix.environ)
    shell = posix.getppid()
    if _MARK not in _read_of(shell, b"cmdline").split(b"\0"):
        return found
    for name in _ADDED:
        found.pop(name, None)
    above = _read_of(shell, b"stat").rpartition(b")")[2].split()[1:2]
    functions = _variables_of(int(above[0])) if above else {}
    functions = {name: value for name, value in functions.items() if name.startswith(b"BASH_FUNC_")}
    return {**functions, **_variables_of(shell), **found}


def _variables_of(process: int) -> "dict[bytes, bytes]":
    """Return the environment with which a process was started."""
    pairs = [each.partition(b"=") for each in _read_of(process, b"environ").split(b"\0")]
    return {name: value for name, equals, value in reversed(pairs) if equals}


def _leads_into(value: bytes, project: bytes) -> bool:
    """Return whether a variable may name a file of the project."""
    import posixpath  # noqa: PLC0415 - rarely needed
    import pwd  # noqa: PLC0415 - rarely needed

    home = posixpath.realpath(pwd.getpwuid(posix.geteuid()).pw_dir.encode())
    roots = {posixpath.realpath(root) for root in (project, posix.getcwdb())} - {home, b"/"}
    # The value may be a command or several files.
    reals = {posixpath.realpath(word) for word in (value, *value.replace(b":", b" ").split())}
    return b"$" in value or any((real + b"/").startswith(root.rstrip(b"/") + b"/") for real in reals for root in roots)


def _read_input() -> bytes:
    pieces, size = [], 0
    while piece := posix.read(0, 1 << 16):
        size += len(piece)
        if size <= _MOST:
            pieces.append(piece)
    if size > _MOST:  # read to the end: an agent that cannot write all of it may run without the hook
        raise RefusedError("the call is larger than 5 MB")
    return b"".join(pieces)


def _with_ending(text: bytes) -> bytes:
    """Add the exit code of a command, which Codex writes only to its transcript."""
    import json  # noqa: PLC0415 - only for reports

    try:
        told = json.loads(text)
        path, call = told["transcript_path"], told["tool_use_id"]
        for _ in range(20 if told["tool_name"] == "Bash" else 0):  # it may be written with a delay
            for line in reversed(_read_tail(path).split(b"\n")):
                item = json.loads(line)["payload"].get("item") if b'"CommandExecution"' in line else None
                if item and item["id"] == call:
                    return b'{"exit_code": %d, ' % item["exit_code"] + text.lstrip()[1:]
            time.sleep(0.1)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return text


def _read_tail(path: str) -> bytes:
    found = posix.open(path, posix.O_RDONLY | posix.O_NONBLOCK | posix.O_CLOEXEC)
    try:
        posix.lseek(found, max(0, posix.fstat(found).st_size - (4 << 20)), 0)
        return posix.read(found, 4 << 20)
    finally:
        posix.close(found)


def _find_token(path: str, agent: str) -> bytes:
    # The program of a run uses the token of that run.
    token = posix.environ.get(b"ASSENT_RUN_TOKEN") or _read_token(path, agent)
    if not token or not all(0x20 < byte < 0x7F for byte in token):
        raise RefusedError(f"the token file is invalid; run `assent init {agent}` again")
    return token


def _read_token(path: str, agent: str) -> bytes:
    try:
        found = posix.open(path, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC)
    except OSError as error:
        raise RefusedError(f"cannot read the token file; run `assent init {agent}` again") from error
    try:
        return posix.read(found, 4096).strip()
    finally:
        posix.close(found)


def _ask(question: _Question, deadline: float) -> tuple[int, bytes]:
    """Ask until there is an answer or the time is up. Repeat the request if the daemon restarts."""
    lost: float | None = None
    while True:
        begun = time.monotonic()
        if begun >= deadline:
            raise RefusedError("no answer in time; repeat the same call")
        try:
            return _post(question, deadline - begun)
        except AbsentError as error:
            now, is_lost = time.monotonic(), isinstance(error, LostError)
            if is_lost and (lost is None or now - begun > _GRACE):
                lost = now
            if lost is not None and now - lost <= _GRACE:
                time.sleep(0.25)  # it may restart
            elif question.start and not is_lost:
                question.start = False
                _start_daemon()
            else:
                raise


def _post(question: _Question, left: float) -> tuple[int, bytes]:
    try:
        line, host = _dial(question.url, left) if question.url else (_connect(left), "localhost")
    except OSError as error:
        raise AbsentError("the daemon is not running; start it with `assent serve`") from error
    try:
        wanted = "observe=1" if question.observe else f"wait={max(0, int(left) - 2)}&again=1"
        head = (
            f"POST /api/hooks/{question.agent}?{wanted} HTTP/1.1\r\nHost: {host}\r\n"
            f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(question.text)}\r\n"
        ).encode()
        given = (b"Authorization", b"Bearer " + question.token), *_context_headers(question.agent, question.project)
        for name, value in given:
            head += name + b": " + value + b"\r\n"
        try:
            line.sendall(head + b"\r\n" + question.text)
            return _parse(_receive(line), question.agent)
        except TimeoutError as error:
            raise RefusedError("no answer in time; repeat the same call") from error
        except OSError as error:
            raise LostError("lost the connection to the daemon; repeat the same call") from error
    finally:
        line.close()


def _connect(left: float) -> _socket.socket:
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        line.settimeout(left)
        line.connect(_SOCKET)
        _check_owner(line)
    except (OSError, RefusedError):
        line.close()
        raise
    return line


def _check_owner(line: _socket.socket) -> None:
    """Refuse a daemon that another user started; root's is accepted."""
    if hasattr(_socket, "SO_PEERCRED"):  # pid, uid, gid
        told = line.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        if int.from_bytes(told[4:8], sys.byteorder) not in (0, posix.geteuid()):
            raise RefusedError("another user runs the daemon in Assent's home directory")


def _dial(url: str, left: float) -> "tuple[Any, str]":
    """Connect to a daemon by URL."""
    import socket  # noqa: PLC0415 - slow to load, rarely needed

    scheme, _, host = url.partition("://")
    host = host.rstrip("/")
    name, _, port = host.rpartition(":") if host.rpartition(":")[2].isdigit() else (host, "", "")
    line = socket.create_connection((name.strip("[]"), int(port or (443 if scheme == "https" else 80))), left)
    if scheme == "https":
        import ssl  # noqa: PLC0415 - as above

        line = ssl.create_default_context().wrap_socket(line, server_hostname=name.strip("[]"))
    return line, host


def _start_daemon() -> None:
    """Start the daemon as `assent init` configured, unless another hook does, and wait until it listens."""
    import fcntl  # noqa: PLC0415 - rarely needed
    import json  # noqa: PLC0415 - rarely needed

    lock = posix.open("agents/start.lock", posix.O_RDWR | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _listens():
            found = posix.open("agents/start.json", posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC)
            how = json.loads(posix.read(found, 1 << 16))
            posix.close(found)
            _spawn(how["argv"], how["environ"])
            end = time.monotonic() + _STARTING
            while not _listens():
                if time.monotonic() > end:
                    raise RefusedError("cannot start the daemon; see daemon.log in Assent's home")
                time.sleep(0.05)
    finally:
        posix.close(lock)


def _listens() -> bool:
    try:
        _connect(1.0).close()
    except OSError:
        return False
    return True


def _spawn(argv: list[str], environ: dict[str, str]) -> None:
    """Start a detached process without the agent's descriptors, environment or working directory."""
    child = posix.fork()
    if child:
        posix.waitpid(child, 0)
        return
    try:
        posix.setsid()
        if posix.fork():
            posix._exit(0)  # noqa: SLF001 - a forked process exits at once
        log = posix.open("daemon.log", posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND | posix.O_NOFOLLOW, 0o600)
        for channel, source in ((0, posix.open("/dev/null", posix.O_RDONLY)), (1, log), (2, log)):
            posix.dup2(source, channel)
        posix.closerange(3, 1 << 16)
        posix.chdir("/")
        posix.execve(argv[0], argv, environ)
    finally:
        posix._exit(127)  # noqa: SLF001 - as above


def _context_headers(agent: str, project: bytes) -> "Iterator[tuple[bytes, bytes]]":
    """Yield headers: the agent's project, its environment, and whether it reads only the exit code."""
    if any(posix.environ.get(variable) for variable in _OUTPUT_BEFORE_HOOK.get(agent, ())):
        yield b"X-Assent-Heard", b"code"
    if _is_sendable(project):
        yield b"X-Assent-Project", project
    yield b"X-Assent-Environment", _environment()


def _environment() -> bytes:
    """Return the environment header: values of variables that programs act on, names of the others."""
    exact = {glob for glob in _JUDGED if b"*" not in glob}
    heads = tuple([glob[:-1] for glob in _JUDGED if glob[-1:] == b"*" and glob[:1] != b"*"])
    tails = tuple([glob[1:] for glob in _JUDGED if glob[:1] == b"*" and glob[-1:] != b"*"])
    inner = [glob[1:-1] for glob in _JUDGED if glob[:1] == b"*" == glob[-1:]]
    told = []
    for name, value in _agents_environment().items():
        longest = _LONGEST_HEADER if name == b"PATH" else _LONGEST_VALUE
        if len(value) > longest and name == b"PATH":
            raise RefusedError("PATH is too long to send")
        judged = name in exact or name.startswith(heads) or name.endswith(tails) or any(part in name for part in inner)
        told.append(_escaped(name))
        if judged and len(value) <= longest and not _is_secret(name):
            told[-1] += b"=" + _escaped(value)
    found = b"&".join(told)
    if len(found) > _LARGEST_ENVIRONMENT:
        raise RefusedError("the agent's environment is too large to send; start the agent with fewer variables")
    return found


def _is_secret(name: bytes) -> bool:
    """Return whether a variable may contain a secret, by its name; variables of the shell itself never do."""
    upper = name.upper()
    words = upper.split(b"_")
    if name.startswith((b"BASH_FUNC_", b"LD_", b"DYLD_")) or name in _SECRET_FILE_NAMES:
        return False
    if len(words) > 1 and words[-1] in (b"KEY", b"PWD", b"SK"):
        return True
    pairs = {words[i] + words[i + 1] for i in range(len(words) - 1)}
    return not _SECRET.isdisjoint((*words, *pairs)) or b"APIKEY" in upper or b"SECRETKEY" in upper


def _escaped(text: bytes) -> bytes:
    """Percent-encode a text for a header."""
    if _UNESCAPED.issuperset(text):
        return text
    return b"".join([bytes((byte,)) if byte in _UNESCAPED else b"%%%02X" % byte for byte in text])


def _is_sendable(value: bytes) -> bool:
    return len(value) < _LONGEST_HEADER and all(byte >= 0x20 and byte != 0x7F for byte in value)


def _receive(line: _socket.socket) -> bytes:
    pieces, size = [], 0
    while piece := line.recv(1 << 16):
        size += len(piece)
        if size > _LONGEST_ANSWER:
            raise RefusedError("the daemon's answer is too long")
        pieces.append(piece)
    return b"".join(pieces)


def _parse(answer: bytes, agent: str) -> tuple[int, bytes]:
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found:
        raise LostError("lost the connection to the daemon; repeat the same call")
    lines = head.split(b"\r\n")
    headers = {}
    for each in lines[1:]:
        name, _, value = each.partition(b":")
        name = name.strip().lower()
        if name in headers:
            raise RefusedError("the daemon's answer has a duplicate header")
        headers[name] = value.strip()
    status = lines[0].split(b" ")[1:2]
    if status == [b"503"]:
        raise LostError("the daemon stopped or is not available; repeat the same call")
    if int(headers.get(b"content-length", b"-1")) != len(body):
        raise LostError("the daemon's answer was cut short")
    if status == [b"401"]:
        raise RefusedError(f"the daemon rejected the token; run `assent init {agent}` again")
    code = headers.get(b"x-assent-exit")
    if status != [b"200"] or code not in (b"0", b"2"):
        raise RefusedError("the daemon refused: " + _shown(body))
    reason = headers.get(b"x-assent-reason")
    if code == b"2":
        _write(2, (reason or b"not allowed") + b"\n")
    return int(code), body


def _shown(body: bytes) -> str:
    return body[:300].decode("utf-8", "replace")


def _refuse(agent: str, text: bytes, error: Exception) -> int:
    """Deny in the agent's own format."""
    import json  # noqa: PLC0415 - only needed after an error

    reason = "Assent could not decide, so it is not allowed: " + _describe(error)
    try:
        event = str(json.loads(text).get("hook_event_name"))
    except (ValueError, AttributeError, RecursionError):
        event = ""
    said: dict[str, object] = {"allow": False, "decision": "block", "reason": reason}
    if event == "SessionStart":  # without a daemon every call is denied; hijacked programs would not even ask
        stop = {"continue": False, "stopReason": reason} if isinstance(error, HijackError) else {}
        return _write(1, json.dumps({**stop, "systemMessage": reason}).encode())
    if event == "PermissionRequest":
        said = {"hookSpecificOutput": {"hookEventName": event, "decision": {"behavior": "deny", "message": reason}}}
    elif agent in ("claude-code", "codex"):
        # Output that they cannot parse would make them ignore the exit code, too.
        said = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": reason}
        said = {"hookSpecificOutput": said} if event == "PreToolUse" else {}
    elif agent == "gemini":
        said = {"decision": "deny", "reason": reason}
    unheard = _write(1, json.dumps(said).encode() if said else b"")
    if event == "PermissionRequest" and agent == "claude-code":
        return unheard  # it ignores the exit code here
    _write(2, reason.encode("utf-8", "replace") + b"\n")
    return 2


def _write(channel: int, data: bytes) -> int:
    """Write all data; return 2 if the reader is gone, so that half an answer is never taken for a whole one."""
    try:
        while data:
            data = data[posix.write(channel, data) :]
    except OSError:
        return 2
    return 0


def _describe(error: Exception) -> str:
    return str(error.args[0]) if isinstance(error, RefusedError) else type(error).__name__ + ": " + str(error)


if __name__ == "__main__":
    posix._exit(main(sys.argv))  # noqa: SLF001 - exits at once, nothing to clean up
