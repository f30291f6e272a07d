"""What makes a node itself: its id, the key that signs its checkpoints, and the salt of its masks."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import secrets

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from assent.model import ConfigError
from assent.platform.files import find_private, find_secret, make_private_folder

_MEND = "make its mode 0600"


class Node(msgspec.Struct, frozen=True):
    """One installation, as the log knows it."""

    id: str
    salt: bytes
    private_key: bytes

    @property
    def public_key(self) -> bytes:
        """Return the key that checks its signatures."""
        key = Ed25519PrivateKey.from_private_bytes(self.private_key)
        return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def sign(self, message: bytes) -> bytes:
        """Sign a message."""
        return Ed25519PrivateKey.from_private_bytes(self.private_key).sign(message)


def load_node(home: str) -> Node:
    """Return this installation's identity, made at the first call; each part is its owner's alone."""
    folder = os.path.join(home, "keys")
    make_private_folder(home)
    make_private_folder(folder)
    name = _keep(os.path.join(home, "node"), secrets.token_hex(8).encode())
    salt = _keep(os.path.join(folder, "mask.salt"), secrets.token_bytes(32))
    key = _keep(os.path.join(folder, "log.ed25519"), _new_key())
    if len(key) != 32 or len(salt) != 32 or not name.isalnum():
        raise ConfigError("This installation's keys are damaged.", file=folder, suggestion="restore them from a backup")
    return Node(name.decode("ascii"), salt, key)


def new_node() -> Node:
    """Make an identity that lasts as long as its process."""
    return Node(secrets.token_hex(8), secrets.token_bytes(32), _new_key())


def find_public_key(home: str) -> tuple[str, bytes] | None:
    """Return the id and the public key of the installation in a folder; None if there is none."""
    name = find_private(os.path.join(home, "node"), suggestion=_MEND)
    key = find_private(os.path.join(home, "keys", "log.ed25519"), suggestion=_MEND)
    if name is None or key is None:
        return None
    return name.decode("ascii", "replace"), Node("", b"", key).public_key


def is_signed(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Tell whether a message was signed with a key."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _new_key() -> bytes:
    return Ed25519PrivateKey.generate().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())


def _keep(path: str, fresh: bytes) -> bytes:
    """Return what a file holds; if there is none, write it, and let the first of several processes win."""
    held = find_secret(path)
    if held is None:
        passing = f"{path}.{secrets.token_hex(4)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(passing, flags, 0o600), "wb") as file:
            file.write(fresh)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(passing, path)  # unlike a rename, this never replaces
        except FileExistsError:
            pass
        finally:
            os.unlink(passing)  # noqa: PTH108 - paths are strings here
        held = find_secret(path)
    if held is None:
        raise ConfigError("This file cannot be made.", file=path)
    return held
