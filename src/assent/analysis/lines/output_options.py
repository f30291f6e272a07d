"""Files that a command may write by words that nobody has described: options called like outputs, the control plane.

An allow on a command speaks for its words, not for what lies elsewhere: that is a write, and needs a cover of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

import assent.lazy_regex as re
from assent.analysis.ir import Word
from assent.analysis.operations import OperationContext, locate, unseen, writing
from assent.analysis.programs.match import part
from assent.analysis.resources.paths import Located
from assent.budget import step
from assent.model import DANGEROUS, FS_WRITE, Operation

_OUTPUT = re.compile(
    r"^-[a-z0-9]{0,3}o$|out|dest|dst|save|write|dump|export|log|report|result|artifact|target|trace|prof|cov|junit"
    r"|xml|html|json|sarif|cache|te?mp|debug|pid|lock|state|history|backup|snapshot|install|record|store|emit|gen"
    r"|build|dist|print|err|tee|stats|timing|metric",
    re.IGNORECASE,
)
"""Options whose value may be a file to write, by how such are called; one error only: too many."""
_OPTION = re.compile(r"(-[^=:]{1,100})([=:]?)")
_ATTACHED = re.compile(r"-[oO](?=[/.~])")
_MOST = 64


def told_writes(words: Sequence[Word], mentions: Sequence[str], ground: OperationContext) -> Iterator[Operation]:
    """Yield the writes that matter: those of the control plane, and those outside the workspace."""
    place, outputs = ground.place, _outputs(words)
    if len(outputs) > _MOST:
        yield unseen(FS_WRITE, ground)
        return
    found: dict[str, Located] = {}
    for located in (locate(word, place, ground.cwd) for word in outputs):
        traits = place.traits(located.path, located.target)
        if traits.outside or traits.sensitive:
            found[located.path] = located
    for path in mentions:
        traits = place.traits(path, None)
        # What is done with a place that decides what runs, and is not the project's, nobody knows.
        # (That a word names Assent's own files is asked about already.)
        if traits.control_plane and not traits.inside and path not in place.facts.assent_files:
            found.setdefault(path, Located(path))
    for located in found.values():
        # It is a guess: no more than dangerous, also where it is a device.
        write = writing(located, ground)
        yield msgspec.structs.replace(write, tier=DANGEROUS, impact=None, rollback=None)


def _outputs(words: Sequence[Word]) -> list[Word]:
    """Return the values of options that may name a file to write: in the same word, or in the next."""
    found: list[Word] = []
    for index, word in enumerate(words):
        step()
        following = words[index + 1 : index + 2]
        attached, option = _ATTACHED.match(word.text), _OPTION.match(word.text)
        if attached is not None:
            found.append(part(word, attached.end()))
        elif option is None or not _OUTPUT.search(option[1]):
            continue
        elif option[2]:
            found.append(part(word, option.end()))
        elif following and not following[0].text.startswith("-"):
            found += following
    return [word for word in found if word.text]
