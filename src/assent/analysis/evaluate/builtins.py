"""What built-in commands do to the shell they run in: its variables, its folder, its options."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import msgspec

import assent.lazy_regex as re
from assent.analysis.bash.charset import is_decimal
from assent.analysis.bash.parse import Parser
from assent.analysis.evaluate.conditionals import check_words
from assent.analysis.ir import ListWord, Word
from assent.analysis.values.combine import guessed
from assent.analysis.values.hints import MADE, merged, parted, texts
from assent.analysis.values.printed_text import formatted
from assent.analysis.values.scope import NUMBER_OR_NOTHING, UNKNOWN_VALUE, Value, normalise, value_of
from assent.budget import step
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from assent.analysis.evaluate.statements import Walker

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.ASCII | re.DOTALL)
_OPENING = frozenset({"(", UNKNOWN})
_PATTERN = frozenset("*?[")
_SET_FLAGS = re.compile(r"[-+][abefhmnuvxCET]*(o?)")
_SET_OPTIONS = frozenset(
    {
        "allexport",
        "errexit",
        "errtrace",
        "functrace",
        "hashall",
        "monitor",
        "noclobber",
        "noexec",
        "noglob",
        "notify",
        "nounset",
        "pipefail",
        "verbose",
        "xtrace",
    }
)
_SHOPTS = frozenset(
    {
        "checkwinsize",
        "dotglob",
        "extglob",
        "failglob",
        "globasciiranges",
        "globskipdots",
        "globstar",
        "histappend",
        "huponexit",
        "inherit_errexit",
        "lastpipe",
        "nocaseglob",
        "nocasematch",
        "nullglob",
    }
)
_TOP = (Word("git"), Word("rev-parse"), Word("--show-toplevel"))
"""Prints a folder that the one it runs in lies in, or is."""
_UNCUT = ("IFS", Word(""))
"""`IFS= read`: a line is taken as it is."""
_DECLARE_FLAGS = {"export": "fnp", "readonly": "aAfp"}


def affect(walker: Walker, words: Sequence[Word]) -> None:
    """Apply what a command does to the shell. Of a command that is not known, that is anything."""
    name = words[0]
    if not name.known or name.text in walker.functions:
        walker.scope.forget()
    elif effect := EFFECTS.get(name.text):
        effect(walker, words)


def _unwrap(walker: Walker, words: Sequence[Word]) -> None:
    """`command` and `builtin` run another built-in."""
    rest = list(words[1:])
    while rest and rest[0].text[:1] == "-":
        option = rest.pop(0).text
        if option == "--":
            break
        if set(option[1:]) != {"p"}:
            return  # it only tells what a name is
    if rest:
        affect(walker, rest)


def _exec(walker: Walker, _: Sequence[Word]) -> None:
    """`exec` with redirections alone gives the shell another input."""
    directions = {each.direction for each in walker.commands[-1].redirects}
    walker.scope.diverted = walker.scope.diverted or not directions <= {"write"}
    if any(each.direction == "here" or each.target.feeds for each in walker.commands[-1].redirects):
        walker.notes.blame("`exec` replaces the input of the shell")


def _forget(walker: Walker, _: Sequence[Word]) -> None:
    walker.scope.forget()


def _trap(walker: Walker, words: Sequence[Word]) -> None:
    if any(word.text not in {"EXIT", "0"} for word in words[2:]):
        walker.scope.forget()


def _operands(words: Sequence[Word], valued: str = "") -> Iterator[tuple[str, Word]]:
    """Give options (with the word that is their value, for the letters in `valued`) and then operands."""
    rest = list(words[1:])
    while rest and rest[0].text.startswith("-") and len(rest[0].text) > 1:
        step()
        option = rest.pop(0)
        if option.text == "--":
            break
        letter = next((c for c in option.text[1:] if c in valued), "")
        if letter and option.text.endswith(letter) and rest:
            yield letter, rest.pop(0)
        else:
            yield option.text[1:], option
    yield from (("", word) for word in rest)


def _name(walker: Walker, word: Word, value: Value = UNKNOWN_VALUE) -> None:
    """Set a variable that a command names."""
    if _is_name(walker, word):
        walker.bind(word.text, value)


def _is_name(walker: Walker, word: Word) -> bool:
    """Tell whether a built-in command is given a plain name; more than that is evaluated."""
    step()
    if _NAME.fullmatch(word.text) and not word.splits:
        return True
    walker.notes.blame("builtin evaluates a computed variable name")
    walker.scope.forget()
    return False


def _read(walker: Walker, words: Sequence[Word]) -> None:
    named = False
    operands = list(_operands(words, "adinNptu"))
    separators = "".join(value.text for name, value in walker.commands[-1].assignments if name == "IFS")
    separators += "".join(word.text for option, word in operands if "d" in option)
    array = any("a" in option for option, _ in operands)
    whole = [option for option, _ in operands if option != "r"] in ([], [""])
    value = guessed(_line(walker, whole=whole), parted(_input(walker), separators))
    if not any("r" in option for option, _ in operands) and any("\\" in hint for hint in value.hints):
        value = guessed(value, merged(value.hints, (MADE,)))  # it takes them away
    fails = any(set(option) & {"t", "u"} for option, _ in operands)
    for option, word in operands:
        if option in {"", "a"}:
            named = True
            if fails:  # then it keeps what it holds
                value = guessed(value, merged(value.hints, _held(walker, word), (MADE,)))
            _name(walker, word, value)
            if array:
                walker.notes.array(word.text)
    if not named:
        walker.scope.assign("REPLY", value)


def _held(walker: Walker, word: Word) -> tuple[str, ...]:
    """Give what a variable may hold by now."""
    value = walker.scope.value(word.text)
    return texts(value.text, value.hints)


def _input(walker: Walker) -> tuple[str, ...]:
    """Give what `read` may find in its input; of a descriptor that the line opened elsewhere, anything."""
    diverted = walker.scope.diverted or any(r.direction == "descriptor" for r in walker.commands[-1].redirects)
    return (MADE,) if diverted else walker.fed()


def _line(walker: Walker, *, whole: bool) -> Value:
    """Give what `read` takes of a line: all of it is as a substitution of the commands before it would give it.

    What is cut from a line, or is of another input, may be anything: to that its own command counts as well.
    """
    command = walker.commands[-1]
    whole = whole and walker.scope.splitting and all(each == _UNCUT for each in command.assignments)
    elsewhere = walker.scope.diverted or any(each.direction != "write" for each in command.redirects)
    if whole and not elsewhere:
        return walker.said(command.fed_by)
    return _own(walker)


def _own(walker: Walker) -> Value:
    """Give what the last command made, of whatever it was fed and told."""
    return Value(UNKNOWN, (), (*walker.commands[-1].fed_by, len(walker.commands) - 1), opaque=True)


def _mapfile(walker: Walker, words: Sequence[Word]) -> None:
    value = guessed(_own(walker), walker.fed())
    walker.scope.assign("MAPFILE", value)
    for option, word in _operands(words, "dnOsucC"):
        if "C" in option:
            walker.notes.blame("`mapfile -C` runs code")
        elif not option:
            _name(walker, word, guessed(value, merged(value.hints, _held(walker, word))))
            walker.notes.array(word.text)


def _printf(walker: Walker, words: Sequence[Word]) -> None:
    rest = [*words[1:]]
    names: list[Word] = []
    while rest and rest[0].text.startswith("-v"):  # the last one counts: each may be that
        word = rest.pop(0)
        attached = len(word.text) > len("-v") or not rest
        names.append(Word(word.text[2:], splits=word.splits) if attached else rest.pop(0))
    for name in names:
        _name(walker, name, guessed(_own(walker), formatted(rest)))
    if rest and (rest[0].splits or rest[0].text.startswith(UNKNOWN)):
        walker.scope.forget()  # it may become `-v` and a name


def _getopts(walker: Walker, words: Sequence[Word]) -> None:
    for name in ("OPTARG", "OPTIND"):
        walker.scope.assign(name, guessed(UNKNOWN_VALUE, (MADE,)))
    for word in words[2:3]:
        _name(walker, word)


def _wait(walker: Walker, words: Sequence[Word]) -> None:
    for option, word in _operands(words, "p"):
        if option == "p":
            _name(walker, word, NUMBER_OR_NOTHING)
        elif UNKNOWN in word.text and word.chosen and not word.like:
            walker.notes.blame("`wait` may get an option that is known only at run time")


def _unset(walker: Walker, words: Sequence[Word]) -> None:
    operands = list(_operands(words))
    for option, word in operands:
        if not option and not any("f" in each for each, _ in operands) and _is_name(walker, word):
            walker.scope.assign(word.text, Value())


def _let(walker: Walker, words: Sequence[Word]) -> None:
    if walker.commands[-1].assignments:
        walker.notes.blame("`let` runs with variables of its own")
    for word in words[1:]:
        if walker.notes.steps < 0:
            return  # said in the notes
        if value_of(word).opaque or (word.splits and not _PATTERN.isdisjoint(word.text)):
            walker.notes.blame("`let` evaluates a value that is not a plain number")
        expression = Parser(word.text.replace(UNKNOWN, "0") + "))", walker.notes).arithmetic(quoted=True)
        if expression is not None:
            walker.calculate(expression)


def _declare(walker: Walker, words: Sequence[Word]) -> None:
    by = words[0].text
    flags = taken = ""
    for word in words[1:]:
        if word.text[:1] in {"-", "+"} and len(word.text) > 1:
            flags, taken = flags + word.text[1:] * (word.text[0] == "-"), taken + word.text[1:] * (word.text[0] == "+")
        elif "p" not in flags:
            _declare_one(walker, word, by, flags)
    if "g" in flags:
        walker.notes.blame(f"`{by} -g` sets a global variable that a local one hides")
    flags += taken
    if not set(flags) <= set(_DECLARE_FLAGS.get(by, "aAfFgiprtx") + "-"):
        walker.notes.blame(f"`{by}` changes how values are evaluated")
        walker.scope.forget()


def _declare_one(walker: Walker, word: Word, by: str, flags: str) -> None:
    step()
    scope = walker.scope
    match = _ASSIGNED.fullmatch(word.text)
    if word.splits or (match is None and not _NAME.fullmatch(word.text)):
        walker.notes.blame("a declaration evaluates a computed variable name")
        scope.forget()
        return
    name = word.text if match is None else match[1]
    if "i" in flags:
        scope.integers |= {name}
    _note_array(walker, name, flags, word, "" if match is None else match[3])
    if match is None and any(layer.startswith("function ") for layer in walker.through) and by != "export":
        walker.set(name, Value().or_else(scope.value(name)))  # in a function it hides what the name held
    if match is not None:
        hints = tuple(hint.partition("=")[2] for hint in word.hints)
        value = value_of(msgspec.structs.replace(word, text=match[3], hints=hints))
        plain = not match[2] and not match[3].startswith("(")
        if by == "local" and not any(layer.startswith("function ") for layer in walker.through):
            value = value.or_else(scope.value(name))  # outside functions it fails
        walker.set(
            name, value if plain else guessed(value.or_else(UNKNOWN_VALUE), merged(_elements(match[3]), (MADE,)))
        )
    if by != "export" and "p" not in flags:
        # what is exported is judged by its value, like any variable that is handed to programs
        walker.bound[name] = None
    if "r" in flags or by == "readonly":
        scope.readonly |= {name}


def _note_array(walker: Walker, name: str, flags: str, word: Word, value: str) -> None:
    """Note what is an array, and what would be evaluated if it were: that may have been told to the shell before."""
    evaluated = value[:1] in _OPENING and not isinstance(word, ListWord)
    if evaluated:
        walker.notes.list(name)
    if "A" in flags:
        walker.notes.maps |= {name}
    if "a" in flags or "A" in flags or (evaluated and ("$" in value or "`" in value)):
        walker.notes.array(name)


def _elements(text: str) -> tuple[str, ...]:
    """Give what the elements of a declared array may be."""
    return merged(piece.rpartition("]=")[2] for piece in text.strip("()").split())


def _set(walker: Walker, words: Sequence[Word]) -> None:
    rest = list(words[1:])
    while rest and rest[0].text[:1] in {"-", "+", UNKNOWN}:
        word = rest.pop(0)
        if word.text in {"-", "--"}:
            if rest or word.text == "--":
                _set_arguments(walker, rest)
            return
        flags = _SET_FLAGS.fullmatch(word.text)
        if flags is None or (flags[1] and rest and rest.pop(0).text not in _SET_OPTIONS):
            walker.notes.blame("`set` changes how the shell parses the command")
            walker.scope.forget()
            return
    if rest:
        _set_arguments(walker, rest)


def _set_arguments(walker: Walker, words: Sequence[Word]) -> None:
    walker.scope.take((Word(""), *words))
    walker.scope.named = None


def _shift(walker: Walker, words: Sequence[Word]) -> None:
    arguments = walker.scope.arguments
    count = words[1].text if len(words) > 1 else "1"
    known = arguments is not None and is_decimal(count) and len(count) < 5 and int(count) <= len(arguments)
    if arguments is not None:
        walker.scope.given = merged(*(texts(each.text, each.hints) for each in arguments)) if not known else ()
    walker.scope.arguments = arguments[int(count) :] if arguments is not None and known else None


def _shopt(walker: Walker, words: Sequence[Word]) -> None:
    for option, word in _operands(words):
        if not option and word.text not in _SHOPTS and word.text not in _SET_OPTIONS:
            walker.notes.blame("`shopt` changes how the shell parses the command")
            walker.scope.forget()


def _alias(walker: Walker, words: Sequence[Word]) -> None:
    for option, word in _operands(words):
        if not option and "=" in word.text:
            walker.functions[word.text.partition("=")[0]] = None


def _folder(walker: Walker, words: Sequence[Word]) -> tuple[str | None, ...]:
    """Give the folders that `cd` or `pushd` names; None is one that is not known."""
    folders: list[str | None] = []
    physical = False
    for option, word in _operands(words):
        if option:
            folders += [] if set(option) <= set("LPe@") else [None, None]
            physical = physical or "P" in option
        else:
            # What lies above a link is only known to the disk.
            known = word.known and not (physical and ".." in word.text.split("/"))
            folders.append(word.text if known else None)
    searched = "CDPATH" in walker.scope.values or "CDPATH" in walker.scope.outside
    return tuple(None if each and searched and each[0] not in "/." else each for each in folders)


def _cd(walker: Walker, words: Sequence[Word]) -> None:
    scope = walker.scope
    folders = _folder(walker, words)
    if not folders:
        home = scope.value("HOME").text
        scope.enter(None if UNKNOWN in home else home)
    elif folders == ("-",):
        scope.go_back()
    elif folders != ("",):
        _enter(walker, folders[0] if len(folders) == 1 else None, words)


def _enter(walker: Walker, folder: str | None, words: Sequence[Word]) -> None:
    """Change the folder to one that is known, or to one that may be what the line says elsewhere."""
    before = walker.scope.cwd
    walker.scope.enter(folder)
    hints = [hint for word in words[1:] for hint in word.hints] if folder is None else []
    if any(MADE in hint for hint in hints):
        walker.notes.blame("the working directory is known only at run time")
    places = tuple(normalise(hint) for hint in hints if hint.startswith("/") and UNKNOWN not in hint)
    if folder is None:
        chosen = [word for word in words[1:] if not word.known]
        places += tuple(_among(walker, word, before) for word in chosen)
        if not chosen or any(word.variables for word in chosen):
            places += (UNKNOWN,)  # what comes from outside may lead anywhere
        walker.scope.assured = tuple(dict.fromkeys(places))
        walker.scope.elsewhere = tuple(dict.fromkeys((*places, *walker.scope.elsewhere)))


def _among(walker: Walker, word: Word, before: str | None) -> str:
    """Give what is known of a folder that the line chooses while it runs, with `UNKNOWN` in it for what is not."""
    if word.feeds and not word.mixed and all(walker.commands[feed].words == _TOP for feed in word.feeds):
        return before or UNKNOWN
    names = word.text.split("/")
    text = "/".join(name if _PATTERN.isdisjoint(name) else UNKNOWN for name in names) if word.splits else word.text
    begins = word.named_in is not None and not word.splits
    if word.text.startswith(UNKNOWN) and not begins:
        return text if "/" in text else UNKNOWN
    if before is None and not text.startswith("/"):
        return UNKNOWN
    return normalise(posixpath.join(before or "/", text))


def _pushd(walker: Walker, words: Sequence[Word]) -> None:
    scope = walker.scope
    folders = _folder(walker, words)
    if len(folders) == 1 and folders[0] and folders[0][0] not in "-+":
        stack = None if scope.stack is None else (scope.cwd, *scope.stack)
        scope.enter(folders[0])
        scope.stack = stack
    elif not folders and scope.stack:
        first, *others = scope.stack
        stack = (scope.cwd, *others)
        scope.enter(first)
        scope.stack = stack
        scope.or_in(others)
    else:
        scope.stack = None
        _enter(walker, None, words)


def _popd(walker: Walker, words: Sequence[Word]) -> None:
    scope = walker.scope
    if len(words) == 1 and scope.stack:
        first, *others = scope.stack
        scope.enter(first)
        scope.stack = tuple(others)
        scope.or_in(others)  # one that was pushed before may not have been there
    else:
        scope.stack = None
        scope.enter(None)


EFFECTS: dict[str, Callable[[Walker, Sequence[Word]], None]] = {
    ".": _forget,
    "[": check_words,
    "alias": _alias,
    "builtin": _unwrap,
    "cd": _cd,
    "command": _unwrap,
    "declare": _declare,
    "eval": _forget,
    "exec": _exec,
    "export": _declare,
    "getopts": _getopts,
    "let": _let,
    "local": _declare,
    "mapfile": _mapfile,
    "popd": _popd,
    "printf": _printf,
    "pushd": _pushd,
    "read": _read,
    "readarray": _mapfile,
    "readonly": _declare,
    "set": _set,
    "shift": _shift,
    "shopt": _shopt,
    "source": _forget,
    "test": check_words,
    "trap": _trap,
    "typeset": _declare,
    "unset": _unset,
    "wait": _wait,
}
"""Commands that change the shell, or are looked at because they might."""
