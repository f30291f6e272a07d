"""What the world said while a call was decided: each question is asked once, and can be put again later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import msgspec

from assent.model import Facts

T = TypeVar("T")
Answers: TypeAlias = dict[tuple[Any, ...], T]


class Witness(msgspec.Struct, frozen=True):
    """The questions that were put to the world, with its answers."""

    links: Answers[str | None]
    traps: Answers[str | None]
    programs: Answers[bool]
    files: Answers[bool]
    dashes: Answers[bool | None]
    faults: list[Exception]
    """Questions that were not answered, or at too great a length to keep: what rests on them holds for once only."""

    def holds(self, facts: Facts) -> bool:
        """Tell whether the world still answers every question as it did."""
        return (
            not self.faults
            and _agree(facts.resolve, self.links)
            and _agree(facts.trap, self.traps)
            and _agree(facts.is_program, self.programs)
            and _agree(facts.exists, self.files)
            and _agree(facts.has_dashes, self.dashes)
        )

    @property
    def count(self) -> int:
        """Return how many questions there were."""
        return len(self.links) + len(self.traps) + len(self.programs) + len(self.files) + len(self.dashes)


def watch(facts: Facts) -> tuple[Facts, Witness]:
    """Return the same facts, and the witness of everything that is asked of them."""
    faults: list[Exception] = []
    witness = Witness({}, {}, {}, {}, {}, faults)
    # A disk that cannot be asked is known by the very function that does not ask it.
    resolve = _noted(facts.resolve, witness.links, faults) if facts.disk == "known" else facts.resolve
    watched = msgspec.structs.replace(
        facts,
        resolve=resolve,
        trap=_noted(facts.trap, witness.traps, faults),
        is_program=_noted(facts.is_program, witness.programs, faults),
        exists=_noted(facts.exists, witness.files, faults),
        has_dashes=_noted(facts.has_dashes, witness.dashes, faults),
        names=_unkept(facts.names, faults),
    )
    return watched, witness


def _noted(ask: Callable[..., T], answers: Answers[T], faults: list[Exception]) -> Callable[..., T]:
    def answer(*question: Any) -> T:
        try:
            if question not in answers:
                answers[question] = ask(*question)
            return answers[question]
        except Exception as error:
            faults.append(error)
            raise

    return answer


def _unkept(ask: Callable[[str], T], faults: list[Exception]) -> Callable[[str], T]:
    def answer(folder: str) -> T:
        faults.append(LookupError(folder))
        return ask(folder)

    return answer


def _agree(ask: Callable[..., T], answers: Answers[T]) -> bool:
    for question, answer in answers.items():  # noqa: SIM110 - a plain loop, since every repeated line comes by here
        if ask(*question) != answer:
            return False
    return True
