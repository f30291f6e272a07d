"""What a shell line is made of, for us: a flat list of every command in it, with its words and redirections."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from assent.model import UNKNOWN

Direction: TypeAlias = Literal["read", "write", "both", "descriptor", "here"]
_STREAMS = ("/dev/std", "/dev/fd", "/dev/tty", "/proc/", UNKNOWN)
"""How names of files begin that may be what is open already."""


class Word(msgspec.Struct, frozen=True):
    """One word after expansion, as far as constants go; `UNKNOWN` stands for each part that is not one."""

    text: str
    variables: tuple[str, ...] = ()
    """Variables it takes from outside the line."""
    feeds: tuple[int, ...] = ()
    """The commands (by index in the script) whose output becomes part of it."""
    splits: bool = False
    """It may become no word, or several: an unquoted unknown, or a pattern the shell matches against files."""
    hints: tuple[str, ...] = ()
    """What it may be as a whole, where it is no constant: only ever a reason to ask (see `hints.py`)."""
    plain: bool = False
    """What is not known of it is known to bring no option."""
    like: str = ""
    """An example of it, where all that is not known of it are numbers and times."""
    named_in: tuple[str, ...] | None = None
    """Folders: it begins like a name in one of them, or with a letter that is no dash. None: nobody knows."""
    stream: bool = False
    """It is the name of a pipe to the commands that feed it: `<(…)`."""
    mixed: bool = False
    """What is not known of it may be something else than what those variables hold and those commands print."""
    cut: bool = False
    """What is not known of it is a piece of what those commands print, which was cut at blanks."""

    @property
    def known(self) -> bool:
        """Tell whether it is a constant."""
        return UNKNOWN not in self.text and not self.splits

    @property
    def chosen(self) -> bool:
        """Tell whether what is not known of it was chosen by the line, and does not come from outside alone."""
        return bool(self.feeds or self.hints or self.mixed) or self.text.count(UNKNOWN) > len(self.variables)


class ListWord(Word, frozen=True):
    """`name=(…)` behind a declaration: its elements were expanded one by one, and are no text that bash reads again."""


class Redirect(msgspec.Struct, frozen=True):
    """One redirection, decided by its direction, never by its spelling."""

    direction: Direction
    target: Word
    """The file; for `descriptor` the number or `-`; for `here` the text that is fed in."""

    @property
    def joins(self) -> bool:
        """Tell whether it may lead one stream to where another leads."""
        if self.direction == "descriptor":
            return True
        return self.direction == "write" and self.target.text.startswith(_STREAMS)


class Command(msgspec.Struct, frozen=True):
    """One simple command. No words: assignments or redirections alone."""

    words: tuple[Word, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    cwd: str | None = None
    """Where it runs; None if that is not known."""
    piped_from: int | None = None
    """The command whose output it reads; the last one, if there are several."""
    fed_by: tuple[int, ...] = ()
    """Every command whose output it may read."""
    through: tuple[str, ...] = ()
    """The layers it was found behind, outermost first: `$(…)`, `(…)`, `function f`, `trap`, …"""
    elsewhere: tuple[str, ...] = ()
    """Where it runs instead of `cwd` if a `cd` before it fails."""
    calls: bool = False
    """It surely calls a function of the line, whose commands are listed too."""
    constant: bool = False
    """It is words alone, and these are their texts: no variable of another's, no pattern, no other command's output."""
    writers: tuple[int, ...] = ()
    """For redirections of a compound statement: the commands in it whose output goes there."""
    endless: bool = False
    """It stands in a loop that nothing in the line ends."""
    latent: str = ""
    """The function in whose definition it was found: what it is told there is not known before it is called."""

    @property
    def folders(self) -> tuple[str | None, ...]:
        """Give where it may run; None stands for where nobody knows."""
        if not self.elsewhere:
            return (self.cwd,)
        return tuple(dict.fromkeys(None if each == UNKNOWN else each for each in (self.cwd, *self.elsewhere)))

    @property
    def stands_alone(self) -> bool:
        """Tell whether there is nothing that could flow into it, where it is the only one."""
        return self.constant and not self.endless

    @property
    def passes_on(self) -> bool:
        """Tell whether it has no input but what it is fed, and prints nothing but what it is there to print."""
        return all(each.direction == "write" and not each.joins for each in self.redirects)


class Around(msgspec.Struct, frozen=True):
    """What a line is given by the one that it stands in."""

    arguments: tuple[Word, ...] | None = None
    """The words behind it, its name first; None if nobody knows."""
    wrote: bool = False
    """Files were written, of which it may read one."""
    continued: bool = False
    """It runs in a shell that has run others before."""


class Script(msgspec.Struct, frozen=True):
    """Every command of a line. `unreadable` says why some of it could not be read; the rest is still here."""

    commands: tuple[Command, ...] = ()
    unreadable: str | None = None
    functions: tuple[str, ...] = ()
    """Names that the line defines as functions or aliases: commands of that name may be something else."""
    bound: tuple[str, ...] = ()
    """Variables that are set by other means than an assignment: a loop, arithmetic, a redirection, a built-in."""
    writes: bool = False
    """Some command's output goes to a file."""
    followed: tuple[tuple[str, str | None], ...] = ()
    """Functions of which every call was followed, each with what was unreadable where it is defined."""
