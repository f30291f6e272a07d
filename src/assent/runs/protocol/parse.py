"""A frame → the message it holds, or everything that is wrong with it."""

from __future__ import annotations

from typing import Any, get_type_hints

import msgspec

from assent.analysis.resources.globs import compile_glob
from assent.model import AssentError
from assent.policy.rules.parse import check_pattern
from assent.runs.protocol.client_messages import CLIENT_MESSAGES, ClientMessage
from assent.runs.protocol.messages import ErrorCode

LARGEST_FRAME = 64 * 1024
LONGEST_GLOB = 4096
_JSON: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=float)
"""Takes a number that is too large for a float as well: that is JSON."""
_RECORDS: dict[str, type[ClientMessage]] = {str(record.__struct_config__.tag): record for record in CLIENT_MESSAGES}
_HINTS: dict[type[ClientMessage], dict[str, Any]] = {record: get_type_hints(record) for record in CLIENT_MESSAGES}


class ProtocolError(AssentError):
    """A message is not obeyed; `code` and the text are what the client is told."""

    def __init__(self, code: ErrorCode, message: str, request_id: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.request_id = request_id


def parse_frame(data: bytes) -> ClientMessage:
    """Read one frame, or raise `ProtocolError`."""
    if len(data) > LARGEST_FRAME:
        raise ProtocolError("VALIDATION_ERROR", f"Invalid message: frame: longer than {LARGEST_FRAME} bytes")
    try:
        raw = _JSON.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise ProtocolError("PARSE_ERROR", "Invalid JSON") from None
    if not isinstance(raw, dict):
        raise ProtocolError("VALIDATION_ERROR", "Invalid message: message: expected an object")
    return _convert(raw)


def _convert(raw: dict[str, Any]) -> ClientMessage:
    echoed = raw.get("requestId")
    request_id = echoed if isinstance(echoed, str) else None
    kind = raw.get("type")
    record = _RECORDS.get(kind) if isinstance(kind, str) else None
    if record is None:
        known = ", ".join(_RECORDS)
        wrong = ["type: required" if "type" not in raw else f"type: unknown, expected one of {known}"]
    else:
        try:
            return msgspec.convert(raw, record)
        except msgspec.ValidationError as error:
            wrong = _faults(raw, record) or [_describe(error)]
    raise ProtocolError("VALIDATION_ERROR", f"Invalid message: {'; '.join(wrong)}", request_id)


def _faults(raw: dict[str, Any], record: type[ClientMessage]) -> list[str]:
    """Name everything that is wrong, not only what is wrong first."""
    wrong = []
    for field in msgspec.structs.fields(record):
        name = field.encode_name
        if name not in raw:
            wrong += [f"{name}: required"] if field.required else []
            continue
        try:
            msgspec.convert(raw[name], _HINTS[record][field.name])
        except msgspec.ValidationError as error:
            wrong.append(f"{name}{_describe(error)}")
    return wrong


def _describe(error: msgspec.ValidationError) -> str:
    """Write what msgspec says as a path and a complaint."""
    what, _, place = str(error).partition(" - at `$")
    return f"{place.rstrip('`')}: {what[:1].lower()}{what[1:]}".replace("`", "")


def check_globs(name: str, globs: tuple[str, ...]) -> None:
    """Raise `ProtocolError` for a list in which something can never be a pattern."""
    for number, glob in enumerate(globs):
        if wrong := _fault_of(glob):
            raise ProtocolError("VALIDATION_ERROR", f"Invalid message: {name}[{number}]: {wrong}")


def _fault_of(glob: str) -> str | None:
    if not glob or len(glob) > LONGEST_GLOB:
        return f"expected 1 to {LONGEST_GLOB} characters"
    try:
        check_pattern(glob)
        compile_glob(glob)
    except AssentError as error:
        return str(error)
    return None
