"""What a command's arguments and redirections touch: reads, writes, execs and connections as operations."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

import assent.regex as re
from assent.catalog import Role, places
from assent.model import UNKNOWN, CallError, Operation, OperationKind, Tier, within
from assent.reading.options import part
from assent.reading.paths import Located, Place
from assent.reading.web import Address, read_address, read_host
from assent.reading.wildcards import blur, control_plane, is_pattern, leads_to, let_through, may_be_secret, segments
from assent.shell.hints import MADE, of_word
from assent.shell.tree import Command, Redirect, Word

_DESCRIPTORS = re.compile(r"/dev/(?:null|zero|full|stdin|stdout|stderr|tty|fd/[012])")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_REMOTE = re.compile(r"(?P<host>(?:[^/@:]*@)?(?:\[[^\]]*\]|[^/:]+)):.*", re.DOTALL)
_SENT = re.compile(r"(?:[^=@<]*=)?[@<]")
_STORED = re.compile(r"[^:]*:(?:[0-3]:)?")
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/")
_INHERITED = re.compile(r"/dev/fd/\d|/proc/[^/]+/fd(?:/|$)")
_DEVICE = re.compile(r"/dev/(?!null$|zero$|full$|std|tty|pts/|fd/|shm/|ptmx$|tcp/|udp/)")
_PREFIXES = frozenset(
    [
        "builtin",
        "chrt",
        "command",
        "doas",
        "env",
        "exec",
        "ionice",
        "nice",
        "nohup",
        "setsid",
        "stdbuf",
        "sudo",
        "time",
        "timeout",
    ]
)
"""What runs the words behind it as they are."""
_SOURCES = frozenset({"/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
_HIDDEN = re.compile(rf"(?:^|/)\.{UNKNOWN}+$")
_DOTTED = re.compile(r"(?:.*/)?\.(?:\*|\[[!^]\.\]\*|\?\?\*)/?")
"""All names with a dot: who takes them is after none in particular."""
_SUBSTITUTED = f"/dev/fd/{UNKNOWN}"
"""What `<(…)` and `>(…)` are called: the commands in them are read for themselves."""
_PATHS = frozenset({"read", "look", "write", "edit", "exec", "cwd"})


class Ground(msgspec.Struct, frozen=True):
    """What gives a command's words their meaning, and the operation that owns what they touch."""

    place: Place
    cwd: str | None
    owner: int | None = None
    sweep: bool = False
    lists: bool = False
    """It looks at names only, not into files."""


def locate(word: Word, place: Place, cwd: str | None) -> Located:
    """Return where a word points; a word that can be no path is not known."""
    try:
        return place.locate(word.text, cwd or UNKNOWN)
    except CallError:
        return Located(UNKNOWN)


def redirect_effects(redirect: Redirect, ground: Ground) -> Iterator[Operation]:
    """Yield what a redirection opens; descriptors, here-documents and the null device open nothing."""
    if redirect.direction in ("descriptor", "here") or _DESCRIPTORS.fullmatch(redirect.target.text):
        return
    located = locate(redirect.target, ground.place, ground.cwd)
    network = _SOCKET.match(located.path)
    if network:
        # Bash itself opens a connection for these names.
        yield connection(network.group(1), ground.owner, Tier.DANGEROUS, "opens a connection by redirection")
        return
    if redirect.direction in ("read", "both"):
        yield reading(located, ground, glob=is_pattern(redirect.target), own_cover=True)
        yield from guessed_reads(redirect.target, ground)
    if redirect.direction in ("write", "both"):
        yield writing(located, ground, glob=is_pattern(redirect.target), own_cover=True)


def role_effects(role: Role, word: Word, ground: Ground) -> Iterator[Operation]:
    """Yield what one argument or option value touches."""
    if role in _PATHS:
        yield from _path_effects(role, word, ground)
    elif role in ("from", "to"):
        yield from _transfer_effects(role, word, ground)
    elif role in ("url", "save", "host"):
        yield from _network_effects(role, word, ground)
    elif role == "data":
        inner = _SENT.match(word.text)
        if inner and inner.end() < len(word.text) and word.text != "@-":
            yield from _path_effects("read", part(word, inner.end()), ground)
    elif role == "revision":
        yield from _stored_effects(word, ground)
    elif role == "filter":
        yield from _filter_effects(word, ground)
    elif role == "name" and places.is_secret_variable(word.text):
        yield secret_variable(word.text, ground.owner)


def _stored_effects(word: Word, ground: Ground) -> Iterator[Operation]:
    """Yield the read of a file in a revision: a path from the repository's root, or with a dot from the folder."""
    inner = _STORED.match(word.text)
    if inner is None or inner.end() == len(word.text) or word.text.startswith((":(", ":!", ":^")):
        yield from _filter_effects(word, ground)
        return
    # Lines of a function are asked for by its name and the file: `:main:a.c`.
    for begin in dict.fromkeys((inner.end(), word.text.rindex(":") + 1)):
        yield from _stored_reads(part(word, begin), ground)


def _stored_reads(file: Word, ground: Ground) -> Iterator[Operation]:
    cwd = ground.cwd
    roots = [r for r in ground.place.workspace if cwd and within(cwd, r)] if not file.text.startswith(".") else []
    for folder in dict.fromkeys((*roots, cwd)):
        stored = msgspec.structs.replace(ground, cwd=folder)
        yield reading(locate(file, ground.place, folder), stored, glob=is_pattern(file))
        yield from guessed_reads(file, stored)


def _filter_effects(word: Word, ground: Ground) -> Iterator[Operation]:
    """Yield the read of a secret that a filter of names lets through."""
    for text in of_word(word):
        for name in let_through(text):
            found = Word(name, splits=True)
            operation = reading(locate(found, ground.place, ground.cwd), ground, glob=is_pattern(found))
            if operation.secret or _own_read(operation, ground):
                yield operation
    if any(MADE in hint for hint in word.hints):
        yield from guessed_reads(word, ground)


def _path_effects(role: Role, word: Word, ground: Ground) -> Iterator[Operation]:
    if word.text in ("", "-") or _DESCRIPTORS.fullmatch(word.text):
        return
    if word.feeds and word.text == _SUBSTITUTED and role != "exec":
        return
    located, glob = locate(word, ground.place, ground.cwd), is_pattern(word)
    if role == "look":
        yield _looking(reading(located, ground, glob=glob), located, ground)
        for found in guessed_reads(word, ground):
            yield _looking(found, Located(found.resource, found.target), ground)
    if role in ("read", "edit"):
        yield reading(located, ground, glob=glob)
        yield from guessed_reads(word, ground)
    if role in ("write", "edit"):
        yield writing(located, ground, glob=glob)
    if role == "exec":
        yield Operation(
            kind=OperationKind.FS_EXEC,
            resource=blur(located.path) if glob else located.path,
            target=None if glob else located.target,
            tier=Tier.DANGEROUS,
            reason="runs a file whose content is not read",
            owner=ground.owner,
        )


def _transfer_effects(role: Role, word: Word, ground: Ground) -> Iterator[Operation]:
    url, remote = _URL.match(word.text), _REMOTE.fullmatch(word.text)
    if url:
        # Programs that copy have protocols of their own: only the machine matters.
        yield _contact(Address(read_address(word.text[url.end() :]).host), ground)
    elif remote:
        yield _contact(read_host(remote["host"]), ground)
    else:
        yield from _path_effects("read" if role == "from" else "write", word, ground)


def _network_effects(role: Role, word: Word, ground: Ground) -> Iterator[Operation]:
    address = read_host(word.text) if role == "host" else read_address(word.text)
    if address.file is not None:
        yield reading(locate(Word(address.file), ground.place, ground.cwd), ground)
        return
    yield _contact(address, ground)
    for name in address.saved if role == "save" else ():
        yield writing(locate(Word(name), ground.place, ground.cwd), ground)


def _contact(address: Address, ground: Ground) -> Operation:
    """Return a connection; to the port that Assent listens on, any name may be one of this machine."""
    doubt, port = address.doubt, address.host.rpartition(":")[2]
    if doubt is None and port in {e.rpartition(":")[2] for e in ground.place.facts.assent_endpoints}:
        doubt = "contacts a port that Assent listens on"
    if doubt is None:
        return connection(address.host, ground.owner)
    return connection(address.host, ground.owner, Tier.DANGEROUS, doubt)


def connection(host: str, owner: int | None, tier: Tier = Tier.SAFE, reason: str = "contacts a machine") -> Operation:
    """Return a connection; its tier is its own, the command that makes it has another."""
    return Operation(kind=OperationKind.NET_CONNECT, resource=host, tier=tier, reason=reason, owner=owner)


def secret_variable(name: str, owner: int | None) -> Operation:
    """Return the read of a variable with a secret's name."""
    return Operation(
        kind=OperationKind.FS_READ,
        resource=f"${name}",
        tier=Tier.SAFE,
        reason="reads a variable with a secret's name",
        owner=owner,
        secret=True,
    )


def working(located: Located, owner: int) -> Operation:
    """Return the use of a folder outside the workspace, which needs an allow of its own."""
    where = f"in {located.path}, outside" if located.known else "in a folder that may lie outside"
    return Operation(
        kind=OperationKind.FS_READ,
        resource=located.path,
        target=located.target,
        tier=Tier.DANGEROUS,
        reason=f"works {where} the workspace",
        owner=owner,
        own_cover=True,
    )


def reading(located: Located, ground: Ground, *, glob: bool = False, own_cover: bool = False) -> Operation:
    """Return the read of a path; of a pattern that may find Assent's own files, the read of those."""
    path = located.path
    own = _own(located, ground.place.facts.assent_paths, glob=glob, above=ground.sweep and not ground.lists)
    secret = ground.place.is_secret(located)
    if not secret and not ground.lists:
        secret = bool(_INHERITED.match(path)) or (glob and may_be_secret(path)) or _sweeps_secrets(located, ground)
    near = _is_near(path, ground) and not glob
    return Operation(
        kind=OperationKind.FS_READ,
        resource=own or (blur(path) if glob else path),
        target=None if own or glob else located.target,
        tier=Tier.DANGEROUS if near else Tier.SAFE,
        reason="may read Assent's own files" if near else "reads a secret" if secret else "reads a file",
        owner=ground.owner,
        own_cover=own_cover,
        globbed=glob and not own,
        sweep=ground.sweep,
        secret=secret,
    )


def _looking(found: Operation, located: Located, ground: Ground) -> Operation:
    """Return a read as the look at a name: that a project has a secret is none, what lies beside a person's keys is."""
    hidden = found.secret and not ground.place.inside(located)
    return found if hidden or not found.secret else msgspec.structs.replace(found, secret=False)


def _sweeps_secrets(located: Located, ground: Ground) -> bool:
    """Tell whether all files of a folder of the user's own are read, of which some are known to be secrets."""
    return ground.sweep and places.keeps_secrets(located.path) and not ground.place.inside(located)


def guessed_reads(word: Word, ground: Ground) -> Iterator[Operation]:
    """Yield the reads of secrets that a word may name which is only known when the line runs."""
    if UNKNOWN not in word.text:
        return
    if any(MADE in hint for hint in word.hints):
        yield Operation(
            kind=OperationKind.FS_READ,
            resource=UNKNOWN,
            tier=Tier.DANGEROUS,
            reason="reads a file whose name the line makes up while it runs",
            owner=ground.owner,
        )
    for variable in word.variables:
        if variable in places.SECRET_FILES:
            yield reading(locate(Word(places.SECRET_FILES[variable]), ground.place, ground.cwd), ground)
    # What comes from outside the line may be nothing at all; behind a dot it makes a hidden file of any name.
    hidden = (word.text.replace(UNKNOWN, "env"),) if _HIDDEN.search(word.text) else ()
    for text in dict.fromkeys((*word.hints, word.text, *hidden)):
        guess = Word(text.replace(UNKNOWN, ""), splits=True)
        if guess.text and MADE not in guess.text:
            found = reading(locate(guess, ground.place, ground.cwd), ground, glob=is_pattern(guess))
            if found.secret or found.tier is not Tier.SAFE or _own_read(found, ground):
                yield found


def surroundings(command: Command, ground: Ground) -> Iterator[Operation]:
    """Yield what a command touches whatever it is: its redirections, and names that its words look up."""
    for redirect in command.redirects:
        for operation in redirect_effects(redirect, ground):
            yield (
                _endless(operation) if operation.kind is OperationKind.FS_WRITE and _never_ends(command) else operation
            )
    for word in command.words:
        yield from _stray_reads(word, ground)


def _never_ends(command: Command) -> bool:
    """Tell whether what a command prints has no end, so that a file takes the whole disk."""
    said = [word.text for word in command.words]
    if said[:1] == ["yes"] or ("cat" in said and not _SOURCES.isdisjoint(said)):
        return True
    return "yes" in said and said[0] in _PREFIXES


def _endless(operation: Operation) -> Operation:
    tier = max(operation.tier, Tier.DANGEROUS, key=lambda t: t.rank)
    return msgspec.structs.replace(operation, tier=tier, reason="fills the disk with what has no end")


def own_folder(ground: Ground) -> Iterator[Operation]:
    """Yield the use of a folder that is Assent's own."""
    if ground.cwd is not None and any(within(ground.cwd, own) for own in ground.place.facts.assent_paths):
        yield reading(Located(ground.cwd), ground)


def _stray_reads(word: Word, ground: Ground) -> Iterator[Operation]:
    """Yield the look at names that a pattern takes, whatever the command does with them, if they matter."""
    if is_pattern(word) and not _URL.match(word.text) and not _DOTTED.fullmatch(word.text):
        located = locate(word, ground.place, ground.cwd)
        found = _looking(reading(located, ground, glob=True), located, ground)
        if found.secret or _own_read(found, ground):
            yield found


def _own_read(operation: Operation, ground: Ground) -> bool:
    return any(within(operation.resource, own) for own in ground.place.facts.assent_paths)


def writing(located: Located, ground: Ground, *, glob: bool = False, own_cover: bool = False) -> Operation:
    """Return the write of a path: safe for a plain file inside the workspace, dangerous elsewhere."""
    place = ground.place
    tier, reason = _write_tier(located, place, glob=glob)
    device = tier is Tier.DESTRUCTIVE
    path = _written(located, ground) if glob else located.path
    return Operation(
        kind=OperationKind.FS_WRITE,
        resource=path,
        target=None if glob else located.target,
        tier=tier,
        reason=reason,
        owner=ground.owner,
        own_cover=own_cover or not (_is_inside(located, place) if glob else place.inside(located)),
        globbed=glob,
        secret=place.is_secret(located) or (glob and may_be_secret(located.path)),
        impact=f"overwrites {located.path}; on a disk that is everything on it" if device else None,
        rollback="restore the disk from a backup" if device else None,
    )


def _write_tier(located: Located, place: Place, *, glob: bool) -> tuple[Tier, str]:
    if _DEVICE.match(located.target or located.path):
        return Tier.DESTRUCTIVE, "overwrites a device"
    if not place.inside(located):
        return Tier.DANGEROUS, "writes outside the workspace"
    if place.is_sensitive(located):
        return Tier.DANGEROUS, "writes a sensitive file"
    if glob:
        return Tier.DANGEROUS, "writes whatever a pattern finds"
    return Tier.SAFE, "writes a file in the workspace"


def _is_inside(located: Located, place: Place) -> bool:
    """Tell whether what a pattern finds lies in a folder of the workspace: it must be about that folder alone."""
    folder, _, name = located.path.rpartition("/")
    return place.inside(located) and blur(folder) == folder and not name.startswith(".")


def _written(located: Located, ground: Ground) -> str:
    """Return what a pattern stands for when it is written: of all that it may find, what matters most."""
    facts, path = ground.place.facts, located.path
    own = _own(located, (*facts.assent_paths, *facts.assent_files), glob=True, above=True)
    if own or ground.place.is_control_plane(located):
        return own or path
    return control_plane(path) or blur(path)


def _own(located: Located, paths: tuple[str, ...], *, glob: bool, above: bool) -> str | None:
    """Return which of Assent's own paths a pattern may find, or a walk come by."""
    if not glob and (not above or located.path.startswith(UNKNOWN)):
        return None
    names = [segments(n.lower()) for n in located.names]
    return next((p for p in paths if any(leads_to(n, segments(p.lower()), above=above) for n in names)), None)


def _is_near(path: str, ground: Ground) -> bool:
    """Tell whether a path that is known only in part may end at Assent's own files."""
    known, cut, _ = path.partition(UNKNOWN)
    return bool(cut and known) and any(p.lower().startswith(known.lower()) for p in ground.place.facts.assent_paths)
