"""What an agent's hook runs: hands the call to the daemon, waits while a person is asked, and answers for it.

One file, standard library only, started as `python -I -S FILE AGENT HOME KEY SECONDS [FLAG…]`. It loads nothing it does
not need, since it starts before every call. Whatever goes wrong is a denial, in the form and with the code the agent
honours. KEY names the token in HOME; a flag is `observe` (a trial) or `report` (what became of a call), for which
whatever goes wrong is silence; `start` (start the daemon if it is not there, as HOME says), or a daemon's address.
"""

# The usual modules (socket, json, pathlib …) would double the time this takes; what is used here is built in. Even
# `__future__` would be a file to find and read.

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
"""How long a daemon that was there may be away: a restart takes a second or two."""
_STARTING = 20.0
"""How long a daemon may take until it listens."""
_SOCKET = "assent.sock"
_PROJECT = {"claude-code": b"CLAUDE_PROJECT_DIR", "gemini": b"GEMINI_PROJECT_DIR"}
"""Where these agents say in which folder they were started; others start their hooks there.

Nobody but the agent itself is heard: an agent that does not set it may have it from a file of the repository.
"""
_LONGEST_HEADER = 32 << 10
_STARTERS = (
    *(b"BASH_ENV", b"ZDOTDIR", b"SHELL", b"LD_PRELOAD"),
    *(b"CLAUDE_CODE_SHELL", b"CLAUDE_CODE_SHELL_PREFIX", b"CLAUDE_ENV_FILE"),
)
"""What has a file run before every line of an agent, or in its shell's place."""
_SCRUBBED = (b"PYTHONEXECUTABLE", b"__PYVENV_LAUNCHER__")
_MARK = b"assent-hook"
"""How the shell of a hook's line is called."""
_ADDED = (b"LC_ALL", b"LC_CTYPE")
"""What that line, and Python, set for this client alone."""
_STARTS = b'"SessionStart"'
"""Stands in what is asked when a session begins: then it is the daemon who says what is wrong with the project."""
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
"""Variables that programs act on, in globs: the catalog's own, of which the values are told."""
_SECRET = frozenset(
    (
        b"SECRET TOKEN PASS PASSWD PASSWORD PASSPHRASE CRED CREDS CREDENTIAL CREDENTIALS AUTH COOKIE DSN PAT "
        b"WEBHOOK JWT BEARER APIKEY ACCESSKEY PRIVATEKEY PGPASSWORD CONNSTR CONNSTRING CONNECTIONSTR "
        b"CONNECTIONSTRING DATABASEURL DATABASEURI REDISURL REDISURI MONGOURL MONGOURI MONGODBURL MONGODBURI "
        b"POSTGRESURL POSTGRESURI POSTGRESQLURL POSTGRESQLURI MYSQLURL MYSQLURI AMQPURL AMQPURI BROKERURL "
        b"BROKERURI SMTPURL SMTPURI "
    ).split()
)
"""Words in the name of a variable that holds a secret: its value is told to nobody."""
_NAMES_OF_FILES = (b"AWS_SHARED_CREDENTIALS_FILE", b"GOOGLE_APPLICATION_CREDENTIALS")
"""Variables that name a file with a secret in it, and are none."""
_LARGEST_ENVIRONMENT = 40 << 10
_LONGEST_VALUE = 8 << 10
_AS_IT_IS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+@~-")
_SPEAKERS = {"codex": (b"BASH_ENV", b"SHELLOPTS"), "gemini": (b"BASH_ENV", b"SHELLOPTS")}
"""What can have the shell that runs a hook's line speak before it: of what follows then, only the code is heard."""


class RefusedError(Exception):
    """Why there is no answer."""


class AbsentError(RefusedError):
    """Nobody answers where the daemon should be."""


class TurnedError(RefusedError):
    """A variable has the agent's programs run something else."""


class LostError(AbsentError):
    """The daemon was there and went away; it may come back."""


def main(argv: list[str]) -> int:
    """Answer for one call. Ends with 0 or 2, never anything else."""
    agent, home, key, seconds, flags = argv[1], argv[2], argv[3], float(argv[4]), argv[5:]
    # Nothing may take longer than this, not even reading: the agent would take silence for a yes.
    _signal.signal(_signal.SIGALRM, _give_up)
    _signal.setitimer(_signal.ITIMER_REAL, seconds + 1)
    text = b""
    try:
        text = _read_input()
        project = posix.environ.get(_PROJECT.get(agent, b""), b"") or posix.getcwdb()
        turned = _find_turned(project)
        _refuse_turned(turned, heard=_STARTS in text)
        if agent == "codex" and "report" in flags:
            text = _with_ending(text)
        posix.chdir(home)
        token = _find_token("agents/" + key + ".token", agent)
        code, body = _ask(_Question(agent, token, text, project, flags), time.monotonic() + seconds)
        _refuse_turned(turned, heard=body)  # else the daemon has said which file does it
    except Exception as error:  # noqa: BLE001 - any fault is a denial
        return 0 if "observe" in flags or "report" in flags else _refuse(agent, text, error)
    if _write(1, body):
        # Where the answer was not heard, the code must speak, and to some agents a code says nothing without a reason.
        return 0 if "report" in flags else _write(2, b"Assent's answer could not be handed over\n") or 2
    return code


def _give_up(_signum: int, _frame: object) -> None:
    raise RefusedError("no answer in time; repeat the same call")


class _Question:
    """What is asked, of whom, and how."""

    def __init__(self, agent: str, token: bytes, text: bytes, project: bytes, flags: list[str]) -> None:
        self.agent, self.token, self.text, self.project = agent, token, text, project
        self.observe = "observe" in flags
        self.start = "start" in flags
        self.url = next((flag for flag in flags if "://" in flag), "")


def _find_turned(project: bytes) -> "TurnedError | None":
    """Find what has the agent's shell first run a file of the project: what is decided is not all that runs."""
    for variable in _STARTERS:
        value = posix.environ.get(variable)
        if value and value not in _SHELLS and _leads_into(value, project):
            return TurnedError(
                variable.decode() + " has the shell run a file of the project before every line; take it out of "
                "the agent's environment (its settings, or a file like .env)"
            )
    for each in _scrubbed():
        return TurnedError(
            each.decode() + " has every Python take its library from elsewhere; take it out of the agent's environment"
        )
    return None


def _refuse_turned(turned: "TurnedError | None", *, heard: "bytes | bool") -> None:
    """Refuse what is turned, unless somebody who knows more is heard."""
    if turned is not None and not heard:
        raise turned


def _scrubbed() -> "list[bytes]":
    """Name what the shell around this client took out of its environment: it is still in the agent's."""
    given = _read_of(posix.getppid(), b"environ").split(b"\0")
    return [name for name in _SCRUBBED for each in given if each.startswith(name + b"=") and each != name + b"="]


def _read_of(process: int, what: bytes) -> bytes:
    """Read the words that a process was given, or its variables; nothing where that is hidden."""
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
    """Return what the agent's commands start with: the shells of the hook's line hide some of it, and add to it.

    Functions that bash would take over are no variables to other shells, which hand none of them on: those that the
    agent itself was started with are heard of from its own process.
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
    """Return the variables that a process was started with."""
    pairs = [each.partition(b"=") for each in _read_of(process, b"environ").split(b"\0")]
    return {name: value for name, equals, value in reversed(pairs) if equals}


def _leads_into(value: bytes, project: bytes) -> bool:
    """Tell whether a variable names a file of the project, or what nobody can tell from here."""
    import posixpath  # noqa: PLC0415 - seldom needed
    import pwd  # noqa: PLC0415 - seldom needed

    home = posixpath.realpath(pwd.getpwuid(posix.geteuid()).pw_dir.encode())
    roots = {posixpath.realpath(root) for root in (project, posix.getcwdb())} - {home, b"/"}
    # Some name a command, some several files.
    reals = {posixpath.realpath(word) for word in (value, *value.replace(b":", b" ").split())}
    return b"$" in value or any((real + b"/").startswith(root.rstrip(b"/") + b"/") for real in reals for root in roots)


def _read_input() -> bytes:
    pieces, size = [], 0
    while piece := posix.read(0, 1 << 16):
        size += len(piece)
        if size <= _MOST:
            pieces.append(piece)
    if size > _MOST:  # read to its end all the same: an agent that can not tell all of it may go on without a hook
        raise RefusedError("the call is larger than 5 MB")
    return b"".join(pieces)


def _with_ending(text: bytes) -> bytes:
    """Add how a command ended: Codex tells its hook nothing but the output, and has the rest in its transcript."""
    import json  # noqa: PLC0415 - only for reports

    try:
        told = json.loads(text)
        path, call = told["transcript_path"], told["tool_use_id"]
        for _ in range(20 if told["tool_name"] == "Bash" else 0):  # it may be written a moment later
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
    # The program of a run asks as that run, with a token that ends with it.
    token = posix.environ.get(b"ASSENT_RUN_TOKEN") or _read_token(path, agent)
    if not token or not all(0x20 < byte < 0x7F for byte in token):
        raise RefusedError(f"its token can not be one; run `assent init {agent}` again")
    return token


def _read_token(path: str, agent: str) -> bytes:
    try:
        found = posix.open(path, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC)
    except OSError as error:
        raise RefusedError(f"its token can not be read; run `assent init {agent}` again") from error
    try:
        return posix.read(found, 4096).strip()
    finally:
        posix.close(found)


def _ask(question: _Question, deadline: float) -> tuple[int, bytes]:
    """Ask until there is an answer or the time is up. A daemon that restarts is asked again: it knows the question."""
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
                time.sleep(0.25)  # whoever stopped it may start it again
            elif question.start and not is_lost:
                question.start = False
                _start_daemon()
            else:
                raise


def _post(question: _Question, left: float) -> tuple[int, bytes]:
    try:
        line, host = _dial(question.url, left) if question.url else (_connect(left), "localhost")
    except OSError as error:
        raise AbsentError("the daemon does not answer; start it with `assent serve`") from error
    try:
        wanted = "observe=1" if question.observe else f"wait={max(0, int(left) - 2)}&again=1"
        head = (
            f"POST /api/hooks/{question.agent}?{wanted} HTTP/1.1\r\nHost: {host}\r\n"
            f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(question.text)}\r\n"
        ).encode()
        given = (b"Authorization", b"Bearer " + question.token), *_surroundings(question.agent, question.project)
        for name, value in given:
            head += name + b": " + value + b"\r\n"
        try:
            line.sendall(head + b"\r\n" + question.text)
            return _parse(_receive(line), question.agent)
        except TimeoutError as error:
            raise RefusedError("no answer in time; repeat the same call") from error
        except OSError as error:
            raise LostError("the daemon went away while it was asked; repeat the same call") from error
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
    """Refuse a daemon that somebody else started: only root and oneself are heard."""
    if hasattr(_socket, "SO_PEERCRED"):  # pid, uid, gid
        told = line.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        if int.from_bytes(told[4:8], sys.byteorder) not in (0, posix.geteuid()):
            raise RefusedError("the daemon in Assent's home is somebody else's")


def _dial(url: str, left: float) -> "tuple[Any, str]":
    """Connect to a daemon elsewhere."""
    import socket  # noqa: PLC0415 - slow to load, and seldom needed

    scheme, _, host = url.partition("://")
    host = host.rstrip("/")
    name, _, port = host.rpartition(":") if host.rpartition(":")[2].isdigit() else (host, "", "")
    line = socket.create_connection((name.strip("[]"), int(port or (443 if scheme == "https" else 80))), left)
    if scheme == "https":
        import ssl  # noqa: PLC0415 - as above

        line = ssl.create_default_context().wrap_socket(line, server_hostname=name.strip("[]"))
    return line, host


def _start_daemon() -> None:
    """Start the daemon as `assent init` wrote down, unless somebody else just does, and wait until it listens."""
    import fcntl  # noqa: PLC0415 - seldom needed
    import json  # noqa: PLC0415 - seldom needed

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
                    raise RefusedError("the daemon could not be started; see daemon.log in Assent's home")
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
    """Start a process that outlives this one, with nothing of the agent's: no descriptors, no variables, no folder."""
    child = posix.fork()
    if child:
        posix.waitpid(child, 0)
        return
    try:
        posix.setsid()
        if posix.fork():
            posix._exit(0)  # noqa: SLF001 - a forked process leaves at once
        log = posix.open("daemon.log", posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND | posix.O_NOFOLLOW, 0o600)
        for channel, source in ((0, posix.open("/dev/null", posix.O_RDONLY)), (1, log), (2, log)):
            posix.dup2(source, channel)
        posix.closerange(3, 1 << 16)
        posix.chdir("/")
        posix.execve(argv[0], argv, environ)
    finally:
        posix._exit(127)  # noqa: SLF001 - as above


def _surroundings(agent: str, project: bytes) -> "Iterator[tuple[bytes, bytes]]":
    """Tell where the agent was started, how it would find its programs, and if it hears nothing but a code."""
    if any(posix.environ.get(variable) for variable in _SPEAKERS.get(agent, ())):
        yield b"X-Assent-Heard", b"code"
    if _is_sendable(project):
        yield b"X-Assent-Project", project
    yield b"X-Assent-Environment", _environment()


def _environment() -> bytes:
    """Tell what the agent's commands start with: the values of what programs act on, and the names of the rest."""
    exact = {glob for glob in _JUDGED if b"*" not in glob}
    heads = tuple([glob[:-1] for glob in _JUDGED if glob[-1:] == b"*" and glob[:1] != b"*"])
    tails = tuple([glob[1:] for glob in _JUDGED if glob[:1] == b"*" and glob[-1:] != b"*"])
    inner = [glob[1:-1] for glob in _JUDGED if glob[:1] == b"*" == glob[-1:]]
    told = []
    for name, value in _agents_environment().items():
        longest = _LONGEST_HEADER if name == b"PATH" else _LONGEST_VALUE
        if len(value) > longest and name == b"PATH":
            raise RefusedError("PATH is too long to be told, and decides what would run")
        judged = name in exact or name.startswith(heads) or name.endswith(tails) or any(part in name for part in inner)
        told.append(_escaped(name))
        if judged and len(value) <= longest and not _is_secret(name):
            told[-1] += b"=" + _escaped(value)
    found = b"&".join(told)
    if len(found) > _LARGEST_ENVIRONMENT:
        raise RefusedError("the agent's environment is too large to be told; start the agent with fewer variables")
    return found


def _is_secret(name: bytes) -> bool:
    """Tell whether a variable may hold a secret, by its name; what the shell itself obeys is none."""
    upper = name.upper()
    words = upper.split(b"_")
    if name.startswith((b"BASH_FUNC_", b"LD_", b"DYLD_")) or name in _NAMES_OF_FILES:
        return False
    if len(words) > 1 and words[-1] in (b"KEY", b"PWD", b"SK"):
        return True
    pairs = {words[i] + words[i + 1] for i in range(len(words) - 1)}
    return not _SECRET.isdisjoint((*words, *pairs)) or b"APIKEY" in upper or b"SECRETKEY" in upper


def _escaped(text: bytes) -> bytes:
    """Write a text so that it stands in a header, whatever it holds."""
    if _AS_IT_IS.issuperset(text):
        return text
    return b"".join([bytes((byte,)) if byte in _AS_IT_IS else b"%%%02X" % byte for byte in text])


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
        raise LostError("the daemon went away while it was asked; repeat the same call")
    lines = head.split(b"\r\n")
    headers = {}
    for each in lines[1:]:
        name, _, value = each.partition(b":")
        name = name.strip().lower()
        if name in headers:
            raise RefusedError("the daemon's answer says something twice")
        headers[name] = value.strip()
    status = lines[0].split(b" ")[1:2]
    if status == [b"503"]:
        raise LostError("the daemon stopped, or can not work; repeat the same call")
    if int(headers.get(b"content-length", b"-1")) != len(body):
        raise LostError("the daemon's answer was cut short")
    if status == [b"401"]:
        raise RefusedError(f"its token is not good, or no longer; run `assent init {agent}` again")
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
    """Deny in the agent's own form."""
    import json  # noqa: PLC0415 - only needed when something is wrong

    reason = "Assent could not decide, so it is not allowed: " + _word(error)
    try:
        event = str(json.loads(text).get("hook_event_name"))
    except (ValueError, AttributeError, RecursionError):
        event = ""
    said: dict[str, object] = {"allow": False, "decision": "block", "reason": reason}
    if event == "SessionStart":  # without a daemon each call is denied; turned programs would not even ask
        stop = {"continue": False, "stopReason": reason} if isinstance(error, TurnedError) else {}
        return _write(1, json.dumps({**stop, "systemMessage": reason}).encode())
    if event == "PermissionRequest":
        said = {"hookSpecificOutput": {"hookEventName": event, "decision": {"behavior": "deny", "message": reason}}}
    elif agent in ("claude-code", "codex"):
        # Words that they can not take for an answer to what they asked would make them overhear the code, too.
        said = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": reason}
        said = {"hookSpecificOutput": said} if event == "PreToolUse" else {}
    elif agent == "gemini":
        said = {"decision": "deny", "reason": reason}
    unheard = _write(1, json.dumps(said).encode() if said else b"")
    if event == "PermissionRequest" and agent == "claude-code":
        return unheard  # it hears no code here
    _write(2, reason.encode("utf-8", "replace") + b"\n")
    return 2


def _write(channel: int, data: bytes) -> int:
    """Write all of it. An agent that no longer listens gets exit 2: it must not read half an answer as a whole one."""
    try:
        while data:
            data = data[posix.write(channel, data) :]
    except OSError:
        return 2
    return 0


def _word(error: Exception) -> str:
    return str(error.args[0]) if isinstance(error, RefusedError) else type(error).__name__ + ": " + str(error)


if __name__ == "__main__":
    posix._exit(main(sys.argv))  # noqa: SLF001 - leaves at once, nothing is left to tidy
