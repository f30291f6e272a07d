"""What a command's arguments and redirections touch: reads, writes, execs and connections as operations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

import assent.lazy_regex as re
from assent.analysis.folder_operations import ARRIVING, COMING, arrive, fill, guess, holds_own, lead, lose, overwrite
from assent.analysis.ir import Command, Redirect, Word
from assent.analysis.lines.findings import Findings
from assent.analysis.operations import (
    OperationContext,
    connection,
    is_own,
    locate,
    looking,
    near_own,
    reading,
    secret_read,
    secret_variable,
    unseen,
    writing,
)
from assent.analysis.programs.embedded_code import QUIET, CodeJudgement
from assent.analysis.programs.match import Match, part
from assent.analysis.programs.secret_probe import fitting
from assent.analysis.resources.paths import Located, Place
from assent.analysis.resources.urls import REMOTE, URL, UrlTarget, decode, read_address, read_host
from assent.analysis.resources.wildcards import blur, is_pattern, let_through, may_be_secret
from assent.analysis.values.hints import FITS, FOREIGN, MADE, nearest, of_word
from assent.budget import step
from assent.catalog import Role, secret_names
from assent.model import DANGEROUS, FS_EXEC, FS_READ, SAFE, UNKNOWN, Operation, within

_DESCRIPTORS = re.compile(r"/dev/(?:null|zero|full|stdin|stdout|stderr|tty|fd/[012])")
_DATABASE = re.compile(
    r"file:(?://(?:localhost)?(?=/))?(?P<file>[^?#]*)"
    r"(?:(?P<kept>\?(?:(?!mode)\w+=\w*&)*mode=(?:ro|rw|memory)(?:&(?!mode)\w+=\w*)*)|[?#].*)?",
    re.DOTALL,
)
"""A database's address; `kept` if it says that no file is to be made."""
_SENT = re.compile(r"(?:[^=@<]*=)?[@<]")
_MOUNT = re.compile(r"[\w-]+[=,]", re.ASCII)
_PATH = re.compile(rf"^[.~{UNKNOWN}]|/")
_STORED = re.compile(r"[^:]*:(?:[0-3]:)?")
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/")
_HIDDEN = re.compile(rf"(?:^|/)\.{UNKNOWN}+$")
_DOTTED = re.compile(r"(?:.*/)?\.(?:\*|\[[!^]\.\]\*|\?\?\*)/?")
"""All names with a dot: who takes them is after none in particular."""
_PATHS = frozenset(
    {"read", "look", "write", "edit", "remove", "prune", "access", "move", "dest", "trees", "into", "exec", "cwd"}
)
_LOCAL: dict[Role, Role] = {"from": "read", "to": "dest", "mirror": "remove"}
_LINKED: frozenset[Role] = frozenset({"dest", "remove"})
"""Roles of where a link comes to be."""
_FILTERING: frozenset[Role] = frozenset({"filter"})
_SEARCHED: frozenset[Role] = frozenset({"read"})
"""Roles of the folders that a filter of names picks from."""
_WRITING = frozenset({"write", "edit", "remove", "prune", "access", "move", "dest", "trees", "into"})


def redirect_effects(redirect: Redirect, ground: OperationContext) -> Iterator[Operation]:
    """Yield what a redirection opens; descriptors, here-documents and the null device open nothing."""
    target = redirect.target.text
    if redirect.direction in ("descriptor", "here") or (target.startswith("/dev/") and _DESCRIPTORS.fullmatch(target)):
        return
    located = locate(redirect.target, ground.place, ground.cwd)
    network = _SOCKET.match(located.path)
    if network:
        # Bash itself opens a connection for these names.
        yield connection(network.group(1), ground.owner, DANGEROUS, "opens a connection by redirection")
        return
    if redirect.direction in ("read", "both"):
        yield reading(located, ground, glob=is_pattern(redirect.target), own_cover=True)
        yield from guessed_reads(redirect.target, ground)
        yield from found_reads(redirect.target, ground)
    if redirect.direction in ("write", "both"):
        yield writing(located, ground, glob=is_pattern(redirect.target), own_cover=True)


def role_effects(role: Role, word: Word, ground: OperationContext) -> Iterable[Operation]:
    """Return what one argument or option value touches."""
    step()
    if role in _PATHS:
        return _path_effects(role, word, ground)
    if role in ("from", "to", "mirror"):
        return _transfer_effects(role, word, ground)
    if role in ("url", "save", "host"):
        return _network_effects(role, word, ground)
    if role in ("renew", "anywhere"):
        return fill(locate(Word("/") if role == "anywhere" else word, ground.place, ground.cwd), ground)
    if role in _FORMS:
        return _FORMS[role](word, ground)
    return _variable_effects(word, ground) if role == "name" else ()


def _variable_effects(word: Word, ground: OperationContext) -> list[Operation]:
    """Return the read of a variable that holds a secret by its name, or that may: the line makes its name up."""
    if UNKNOWN in word.text and any(MADE in hint for hint in word.hints):
        return [secret_read("$…", ground.owner, "reads a variable whose name is known only at run time")]
    return [secret_variable(text, ground.owner) for text in of_word(word) if secret_names.is_secret_variable(text)][:1]


def _sent_effects(word: Word, ground: OperationContext) -> Iterator[Operation]:
    inner = _SENT.match(word.text)
    if inner and inner.end() < len(word.text) and word.text != "@-":
        yield from _path_effects("read", part(word, inner.end()), ground)


def _bind_effects(word: Word, ground: OperationContext) -> Iterator[Operation]:
    """Yield the read of what is bound, with all that is in it; the name of a volume is no path."""
    source = word.text.partition(":")[0]
    if _MOUNT.match(word.text):
        fields = dict(field.partition("=")[::2] for field in word.text.split(","))
        source = fields.get("src", fields.get("source", ""))
        source = f"./{source}" if fields.get("type") == "bind" and not source.startswith("/") else source
    if _PATH.search(source):
        path = Word(source, word.variables, word.feeds, word.splits)
        yield from _path_effects("read", path, msgspec.structs.replace(ground, sweep=True))


def _stored_effects(word: Word, ground: OperationContext) -> Iterator[Operation]:
    """Yield the read of a file in a revision: a path from the repository's root, or with a dot from the folder."""
    inner = _STORED.match(word.text)
    if inner is None or inner.end() == len(word.text) or word.text.startswith((":(", ":!", ":^")):
        if word.text.startswith(("/", "../", "./")):
            # A path to outside of the repository is compared as it is.
            yield reading(locate(word, ground.place, ground.cwd), ground, glob=is_pattern(word))
        yield from _filter_effects(word, ground)
        return
    # Lines of a function are asked for by its name and the file: `:main:a.c`.
    for begin in dict.fromkeys((inner.end(), word.text.rindex(":") + 1)):
        yield from _stored_reads(part(word, begin), ground)


def _stored_reads(file: Word, ground: OperationContext) -> Iterator[Operation]:
    cwd = ground.cwd
    roots = [r for r in ground.place.workspace if cwd and within(cwd, r)] if not file.text.startswith(".") else []
    for folder in dict.fromkeys((*roots, cwd)):
        stored = msgspec.structs.replace(ground, cwd=folder)
        yield reading(locate(file, ground.place, folder), stored, glob=is_pattern(file))
        yield from guessed_reads(file, stored)


def _filter_effects(word: Word, ground: OperationContext) -> Iterator[Operation]:
    """Yield the read of a secret that a filter of names lets through."""
    for text in of_word(word):
        for name in let_through(text):
            found = Word(name, splits=True)
            operation = reading(locate(found, ground.place, ground.cwd), ground, glob=is_pattern(found))
            if operation.secret or is_own(operation.resource, ground.place):
                yield operation
    if any(MADE in hint for hint in word.hints):
        yield from guessed_reads(word, ground)


def _below(word: Word, ground: OperationContext) -> bool:
    """Tell whether a path leads into the folder that a command runs in, where the name alone makes a secret."""
    return ground.cwd is not None and within(locate(word, ground.place, ground.cwd).path, ground.cwd)


def _picked_effects(roles: Sequence[tuple[Role, Word]], ground: OperationContext) -> Iterator[Operation]:
    """Yield the read of a secret that a filter of names lets through in a folder that is named beside it."""
    filters = _having(_FILTERING, roles)
    folders = [word.text for _, word in _having(_SEARCHED, roles) if not _below(word, ground)]
    names = [name for _, word in filters for text in of_word(word) for name in let_through(text)]
    for folder, name in itertools.product(folders, names):
        if ground.place.exhausted:
            return
        found = Word(f"{folder}/{name}", splits=True)
        operation = reading(locate(found, ground.place, ground.cwd), ground, glob=is_pattern(found))
        if operation.secret:
            yield operation


def _path_effects(role: Role, word: Word, ground: OperationContext) -> Iterator[Operation]:
    text = word.text
    if text in ("", "-") or (text.startswith("/dev/") and _DESCRIPTORS.fullmatch(text)):
        return
    if word.stream and role != "exec":
        return  # the commands behind it are read for themselves
    located = locate(word, ground.place, ground.cwd)
    if role == "read" and not word.splits and UNKNOWN not in text:
        yield reading(located, ground)
        return
    glob = is_pattern(word)
    if role == "look":
        yield looking(reading(located, ground, glob=glob), located, ground)
        for found in guessed_reads(word, ground):
            yield looking(found, Located(found.resource, found.target), ground)
    if role in ("read", "edit", "move"):
        yield reading(located, ground, glob=glob)
        yield from guessed_reads(word, ground)
        yield from found_reads(word, ground)
    if role in _WRITING:
        yield from _write_effects(role, word, located, ground)
    if role == "exec":
        yield Operation(
            kind=FS_EXEC,
            resource=blur(located.path) if glob else located.path,
            target=None if glob else located.target,
            tier=DANGEROUS,
            reason="runs a file whose content Assent does not analyse",
            owner=ground.owner,
        )


def _write_effects(role: Role, word: Word, located: Located, ground: OperationContext) -> Iterator[Operation]:
    goes, glob = role in ("remove", "prune", "move"), is_pattern(word)
    # What is in a folder can be reached no more, or otherwise, once the folder cannot.
    tree = goes or (role == "access" and holds_own(located, ground))
    yield writing(located, ground, glob=glob, tree=tree)
    if goes:
        yield from lose(located, ground, glob=glob, pruned=role == "prune")
    if role in ("into", "trees"):
        yield from fill(located, ground)
    if role == "into" or (glob and not goes):
        yield from overwrite(located, ground, glob=glob, shallow=role != "into")
    for hint in nearest(word.hints) if goes and UNKNOWN in word.text else ():
        taken = Word(hint, splits=True)
        there = locate(taken, ground.place, ground.cwd)
        yield from fill(there, ground)
        yield from guess(taken, ground)
        # Of what was found below the folder itself nobody knows which it is; of another, all may be.
        if ground.cwd is not None and not within(ground.cwd, there.path):
            yield from lose(there, ground, glob=is_pattern(taken))


def _database_effects(word: Word, ground: OperationContext) -> Iterator[Operation]:
    """Yield the read of a database, and the write of an empty file where it is not known to be there."""
    if word.text in ("", ":memory:"):
        return
    uri = None if word.splits else _DATABASE.fullmatch(word.text)
    file = word if uri is None else Word(decode(uri["file"]), word.variables, word.feeds)
    yield from _path_effects("read", file, ground)
    located, glob = locate(file, ground.place, ground.cwd), is_pattern(file)
    sure = located.known and not glob and not ground.elsewhere
    if not (uri and uri["kept"]) and not (sure and ground.place.facts.exists(located.path)):
        yield writing(located, ground, glob=glob)  # an empty file, where a redirection may put one


_FORMS: dict[Role, Callable[[Word, OperationContext], Iterable[Operation]]] = {
    "data": _sent_effects,
    "bind": _bind_effects,
    "database": _database_effects,
    "revision": _stored_effects,
    "filter": _filter_effects,
}
"""Roles whose words have a form of their own, in which a path stands somewhere."""


def _transfer_effects(role: Role, word: Word, ground: OperationContext) -> Iterator[Operation]:
    url, remote = URL.match(word.text), REMOTE.fullmatch(word.text)
    if url:
        # Programs that copy have protocols of their own: only the machine matters.
        yield _contact(UrlTarget(read_address(word.text[url.end() :]).host), ground)
    elif remote:
        yield _contact(read_host(remote["host"]), ground)
    else:
        yield from _path_effects(_LOCAL[role], word, ground)


def _network_effects(role: Role, word: Word, ground: OperationContext) -> Iterator[Operation]:
    address = read_host(word.text) if role == "host" else read_address(word.text)
    if address.file is not None:
        yield reading(locate(Word(address.file), ground.place, ground.cwd), ground)
        return
    yield _contact(address, ground)
    for name in address.saved if role == "save" else ():
        yield _saving(name, ground)


def _saving(name: str, ground: OperationContext) -> Operation:
    """Return the write of a file that a fetch names by its address: safe, too, where nobody knows of a workspace."""
    located = locate(Word(name), ground.place, ground.cwd)
    saved = writing(located, ground)
    ordinary = UNKNOWN not in name and not name.startswith((".", "-"))
    if ground.place.workspace or not ordinary or ground.place.traits(located.path, located.target).sensitive:
        return saved
    return msgspec.structs.replace(saved, tier=SAFE, reason="saves a file in its working directory")


def _contact(address: UrlTarget, ground: OperationContext) -> Operation:
    """Return a connection; to the port that Assent listens on, any name may be one of this machine."""
    doubt, port = address.doubt, address.host.rpartition(":")[2]
    if doubt is None and port in {e.rpartition(":")[2] for e in ground.place.facts.assent_endpoints}:
        doubt = "contacts Assent's own port"
    if doubt is None:
        return connection(address.host, ground.owner)
    return connection(address.host, ground.owner, DANGEROUS, doubt)


def guessed_reads(word: Word, ground: OperationContext) -> Iterator[Operation]:
    """Yield the reads of secrets that a word may name which is only known when the line runs."""
    if UNKNOWN not in word.text:
        return
    if any(MADE in hint for hint in word.hints):
        yield _nameless_read("reads a file whose name is known only at run time", ground)
    elif not ground.lists and any(FOREIGN in hint for hint in word.hints) and _is_named_by_what_is_printed(word):
        yield _nameless_read("reads a file whose name another command prints", ground)
    for variable in word.variables:
        if variable in secret_names.SECRET_FILES:
            yield reading(locate(Word(secret_names.SECRET_FILES[variable]), ground.place, ground.cwd), ground)
    # What comes from outside the line may be nothing at all; behind a dot it makes a hidden file of any name.
    hidden = (word.text.replace(UNKNOWN, "env"),) if _HIDDEN.search(word.text) else ()
    for text in dict.fromkeys((*word.hints, word.text, *hidden, *_at_home(word, ground.place))):
        before, fits, expression = text.partition(FITS)
        if fits:
            fits_ = [name for name in fitting(expression) if not before or not name.startswith("/")]
            names = [locate(Word(before + name), ground.place, ground.cwd) for name in fits_]
            yield from (found for name in names if (found := reading(name, ground)).secret)
            continue
        guess = Word(text.replace(UNKNOWN, ""), splits=True)
        if guess.text and MADE not in guess.text and FOREIGN not in guess.text:
            found = _guessed(guess, ground)
            if found.secret or found.tier is not SAFE or is_own(found.resource, ground.place):
                yield found


def _nameless_read(reason: str, ground: OperationContext) -> Operation:
    return Operation(kind=FS_READ, resource=UNKNOWN, tier=DANGEROUS, reason=reason, owner=ground.owner)


def _is_named_by_what_is_printed(word: Word) -> bool:
    """Tell whether it is not known what a file is called, or it is called as secrets are in some folders."""
    name = word.text.rpartition(UNKNOWN)[2].rpartition("/")[2] if "/" in word.text.rpartition(UNKNOWN)[2] else ""
    return not name or secret_names.may_be_secret_name(name)


def _guessed(guess: Word, ground: OperationContext) -> Operation:
    """Return the read of what a word may name; at any depth that is a secret or a file like all others."""
    located = locate(guess, ground.place, ground.cwd)
    if "/**" not in guess.text:
        return reading(located, ground, glob=is_pattern(guess))
    if not ground.place.weigh(located.path):
        return unseen(FS_READ, ground)
    root, _, rest = guess.text.partition("/**")
    paths = [f"{name}/**{rest}" for name in locate(Word(root or "/"), ground.place, ground.cwd).names]
    path = next((p for p in paths if may_be_secret(p) or secret_names.is_secret(p.replace("/**", ""))), None)
    found, name = path is not None, blur(path or located.path)
    reason = "reads a secret" if found else "reads a file"
    return Operation(
        kind=FS_READ, resource=name, tier=SAFE, reason=reason, owner=ground.owner, globbed=True, secret=found
    )


def found_reads(word: Word, ground: OperationContext) -> Iterator[Operation]:
    """Yield the read of Assent's own files where what is read was found below a folder that they lie in."""
    own = ground.place.facts.assent_paths
    if own and UNKNOWN in word.text:
        roots = [locate(Word(hint), ground.place, ground.cwd) for hint in word.hints if hint.startswith((".", "/"))]
        if any(within(path, name) for root in roots for name in root.names for path in own):
            yield near_own(ground)


def _at_home(word: Word, place: Place) -> Iterator[str]:
    """Give what a word says if the variable that it starts with leads to Assent's home, or to where secrets are."""
    own = place.facts.assent_paths
    if not word.text.startswith(UNKNOWN) or not word.variables:
        return
    folder = secret_names.SECRET_FOLDERS.get(word.variables[0])
    if folder is not None and place.facts.home:
        yield place.facts.home + folder[1:] + word.text[1:]
    for variable, path in (("ASSENT_HOME", own[0]), ("XDG_DATA_HOME", own[0].rpartition("/")[0])) if own else ():
        if variable in word.variables:
            yield path + word.text[1:]


def surroundings(command: Command, ground: OperationContext) -> Iterator[Operation]:
    """Yield what a command touches whatever it is: its redirections, and names that its words look up."""
    for redirect in command.redirects:
        if ground.place.exhausted:
            return
        yield from redirect_effects(redirect, ground)
    for word in command.words:
        yield from _stray_reads(word, ground)


def _stray_reads(word: Word, ground: OperationContext) -> Iterator[Operation]:
    """Yield the look at names that a pattern takes, whatever the command does with them, if they matter."""
    step()
    if not is_pattern(word) or ground.place.exhausted:
        return
    if not URL.match(word.text) and not _DOTTED.fullmatch(word.text):
        located = locate(word, ground.place, ground.cwd)
        found = looking(reading(located, ground, glob=True), located, ground)
        if found.secret or is_own(found.resource, ground.place):
            yield found


def _said_effects(said: CodeJudgement, ground: OperationContext) -> Iterator[Operation]:
    """Yield what a script or a statement touches."""
    for touch, words in ((reading, said.reads), (writing, said.writes)):
        for word in words:
            if ground.place.exhausted:
                return
            yield touch(locate(word, ground.place, ground.cwd), ground)
    for name in said.secrets:
        yield secret_read(name, ground.owner, "reads a secret")


def _having(some: frozenset[Role], roles: Sequence[tuple[Role, Word]]) -> list[tuple[Role, Word]]:
    """Return the arguments that have one of some roles."""
    return [given for given in roles if given[0] in some]


def argument_effects(
    findings: Findings,
    match: Match,
    roles: Sequence[tuple[Role, Word]],
    judged: list[CodeJudgement],
    ground: OperationContext,
) -> None:
    """Add what the arguments touch."""
    place, start = ground.place, len(findings.operations)
    coming = targets = None
    filtered = False
    for role, word in roles:
        filtered |= role == "filter"
        if role not in QUIET:
            findings.extend(role_effects(role, word, ground))
        if role in ARRIVING:
            coming = _having(COMING, roles) if coming is None else coming
            findings.extend(arrive(role, word, coming, findings.operations[:start], ground))
        if role == "link":
            targets = _having(_LINKED, roles) if targets is None else targets
            for target in targets:
                findings.extend(lead(word, *target, ground))
    findings.extend(_picked_effects(roles, ground) if filtered else ())
    for said in judged:
        if said.reads or said.writes or said.secrets:
            findings.extend(_said_effects(said, ground))
    if ground.sweep and not any(o.sweep for o in findings.operations[start:]):
        findings.extend((reading(locate(Word("."), place, ground.cwd), ground),))
    if match.entry.connects:
        findings.extend((connection(UNKNOWN, ground.owner),))
