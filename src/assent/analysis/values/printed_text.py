"""What commands print, as far as it is text of the line: hints of what is read from them.

The one place where bash's side knows programs, by what kind of output theirs is. Nothing is proved by it.
"""

from __future__ import annotations

import itertools
import posixpath
from typing import TYPE_CHECKING

import assent.lazy_regex as re
from assent.analysis.values.hints import FITS, FOREIGN, MADE, combined, merged, of_word, split
from assent.budget import step
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from assent.analysis.ir import Command, Redirect, Word

_LONGEST = 16
"""Commands of a pipe that are followed."""
_WORDIEST = 256
"""Words of a command that are followed as what it may print."""
_PIECE = re.compile(r"[^\s'\"|&;(){},=]+")
_FIELD = re.compile(r"[^:,;|=]+")
_RUNNING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_UNENDED = re.compile(r"-[eE]*n[neE]*")
_FIRST = frozenset({("head", "-1"), ("head", "-n1"), ("head", "-n", "1")})
_SHAPING = _RUNNING | {"-printf", "-fprintf", "-fprint", "-fprint0", "-fls", "-ls", "-print0", "-files0-from"}
"""What makes `find` print something else than a name in each line."""
_ENDING = re.compile(r"(?:-[^tdESjcoe=-]*e|--extension(?:=|$))(.*)", re.DOTALL)
_VALUED = re.compile(
    r"-[^tdESjcoe=-]*[tdESjco]|--(?:type|max-depth|min-depth|exact-depth|exclude|size|threads|color|owner)"
)
"""Options of fd of which the next word is the value; one that is told an ending is told apart."""
_XARGS = re.compile(r"-[A-Za-z0-9]*[IJnPLdasER]|--(?:max-args|max-procs|max-lines|delimiter|arg-file|max-chars)")
"""Options of xargs of which the next word is the value."""
_SEPARATED = re.compile(r"\\(?:0(?![0-7])|[nt])|\s")
_NUL = re.compile(r"(?:%s\\0)+")
_SLOT = re.compile(r"%[-0]?\d*[sd]")
_ITSELF = re.compile(r"\bexpr$|BEGIN|END|^-\w*n|^--null-input|implode|@base|fromjson|ltrimstr|sub\(")
"""What makes such a command speak without its input, or whatever that is; so does text of its own in quotes."""
_ALL = re.compile(r"-\w*[aAf]|--al")
_EXPRESSION = re.compile(r"-\w*e(?=.)|--regexp=")
_INVERTING = re.compile(r"-\w*v|--inv")
_HIDDEN = re.compile(r"-\w*[HuI]|--hidden|--unres|--no-ignore")
_OTHERS = re.compile(r"-\w*o|--others")
_IGNORED = re.compile(r"-\w*[iX]|--ignored")
_WALKING = frozenset({"ls", "dir", "vdir", "du", "tree", "eza", "exa", "rg", "lsd"})
_GIT_LISTS = frozenset({"ls-files", "status", "clean"})
_CUTTING = frozenset("cor")
"""Letters of options that make a command print a part of a line, or something else in its place."""
_SEARCHING = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "git"})
_CHOOSING = frozenset({"awk", "gawk", "mawk", "nawk", "sed", *_SEARCHING})
"""Commands that are told in a pattern which lines of their input to print."""
_PASSING = frozenset({"cat", "sort", "uniq", "head", "tail", "tee", "tac", "xargs", *_SEARCHING})
"""Commands that print of their input what they were given, unchanged."""
_SUBJECT = re.compile(r"%[bBN]|%s(?![\w\"])")
"""What prints the text of a commit."""
_QUOTING = frozenset(
    {
        *("cat", "tac", "head", "tail", "sort", "uniq", "cut", "nl", "rev", "column", "paste", "fold", "fmt", "expand"),
        *("comm", "join", "zcat", "gzcat", "bzcat", "xzcat", "zstdcat", "bat", "batcat", "less", "more", "strings"),
    }
)
"""Commands that print what stands in the files that they are told."""
_QUOTING_BY_PATTERN = frozenset(
    {"sed", "gsed", "awk", "gawk", "mawk", "nawk", "grep", "egrep", "fgrep", "rg", "jq", "yq"}
)
"""The same, where a pattern or a program stands before the files."""
_TAKING = {
    **dict.fromkeys(("head", "tail"), "ncs"),
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), "ABCmefdgtTjM"),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), "Fvf"),
    **dict.fromkeys(("sed", "gsed"), "efl"),
    **dict.fromkeys(("jq", "yq"), "fLo"),
    "sort": "ktSTo",
    "cut": "dfbc",
    "uniq": "fsw",
    "nl": "bhfdilnsvw",
    "column": "tscoNW",
    "paste": "d",
    "fold": "w",
    "fmt": "w",
    "expand": "t",
    "join": "12tjaeo",
    "strings": "ntes",
}
"""Options of those whose value is the next word."""
_NAMING = re.compile(r"-[^-lLcrRH\W]*+[lLcrRH]|--(?:files|count|recursive|with-f)")
"""Options of a search that make it print names of files, or numbers."""
_UNPACKING = {"tar": "O", "unzip": "pc", "7z": "so"}
"""Commands that print what stands in an archive, where they are told so."""
_FINDING = frozenset({"find", "gfind"})
_SEEKING = frozenset({"fd", "fdfind"})
_SAYING = frozenset({"echo", "printf"})
_LISTING = frozenset(
    {
        *("ls", "dir", "vdir", "git", "which", "whereis", "type", "realpath", "readlink", "dirname"),
        *("basename", "pwd", "locate", "plocate", "mlocate", "mdfind", "tree", "eza", "exa", "dpkg"),
        *("dpkg-query", "rpm", "pacman", "apk", "brew", "gem", "npm", "pnpm", "yarn", "pip", "pip3", "go"),
        *("cargo", "rustc", "hg", "svn", "wc", "du", "stat", "lsof", "pgrep", "ps", "date", "hostname"),
        *("whoami", "id", "nproc", "arch", "tar", "unzip", "zipinfo", "column", "nl", "comm", "file", "jq"),
        *("yq", "test", "[", "[[", "true", "false", ":", "cd", "pushd", "popd", "read", "shift"),
        *("exit", "return", "break", "continue", "sleep", "wait", "expr"),
        *("cut", "tr", "rev", "seq", "bc", "dc"),
    }
)
"""Commands whose output is names that are there, numbers, or made of what they are fed."""
_TELLING = _LISTING | _PASSING | _CHOOSING
_MAKING = re.compile(r"^\+.*%Z|%x[0-9A-Fa-f]{2}|\\[0-7x]|%%|%-?\d*\.\d")
"""What makes letters in a format."""
_QUOTES = frozenset("\\'\"")
_NEAR = 12
"""Words of a command among which the one that it runs stands."""
_WRITING = frozenset(">\"'\\")
"""What a line inside a word may write with, or write such a command with."""
_RUNNERS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "eval", "trap", "env", "timeout", "find", "xargs"})
_FOUND = frozenset({"ls", "git", "which", "type", "command", "pwd", "realpath", "readlink", ":"}) | _FINDING | _SEEKING
"""Commands that tell names, and nothing that stands in a file."""
_BLANKS = re.compile(r"\\[ntr0]")
_TURNED = frozenset({"rev", "tac"})
_EXECUTED = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ls", "basename", "dirname", "realpath", "readlink", "wc", "head", "tail", "cat"}
)
_CODES = re.compile(r"%[-+ #0-9.:_^]{0,8}(?:\([^()%]{0,64}\)|[A-Za-z%])|\\.|\$\{[\w:-]{0,64}\}")
_SIGNED = re.compile(r"(?:-{0,2}\w*=|\+)?(?:t?format:)?(.*)", re.DOTALL)
_LOOPS = frozenset({"for", "while", "until", "select"})
SPANNING = frozenset({"-path", "-ipath", "-wholename", "-iwholename"})
"""Tests of find whose pattern is held against a whole path: a star in it spans folders."""
NEGATING = frozenset({"!", "-not"})
NAMING = frozenset({"-name", "-iname", "-lname", "-ilname"}) | SPANNING
"""Tests of find that are given a pattern of the names that it is after."""
MATCHING = frozenset({"-regex", "-iregex"})
"""Those that are given an expression."""
_SPEAKING = frozenset({"expr", "awk", "gawk", "mawk", "nawk", "jq", "yq", "bc", "dc"})
"""Commands that print what their words say, without a file."""


def fed(command: Command, commands: Sequence[Command], *, wrote: bool) -> tuple[str, ...]:
    """Give what a command may read from its standard input, as far as it is text of the line.

    `wrote`: the line writes files, of which one may be what is read.
    """
    here = [hint for each in command.redirects if each.direction == "here" for hint in of_word(each.target)]
    opened = [each for each in command.redirects if each.direction == "read" or _is_numbered(each)]
    named = printed([feed for each in opened for feed in each.target.feeds], commands, wrote=wrote)
    written = (MADE,) if opened and wrote else (FOREIGN,) if any(map(_is_file, opened)) else ()
    given = merged(split(tuple(here)), printed(command.fed_by, commands, wrote=wrote), named, written)
    if any(not hint.startswith(FITS) and not _QUOTES.isdisjoint(hint) for hint in given):
        given = merged(given, (MADE,))  # who reads them may take them away
    # The separator may be another one than the blank.
    return merged(given, (field for hint in given for field in _FIELD.findall(hint)))


def printed(feeds: Sequence[int], commands: Sequence[Command], *, wrote: bool) -> tuple[str, ...]:
    """Give what these commands may print, as far as it is text of the line."""
    step()
    found = _upstream(feeds, commands)
    if not found or len(found) > _LONGEST or any(len(each.words) > _WORDIEST for each in found):
        return (MADE,) if found else ()
    foreign = (FOREIGN,) if not all(map(_is_listing, found)) or any(map(_quotes_file, found)) else ()
    beside = max(len(feeds), *(len(each.fed_by) for each in found), sum(_name(each) in _SAYING for each in found))
    if _is_put_together(found, several=beside > 1) or (wrote and any(map(_reads_file, found))):
        return merged((MADE,), foreign, _named(found))
    said = [text for each in found for text in _spoken(each) or ()]
    if any(_name(each) == "xargs" for each in found) and not all(map(_QUOTES.isdisjoint, said)):
        return merged((MADE,), foreign, _named(found))  # it takes them away
    if MADE not in said and all(_spoken(each) is not None or _passes(each) for each in found):
        return merged(*(_SEPARATED.sub(" ", text).split() for text in said), foreign, _named(found))
    made = any(text.strip(f" {UNKNOWN}") for text in said) or any(map(_says_itself, found))
    return merged((MADE,) if made else (), foreign, _named(found))


def found_first(feeds: Sequence[int], commands: Sequence[Command], functions: Container[str]) -> bool:
    """Tell whether all that is printed is the first name that `find` comes upon: it begins with a folder of the line.

    Of several, a name with an end of line in it could make another begin anyhow.
    """
    last = commands[feeds[0]] if len(feeds) == 1 else None
    if last is None or tuple(word.text for word in last.words) not in _FIRST or len(last.fed_by) != 1:
        return False
    command = commands[last.fed_by[0]]
    said = [word.text for word in command.words]
    roots = list(itertools.takewhile(lambda text: text[:1] not in ("-", "(", "!", ","), said[1:]))
    plain = not command.assignments and command.passes_on and last.passes_on and not command.fed_by
    known = all(word.known for word in command.words) and _SHAPING.isdisjoint(said)
    meant = said[:1] == ["find"] and "find" not in functions and "head" not in functions
    return plain and known and meant and all(roots)


def _is_listing(command: Command) -> bool:
    """Tell whether what a command prints is names that are there, numbers, or what it is fed."""
    name, said = _name(command), [word.text for word in command.words[1:]]
    if command.assignments:
        return False
    if name == "command":
        return said[:1] in (["-v"], ["-V"])
    if name in _FINDING and not _RUNNING.isdisjoint(said):
        return all(run in _EXECUTED for test, run in itertools.pairwise(said) if test in _RUNNING)
    if name == "xargs":
        return run_by_xargs(said) in _TELLING | {""}
    return name in _TELLING or name in _FINDING or name in _SEEKING or name in _SAYING


def run_by_xargs(said: Sequence[str]) -> str:
    """Give the program that xargs runs; nothing if it only prints what it is fed."""
    rest = iter(said)
    for text in rest:
        if not text.startswith("-"):
            return posixpath.basename(text)
        if _XARGS.fullmatch(text):
            next(rest, None)
    return ""


def _is_put_together(found: Sequence[Command], *, several: bool) -> bool:
    """Tell whether several texts without an end of line may become one, or a format makes letters."""
    open_ended = [each for each in found if _is_open_ended(each)]
    looped = any(not _LOOPS.isdisjoint(each.through) for each in open_ended)
    if any(_name(each) in _TURNED for each in found) or any(map(_says_more, found)):
        return True
    formats = (word.text for each in found if _name(each) != "printf" for word in each.words[1:])
    return bool(open_ended and several) or looped or any(_MAKING.search(text) for text in formats)


def _says_more(command: Command) -> bool:
    """Tell whether a command is told letters that it prints, or changes those that it is fed."""
    name, said = _name(command), [word.text for word in command.words[1:]]
    if name == "tr":
        told = [_BLANKS.sub("", text) for text in said if not text.startswith(("-", "[:"))]
        return any(letter.isalnum() for text in told for letter in text)
    if name == "cut":
        return any(text.startswith(("-c", "-b")) for text in said)
    if name in {"jq", "yq", "awk", "gawk", "mawk", "nawk"}:
        return any(text in {"--arg", "--argjson", "--args", "-v"} for text in said)
    if name in {"git", "find", "gfind", "date", "stat", "seq", "dpkg-query", "rpm"}:
        told = [text for text in said if "%" in text or "${" in text or (name == "date" and text[:1] == "+")]
        told += [value for test, value in itertools.pairwise(said) if test in {"-printf", "-f"}]
        return "--prefix" in said or any(_has_letters(text) for text in told)
    return False


def _has_letters(text: str) -> bool:
    """Tell whether a format has letters of its own."""
    whole = _SIGNED.fullmatch(text)
    return any(c.isalpha() for c in _CODES.sub("", whole[1] if whole else text))


def _is_open_ended(command: Command) -> bool:
    """Tell whether a command prints a text without ending the line."""
    said = [word.text for word in command.words[1:]]
    if _name(command) == "stat":
        return any(text.startswith("--printf") for text in said)
    if _name(command) == "printf":
        return not any(text.endswith(("\\n", "\n", "\\0", " ")) for text in said[:1])
    return _name(command) == "echo" and any(_UNENDED.fullmatch(text) for text in said[:1])


def writes(words: Sequence[Word], redirects: Iterable[Redirect]) -> bool:
    """Tell whether a command writes a file, by what surrounds it."""
    for redirect in redirects:
        if redirect.direction in ("write", "both") and not redirect.target.text.startswith("/dev/"):
            return True
    names = {word.text.rpartition("/")[2] for word in words[:_NEAR]}
    if "tee" in names:
        return True
    runs = not names.isdisjoint(_RUNNERS)
    return runs and any(not _WRITING.isdisjoint(word.text) or "tee" in word.text for word in words)


def _is_numbered(redirect: Redirect) -> bool:
    """Tell whether a redirection is of what was opened before by a number of its own."""
    return redirect.direction == "descriptor" and redirect.target.text.rstrip("-") not in ("", "0", "1", "2")


def _is_file(redirect: Redirect) -> bool:
    """Tell whether what is read is a file, and neither a pipe nor nothing."""
    return not redirect.target.stream and redirect.target.text != "/dev/null"


def _quotes_file(command: Command) -> bool:
    """Tell whether what a command prints stands in a file, which whoever wrote that file has chosen."""
    if any(each.direction == "read" and _is_file(each) for each in command.redirects):
        return True
    name, said = _name(command), [word.text for word in command.words[1:]]
    told = _operands(command)
    if name == "git":
        return not {"show", "config", "cat-file", "notes"}.isdisjoint(said[:1]) or any(map(_SUBJECT.search, said))
    if name in _UNPACKING:
        return any(set(_UNPACKING[name]) & {*text.lstrip("-")} for text in said[:2]) or "--to-stdout" in said
    if name in _QUOTING_BY_PATTERN:
        names = name in _SEARCHING and any(map(_NAMING.match, said))
        given = any(text[:2] in ("-e", "-f") for text in said)
        return len(told) > (not given) and not names
    return name in _QUOTING and bool(told)


def _operands(command: Command) -> list[Word]:
    """Give the words of a command that are neither options, nor values of such, nor pipes."""
    taking = _TAKING.get(_name(command), "")
    values = {at + 1 for at, word in enumerate(command.words) if _takes(word.text, taking)}
    return [
        word
        for at, word in enumerate(command.words)
        if at and at not in values and not word.stream and (word.text == "-" or not word.text.startswith("-"))
    ]


def _takes(text: str, letters: str) -> bool:
    """Tell whether a word is an option whose value is the next word."""
    return len(text) > 1 and text[0] == "-" != text[1] and text[-1] in letters and letters != ""


def _reads_file(command: Command) -> bool:
    """Tell whether a command may print what stands in a file."""
    opened = any(each.direction == "read" for each in command.redirects)
    return opened or (bool(command.words) and _name(command) not in _FOUND | _SAYING)


def _upstream(feeds: Iterable[int], commands: Sequence[Command]) -> list[Command]:
    todo, seen = list(feeds), dict[int, None]()
    while todo and len(seen) <= _LONGEST:
        index = todo.pop()
        if index not in seen and index < len(commands):
            seen[index] = None
            command = commands[index]
            todo += command.fed_by
            todo += [feed for word in command.words if word.stream for feed in word.feeds]
            todo += [feed for each in command.redirects if each.direction == "read" for feed in each.target.feeds]
    return [commands[index] for index in seen if commands[index].words or commands[index].redirects]


def _name(command: Command) -> str:
    return posixpath.basename(command.words[0].text) if command.words else "cat"


def _passes(command: Command) -> bool:
    """Tell whether a command prints of its input some lines as they are."""
    said = [word.text for word in command.words[1:]]
    cuts = any(text.startswith("-") and not _CUTTING.isdisjoint(text) for text in said)
    runs = _name(command) == "xargs" and run_by_xargs(said) not in ("", "echo")
    return _name(command) in _PASSING and not cuts and not runs


def _spoken(command: Command) -> tuple[str, ...] | None:
    """Give what `echo` and its like print; None if a command does something else."""
    name, words = _name(command), command.words[1:]
    if name == "echo":
        said = combined([part for word in words for part in ((" ",), of_word(word) or (UNKNOWN,))])
        return (MADE,) if any("\\" in text for text in said) else said
    if name == "printf":
        return formatted(words)
    if name == "basename" and words and words[0].text.startswith("-"):
        return (MADE,)
    if name == "basename" and words and all(word.known for word in words):
        suffix = words[1].text if len(words) > 1 else ""
        return (posixpath.basename(words[0].text.rstrip("/")).removesuffix(suffix),)
    if name == "pwd" and command.cwd is not None:
        return (command.cwd, *command.elsewhere)
    return None


def formatted(words: Sequence[Word]) -> tuple[str, ...]:
    """Give what `printf` prints, if its format only puts words in places."""
    if words and (words[0].text == "--" or any(word.splits and UNKNOWN in word.text for word in words)):
        return (MADE,)
    if words and "\\0" in words[0].text and not _NUL.fullmatch(words[0].text):
        return (MADE,)
    formats = of_word(words[0]) if words else ()
    plain = _SEPARATED.sub(" ", formats[0]) if len(formats) == 1 else "\\"
    if "\\" in plain or "%" in _SLOT.sub("", plain) or any("\\" in word.text for word in words[1:]):
        return (MADE,)
    pieces = _SLOT.split(plain)
    values = [of_word(word) or (UNKNOWN,) for word in words[1:]] or [("",)]
    each = len(pieces) - 1
    values += [("",)] * (-len(values) % each if each else 0)
    rounds = [values[at : at + each] for at in range(0, len(values), each)] if each else [[]]
    parts = [
        part for one in rounds for part in itertools.chain(*zip(((p,) for p in pieces), [*one, ("",)], strict=True))
    ]
    return combined(parts)


def _says_itself(command: Command) -> bool:
    """Tell whether a command prints text of the line in a form of its own."""
    here = any(each.direction == "here" and of_word(each.target) for each in command.redirects)
    alone = not command.fed_by or any('"' in word.text or _ITSELF.search(word.text) for word in command.words)
    return here or (_name(command) in _SPEAKING and alone)


def _named(commands: Sequence[Command]) -> Iterator[str]:
    """Give every name that stands in the words and the input of commands, but for what is looked for in files."""
    filtered = any(_name(command) in _SEARCHING and not _inverts(command) and _chooses(command) for command in commands)
    for command in commands:
        name, pieces = _name(command), _pieces(command)
        if (name in _CHOOSING and (name != "git" or _searches(command))) or _finds_hidden(command):
            pieces = [piece for piece in pieces if piece.strip("./")]  # dots alone are any letter, or part of a name
            pieces += [f".{piece.strip('/')}" for piece in pieces]
        elif not filtered and _lists_hidden(command):
            pieces.append(".*")
        yield from pieces
        if name in _FINDING:
            yield from _found(command, among=not filtered)
        elif name in _SEEKING:
            yield from (FITS + expression for expression in _sought([word.text for word in command.words[1:]]))
        elif _searches(command) and command.fed_by and not _inverts(command):
            yield from (FITS + _EXPRESSION.sub("", word.text) for word in command.words[1:] if _is_sought(word))
        elif name in _CHOOSING and command.fed_by:
            yield from (FITS + piece for word in command.words[1:] for piece in word.text.split("/")[1::2])


def _sought(said: Sequence[str]) -> Iterator[str]:
    """Give the expressions that names are searched for with, and those for the endings that they must have."""
    told = None
    for text in said:
        cluster = _ENDING.match(text)
        if told is not None:
            yield from (f"\\.{text}$",) if told else ()
            told = None
        elif cluster is not None and cluster[1]:
            yield f"\\.{cluster[1]}$"
        elif cluster is not None or _VALUED.fullmatch(text):
            told = cluster is not None
        elif not text.startswith("-"):
            yield text


def _is_sought(word: Word) -> bool:
    """Tell whether a word may be an expression that is searched for."""
    return not word.text.startswith("-") or _EXPRESSION.match(word.text) is not None


def _found(command: Command, *, among: bool) -> Iterator[str]:
    """Give what `find` is after, at any depth in each of the folders that it looks in; `among` all if by no name."""
    said = [word.text for word in command.words[1:]]
    start = next((at for at, text in enumerate(said) if text[:1] in ("-", "(", "!")), len(said))
    names = [value for test, value in itertools.pairwise(said) if test in NAMING]
    yield from (FITS + value for test, value in itertools.pairwise(said) if test in MATCHING)
    tests = zip(["", *said], said, said[1:], strict=False)
    yield from (FITS + spanned(v) for before, test, v in tests if test in SPANNING and before not in NEGATING)
    for root in said[:start] or ["."]:
        yield from (f"{root}/**/{name}" for name in names)
        if among and not names:
            yield f"{root}/**"


def spanned(pattern: str) -> str:
    """Write a pattern of paths as an expression."""
    return ".*".join(map(re.escape, pattern.replace("?", "*").split("*")))


def _pieces(command: Command) -> list[str]:
    """Give the pieces of what a command is told and fed, but for what it looks for in files."""
    words = () if _searches(command) and not command.fed_by else command.words[1:]
    given = (*words, *(each.target for each in command.redirects if each.direction == "here"))
    return [bare for word in given for text in of_word(word) for p in _PIECE.findall(text) for bare in _bare(p)]


def _chooses(command: Command) -> bool:
    """Tell whether a pattern leaves lines out: dots and stars match whatever there is."""
    said = [word.text for word in command.words[1:] if not word.text.startswith("-")]
    return not command.fed_by or any(text.strip(".*^$\\+?") for text in said)


def _searches(command: Command) -> bool:
    """Tell whether a command is told what to look for in files; git is, where it is told so."""
    words = command.words
    return _name(command) in _SEARCHING and (_name(command) != "git" or any(w.text == "grep" for w in words[1:]))


def _inverts(command: Command) -> bool:
    """Tell whether a command prints the lines in which nothing was found."""
    return _name(command) == "git" or any(_INVERTING.match(word.text) for word in command.words[1:])


def _finds_hidden(command: Command) -> bool:
    """Tell whether a command looks for a part of a name, and for hidden files too."""
    return _name(command) in _SEEKING and any(_HIDDEN.match(word.text) for word in command.words[1:])


def _lists_hidden(command: Command) -> bool:
    """Tell whether a command lists hidden files, or just those that a repository is to leave alone."""
    said = [word.text for word in command.words[1:]]
    if _name(command) in _WALKING:
        return any(map(_ALL.match, said)) or any(map(_HIDDEN.match, said))
    others = "--exclude-standard" not in said and any(map(_OTHERS.match, said))
    return _name(command) == "git" and not _GIT_LISTS.isdisjoint(said) and (others or any(map(_IGNORED.match, said)))


def _bare(piece: str) -> tuple[str, str]:
    """Take what is no part of a name from a piece of a pattern or of a format, which may be an expression."""
    plain = piece.replace("\\", "").lstrip("+^-").rstrip("$")
    return plain, plain.replace(".*", "*")
