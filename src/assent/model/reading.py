"""What a call would do, found without running it."""

from __future__ import annotations

import msgspec

from assent.model.enums import (
    COMMAND_EXECUTE,
    DESTRUCTIVE,
    FS_READ,
    NET_CONNECT,
    SAFE,
    TOOL_CALL,
    UNKNOWN,
    OperationKind,
    Tier,
)


class Operation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One command, read, write, exec or connect that a call would make."""

    kind: OperationKind
    resource: str
    """The absolute path, the command as text, the host, or the tool's name."""
    tier: Tier
    reason: str
    target: str | None = None
    """The path with symbolic links followed; None where the disk could not be asked."""
    argv: tuple[str, ...] = ()
    """A command's words; `UNKNOWN` stands for text that is only known at run time."""
    owner: int | None = None
    """The index of the command that makes this operation; None if the call makes it itself."""
    own_cover: bool = False
    """An allow on the owner does not reach this: a redirection, or a write outside the workspace."""
    globbed: bool = False
    """What is not known of its path is a pattern that the shell matches against files: no slash in it."""
    sweep: bool = False
    """It walks a tree from this root, naming no file."""
    holds: bool = False
    """What decides later what runs is in it, or may be: more than its path says."""
    secret: bool = False
    """It names a key, a credential, a history, or a variable that holds one; of a command: it prints one."""
    sends: str = ""
    """The secrets that a command sends to another machine, in words: `your environment`, a path, `$NAME`."""
    plain: tuple[str, ...] = ()
    """The same words without the options before a subcommand, where there are any: `git -C x push` is `git push`."""
    opaque: bool = False
    """What the command does with its words is not known: any of them may be a command that it runs."""
    mentions: tuple[str, ...] = ()
    """Paths among words of which it is not known what the command does with them: it may read or write them."""
    hosts: tuple[str, ...] = ()
    """Machines that such words name: it may contact them."""
    obeys: str = ""
    """Whose settings in the project the command obeys: `git`, `cargo` …"""
    variable: str = ""
    """The variable of the agent's environment that it is about, if it is about one."""
    early: bool = False
    """It takes effect in the agent's own shell, before a sandbox could hold it."""
    through: tuple[str, ...] = ()
    """The layers a command was found behind, outermost first."""
    redirects: tuple[int, ...] = ()
    """Which of a command's words lead it to another project, program or setting, by index: an allow must spell them."""
    loads: tuple[str, ...] = ()
    """What a command takes code from: folders (`/code/.`) with names to look for there, and what it is sent to."""
    impact: str | None = None
    rollback: str | None = None

    @property
    def reads(self) -> bool:
        """Tell whether it only looks: a read, or a command or connection known to be one."""
        if self.kind is FS_READ:
            return True
        return self.tier is SAFE and self.kind in (COMMAND_EXECUTE, NET_CONNECT, TOOL_CALL)

    @property
    def shown(self) -> str:
        """Return the resource for people: what is only known at run time is an ellipsis."""
        return self.resource.replace(UNKNOWN, "…")

    @property
    def known(self) -> bool:
        """Tell whether the resource is a constant."""
        return UNKNOWN not in self.resource


class Reading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything found in a call. The worst operation gives the tier."""

    tool: str
    """The canonical name of the tool."""
    operations: tuple[Operation, ...]
    tier: Tier
    reason: str
    unreadable: str | None = None
    """Why the call, or a part of it, could not be read; then every command rule is a maybe."""
    environment: str = ""
    """The digest of the environment, where that changes what the call runs."""
    facts: dict[str, str] = {}
    """What was looked up outside the call, and what is `unknown`."""
    bound: tuple[tuple[str, str], ...] = ()
    """What it runs and where, as a person was asked about it: paths, each with what was found there."""

    @property
    def destructive(self) -> bool:
        """Tell whether something in it cannot be undone."""
        return self.tier is DESTRUCTIVE

    @property
    def impact_scope(self) -> str | None:
        """Name what a destructive call would hit."""
        return next((o.impact for o in self.operations if o.tier is DESTRUCTIVE and o.impact), None)

    @property
    def rollback_advice(self) -> str | None:
        """Say how a destructive call could be undone."""
        return next((o.rollback for o in self.operations if o.tier is DESTRUCTIVE and o.rollback), None)
