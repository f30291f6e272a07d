"""What commands do: data files, one per family, and their loader."""

from assent.catalog.environment_variables import (
    assignment_is_inert,
    environment_is_harmless,
    is_builtin,
    is_unheard,
    setting_is_harmless,
)
from assent.catalog.loader import entries, load, lookup, names, parse_entry, plain_name
from assent.catalog.overlay import Lexicon, build_lexicon, command_names, convert_entry
from assent.catalog.schema import Clause, Entry, Examples, Option, Role, expression, may_begin

__all__ = [
    "Clause",
    "Entry",
    "Examples",
    "Lexicon",
    "Option",
    "Role",
    "assignment_is_inert",
    "build_lexicon",
    "command_names",
    "convert_entry",
    "entries",
    "environment_is_harmless",
    "expression",
    "is_builtin",
    "is_unheard",
    "load",
    "lookup",
    "may_begin",
    "names",
    "parse_entry",
    "plain_name",
    "setting_is_harmless",
]
