"""YAML text becomes values with lines, or one error that names the line; nothing crashes or hangs."""

import contextlib
import inspect
import sys

import pytest
import yaml

from assent.config import yaml_document
from assent.config.yaml_document import (
    DEEPEST,
    MOST_NODES,
    Mapping,
    Scalar,
    YamlSequence,
    decode_document,
    parse_document,
    read_document,
)
from assent.model import ConfigError
from assent.platform.files import LARGEST_FILE
from work import steps

BOTH_PARSERS = pytest.mark.parametrize("loader", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])


def plain(node):
    if isinstance(node, Mapping):
        return {key: plain(value) for key, value in node.items.items()}
    if isinstance(node, YamlSequence):
        return [plain(item) for item in node.items]
    return node.text if node.kind == "str" else (node.kind, node.text)


def fault(text):
    with pytest.raises(ConfigError) as caught:
        parse_document(text, "f.yaml")
    assert caught.value.file == "f.yaml"
    return caught.value


@BOTH_PARSERS
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: b", {"a": "b"}),
        ("a:\n  - b\n  - c: d\n", {"a": ["b", {"c": "d"}]}),
        (
            "[x, 'on', on, 1, 1.5, ~, 2030-01-01]",
            [
                "x",
                "on",
                ("bool", "on"),
                ("int", "1"),
                ("float", "1.5"),
                ("null", "~"),
                ("timestamp", "2030-01-01"),
            ],
        ),
        ("a:", {"a": ("null", "")}),
        ("- !!str 1\n- !!int 1\n- ! 1\n- !!bool 'true'", ["1", ("int", "1"), "1", ("bool", "true")]),
        ("!!map {a: !!seq [b]}", {"a": ["b"]}),
        ("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
        ('a: "tab\\tline\\n"', {"a": "tab\tline\n"}),
        ("a: x\r\nb: y\r\n", {"a": "x", "b": "y"}),
        ("a: Bash(ls:*)", {"a": "Bash(ls:*)"}),
    ],
)
def test_what_is_written_is_what_is_read(monkeypatch, loader, text, value):
    monkeypatch.setattr(yaml_document, "_LOADER", loader)
    root = parse_document(text, "f").root
    assert root is not None
    assert plain(root) == value


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "   "])
def test_a_document_without_content_has_no_root(text):
    assert parse_document(text, "f").root is None


def test_every_value_and_key_knows_its_line():
    root = parse_document("# one\na:\n  - x\n  - y\nb:\n\n  c: z\n", "f").root
    assert root == Mapping(
        {
            "a": YamlSequence((Scalar("x", "str", 3), Scalar("y", "str", 4)), 3),
            "b": Mapping({"c": Scalar("z", "str", 7)}, {"c": 7}, 7),
        },
        {"a": 2, "b": 5},
        2,
    )


def test_a_mark_for_the_byte_order_is_no_part_of_the_text():
    assert decode_document(b"\xef\xbb\xbfa: b", "f").root == Mapping({"a": Scalar("b", "str", 1)}, {"a": 1}, 1)


@BOTH_PARSERS
@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: b\na: c\n", 2, "Duplicate key 'a'."),
        ("x:\n  a: b\n  'a': c\n", 3, "Duplicate key 'a'."),
        ("a: &x b\n", 1, "YAML anchors are not supported"),
        ("a: &x [b]\n", 1, "YAML anchors are not supported"),
        ("a:\n  - *x\n", 2, "YAML aliases are not supported"),
        ("1: a\n", 1, "a key must be a string"),
        ("yes: a\n", 1, "a key must be a string"),
        ("a: b\n<<: {c: d}\n", 2, "a key must be a string"),
        ("? [a]\n: b\n", 1, "a key must be a string"),
        ("? {a: b}\n: c\n", 1, "a key must be a string"),
        ("a: b\n---\nc: d\n", 2, "the file has more than one YAML document"),
        (
            "a: !!python/object:os.system x\n",
            1,
            "the YAML tag `tag:yaml.org,2002:python/object:os.system` is not supported",
        ),
        ("a: !!binary eA==\n", 1, "the YAML tag `tag:yaml.org,2002:binary` is not supported"),
        ("a: !!bool maybe\n", 1, "the YAML tag `tag:yaml.org,2002:bool` is not supported"),
        ("a: !mine x\n", 1, "the YAML tag `!mine` is not supported"),
        ("a: !!set {b}\n", 1, "the YAML tag `tag:yaml.org,2002:set` is not supported"),
        ("a: !!map [b]\n", 1, "the YAML tag `tag:yaml.org,2002:map` is not supported"),
        ("%YAML 1.1\n---\na: b\n", 1, "YAML directives are not supported"),
        ("%TAG ! x\n" * 400_000, 1, "YAML directives are not supported"),
        ("a: b\nc: \x00\n", 2, "The character U+0000 is not allowed: it is invisible"),
        ("a: b\nc: x\x1b[2J\n", 2, "The character U+001B is not allowed: it is invisible"),
        ("a: b # x\ry: z\n", 1, "The character U+000D is not allowed: it is invisible"),
        ("a: b # x\u2028c: d\n", 1, "The character U+2028 is not allowed: it is invisible"),
        ("a: r\u200bm\n", 1, "The character U+200B is not allowed: it is invisible"),
        ("a: \u202ex\n", 1, "The character U+202E is not allowed: it is invisible"),
        ("a: \ufdd0\n", 1, "The character U+FDD0 is not allowed: it is invisible"),
        ("a: \ud800\n", 1, "The character U+D800 is not allowed: it is invisible"),
        ('a: b\nc: "\\0"\n', 2, "The character U+0000 is not allowed: it is invisible"),
        ('a: b\nc: "\\uFDD0"\n', 2, "The character U+FDD0 is not allowed: it is invisible"),
    ],
)
def test_what_a_configuration_needs_not_is_refused_with_its_line(monkeypatch, loader, text, line, message):
    monkeypatch.setattr(yaml_document, "_LOADER", loader)
    error = fault(text)
    assert (error.line, error.message) == (line, message)


@BOTH_PARSERS
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [b\n", 2),
        ("a: b: c\n", 1),
        ("x: y\na: 'b\n", 3),
        ("a: b\n- c\n", 2),
        ("a: @x\n", 1),
        ("a: }\n", 1),
    ],
)
def test_text_that_is_no_yaml_is_named_so_with_its_line(monkeypatch, loader, text, line):
    monkeypatch.setattr(yaml_document, "_LOADER", loader)
    error = fault(text)
    assert error.message.startswith("Invalid YAML: ")
    assert error.line == line


@BOTH_PARSERS
def test_a_tab_gets_the_advice_to_use_spaces(monkeypatch, loader):
    monkeypatch.setattr(yaml_document, "_LOADER", loader)
    error = fault("a:\n\t- b\n")
    assert (error.line, error.suggestion) == (2, "indent with spaces, not with tabs")


def test_an_error_of_the_parser_without_a_place_still_names_the_file(monkeypatch):
    def fail(_self):
        raise yaml.MarkedYAMLError(problem="no place")

    monkeypatch.setattr(yaml_document._LOADER, "get_event", fail, raising=False)
    error = fault("a: b\n")
    assert (error.message, error.line) == ("Invalid YAML: no place.", 0)


def test_bytes_that_are_no_utf8_are_refused_with_their_line():
    with pytest.raises(ConfigError) as caught:
        decode_document(b"a: b\nc: \xff\n", "f")
    assert (caught.value.line, caught.value.message) == (2, "not valid UTF-8")


def test_utf16_is_refused():
    with pytest.raises(ConfigError):
        decode_document("a: b".encode("utf-16"), "f")


@pytest.mark.parametrize("levels", [1, DEEPEST])
def test_nesting_up_to_the_bound_is_read(levels):
    assert parse_document("[" * levels + "]" * levels, "f").root is not None


@BOTH_PARSERS
@pytest.mark.parametrize("piece", ["[", "- ", "{a: ", "? ", "[a: ", "- ? "])
def test_bottomless_nesting_is_an_error_and_not_a_crash(monkeypatch, loader, piece):
    monkeypatch.setattr(yaml_document, "_LOADER", loader)
    assert fault(piece * 200_000).message == f"nested more than {DEEPEST} levels deep"


@pytest.mark.parametrize(
    "text", ["[" + "a," * MOST_NODES + "]", "".join(f"k{i}: v\n" for i in range(MOST_NODES // 2 + 1))]
)
def test_more_values_than_the_bound_are_refused(text):
    assert fault(text).message == f"the file has more than {MOST_NODES} values"


def test_as_many_values_as_the_bound_are_read():
    root = parse_document("[" + "a," * (MOST_NODES - 1) + "]", "f").root
    assert isinstance(root, YamlSequence)
    assert len(root.items) == MOST_NODES - 1


def test_references_that_multiply_are_refused_before_they_do():
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    assert fault("\n".join(lines)).message == "YAML anchors are not supported"


FULL = LARGEST_FILE


@pytest.mark.parametrize(
    "text",
    [
        '"' + "x" * FULL,
        '"' + "\\x41" * (FULL // 4) + '"',
        "lines\n" * (FULL // 6),
        "---\n" * (FULL // 4),
        "!<" + "a" * FULL,
        " " * FULL,
        "\n" * FULL,
        "#" * FULL,
        ":" * FULL,
        "!" * FULL,
        "1" * FULL,
        "1:" * (FULL // 2),
        "|\n" + " \n" * (FULL // 2),
        "*" * FULL,
        "&a " * (FULL // 3),
        "'" * FULL,
        "? " + "x" * FULL + "\n: y",
        "\x85" * 10,
        "a,\n" * (FULL // 3),
        "2030-01-01" * (FULL // 10),
        "." * FULL,
        "-" * FULL,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_no_file_of_the_largest_size_is_much_work(text):
    def parse() -> None:
        with contextlib.suppress(ConfigError):
            parse_document(text, "f")

    assert steps(parse) < 50 * FULL


def test_reading_needs_no_deep_stack():
    limit = sys.getrecursionlimit()
    text = "[" * DEEPEST + "]" * DEEPEST
    try:
        sys.setrecursionlimit(120 + len(inspect.stack()))
        assert parse_document(text, "f").root is not None
    finally:
        sys.setrecursionlimit(limit)


def test_a_file_is_read_from_disk_under_its_own_name(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: b\n")
    assert read_document(path).file == str(path)
    path.write_text("a: [\n")
    with pytest.raises(ConfigError) as caught:
        read_document(str(path))
    assert caught.value.file == str(path)
