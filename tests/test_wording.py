"""The words and names of the house: modules, docstrings, comments and identifiers can be searched.

A maintainer who greps for a term of the field finds it; what is listed here is said with one.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = {
    str(place.relative_to(ROOT)): place
    for folder in ("src/commonplace", "integrations/langchain", "integrations/llama_index")
    for place in sorted((ROOT / folder).iterdir())
    if place.suffix == ".py" or (place.is_dir() and any(place.rglob("*.py")))
}
"""Modules and folders at the top of each distribution, by path."""

NOT_YET_CLEAN: tuple[str, ...] = ()
"""Rooms that are still being reworded; delete a line once its room passes."""

CLEAN = [room for room in ROOMS if room not in NOT_YET_CLEAN]

FORBIDDEN = re.compile(
    r"\b(told|whoever|nobody|somebody|let\s+go\s+of|anew|hear\s+that|be\s+one)\b", re.IGNORECASE
)
ALLOWED = {
    ("src/commonplace/text/stopwords.py", "somebody"): "a stop word",
    ("src/commonplace/text/stopwords.py", "told"): "a stop word",
    ("src/commonplace/text/stopwords.py", "whoever"): "a stop word",
    ("src/commonplace/transcripts/formats.py", "nobody"): "the beginning of a prompt",
}
"""Words in string literals, by module, and why each stays; docstrings and comments have none."""

NO_NOUNS = {
    *("ahead", "apart", "aside", "away", "beside", "besides", "elsewhere", "keeping", "making"),
    *("opening", "reading", "running", "settling", "telling", "waiting", "watching", "working"),
}
"""Adverbs and participles that were names of modules, and their like."""
MOST_LINES = 350
LONGER = {f"src/commonplace/{name}.py" for name in ("settings", "memory", "types")}
"""Modules that list: every setting, every verb, every value."""
NAMED_BY_THE_CONTRACT = {"src/commonplace/types.py"}


def modules(rooms: Iterable[str] = ROOMS) -> dict[str, Path]:
    """Return the modules of some rooms by their paths."""
    found = [
        path
        for room in rooms
        for path in ([ROOMS[room]] if ROOMS[room].is_file() else sorted(ROOMS[room].rglob("*.py")))
    ]
    return {path.relative_to(ROOT).as_posix(): path for path in found}


def forbidden_words(source: str, *, file: str = "") -> list[str]:
    """Return ``line: words`` for each use of forbidden words in a module."""
    found = [
        (line + text.count("\n", 0, match.start()), " ".join(match[0].lower().split()), is_message)
        for line, text, is_message in (*prose(source), *literals(source))
        for match in FORBIDDEN.finditer(text)
    ]
    return [
        f"{line}: {words}"
        for line, words, is_message in sorted(found)
        if not (is_message and (file, words) in ALLOWED)
    ]


def prose(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield identifiers, their words apart, and blocks of comments, with their lines."""
    block: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        line = token.start[0]
        if token.type == tokenize.NAME:
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", token.string).replace("_", " ")
            yield line, words, False
        elif token.type == tokenize.COMMENT:
            if block and line != last + 1:
                yield last - len(block) + 1, "\n".join(block), False
                block = []
            block.append(token.string.lstrip("#"))
            last = line
    if block:
        yield last - len(block) + 1, "\n".join(block), False


def literals(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield string literals with their lines, and whether a user may read them: no docstring."""
    tree = ast.parse(source)
    # A docstring is an expression of its own: of a module, class, function, or below a constant.
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value, id(node) not in docstrings


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("# Nobody is here.", ["1: nobody"]),
        ("# They let go\n# of it.", ["1: let go of"]),
        ('def f():\n    """Return what was told."""', ["2: told"]),
        ('X = 1\n"""May be\none of two."""', ["2: be one"]),
        ("_told = 1", ["1: told"]),
        ("class HearThat: ...", ["1: hear that"]),
        ('print(f"{x} made anew")', ["1: anew"]),
        ("retold = 'toldo'  # bodies", []),
    ],
)
def test_a_forbidden_word_is_found_wherever_it_is_written(source, found):
    assert forbidden_words(source) == found


@pytest.mark.parametrize("room", CLEAN)
def test_comments_docstrings_identifiers_and_messages_hold_no_forbidden_word(room):
    found = [
        f"{name}:{place}"
        for name, path in modules([room]).items()
        for place in forbidden_words(path.read_text("utf-8"), file=name)
    ]
    assert not found, "\n" + "\n".join(found)


def test_the_lists_of_exceptions_hold_nothing_that_is_gone():
    for file, words in ALLOWED:
        assert words in modules()[file].read_text("utf-8").lower(), (file, words)
    assert set(NOT_YET_CLEAN) <= set(ROOMS)
    assert set(modules()) >= LONGER


def test_a_module_is_named_by_a_noun():
    names = {word for name in modules(CLEAN) for word in name.removesuffix(".py").split("/")}
    assert not names & NO_NOUNS


@pytest.mark.slow
def test_no_module_has_the_name_of_a_standard_module_that_the_package_imports():
    imported = {name for path in modules().values() for name in imported_modules(path)}
    standard = imported & sys.stdlib_module_names
    taken = {name for name, path in modules(CLEAN).items() if path.stem in standard}
    assert taken <= NAMED_BY_THE_CONTRACT


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def test_no_module_is_longer_than_three_hundred_and_fifty_lines():
    lengths = {name: path.read_text("utf-8").count("\n") for name, path in modules(CLEAN).items()}
    long = {name: count for name, count in lengths.items() if count > MOST_LINES}
    assert set(long) <= LONGER, long
