"""One call as the policy sees it: what it is, what it would do, and where it stands."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from assent.analysis.resources.paths import Place, Traits
from assent.model import (
    COMMAND_EXECUTE,
    FS_EXEC,
    FS_READ,
    FS_WRITE,
    TOOL_CALL,
    UNKNOWN,
    Facts,
    Operation,
    OperationKind,
    Reading,
    Session,
    ToolCall,
)


class View(msgspec.Struct, frozen=True):
    """Everything a rule may look at."""

    call: ToolCall
    session: Session
    reading: Reading
    place: Place

    @property
    def facts(self) -> Facts:
        """Return what is known of the world."""
        return self.place.facts

    def is_command(self, operation: Operation) -> bool:
        """Tell whether an operation is a command that a command rule looks at."""
        return operation.kind is COMMAND_EXECUTE or operation.kind is FS_EXEC

    def mentions(self, operation: Operation, kind: OperationKind) -> Iterator[Operation]:
        """Yield what a command may do to the paths that it mentions, of which nobody knows what it does with them."""
        for path in operation.mentions:
            yield Operation(kind=kind, resource=path, tier=operation.tier, reason="", globbed=UNKNOWN in path)

    def is_unreadable(self, operation: Operation) -> bool:
        """Tell whether an operation stands for a line that could not be read: it may be anything."""
        return self.reading.unreadable is not None and operation.kind in (COMMAND_EXECUTE, TOOL_CALL)

    def is_outside(self, operation: Operation) -> bool:
        """Tell whether an operation is about a path that may lie outside the workspace, or there is none."""
        if operation.kind not in (FS_READ, FS_WRITE, FS_EXEC) or (operation.known and operation.resource[:1] != "/"):
            return False
        return not self.place.workspace or self.traits(operation).outside

    def traits(self, operation: Operation) -> Traits:
        """Tell what an operation's path is, by any of its names."""
        return self.place.traits(operation.resource, operation.target)
