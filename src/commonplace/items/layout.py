"""Layout of an item: a JSON value as Markdown that a person can read and edit.

::

    ---
    port: 51820
    commonplace:
      created: '2026-11-20T12:00:00+00:00'
      text: content
    ---
    The VPN listens on 51820.

    ## `place`

    Lyon

The texts of a value, which search finds, are the body: the main one by itself, each other one under
a heading with the name of its field, ``a.b`` for a field within another. Everything else is front
matter: numbers, flags, lists, ids and times. What neither can hold is a block of JSON under its
heading. The key ``commonplace`` is the store's own. Any value comes back as it was; a file without
front matter is the value ``{"text": ...}``.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from commonplace.text.front_matter import read_front_matter

__all__ = ["ItemText", "parse_item", "render_item"]

_OWN_KEY = "commonplace"
_RESERVED_KEYS = (_OWN_KEY, "expires")
"""Keys of front matter that mean something; a value's key of that name gets an underscore."""
_MAIN_FIELDS = ("content", "text", "memory", "body")
"""Names that the main text of a value often has."""
_DEFAULT_MAIN = "text"
_WHOLE = "$"
"""Name of the block of JSON that is the whole value."""

_JSON_MARK = " (json)"
_HEADING = re.compile(r"(\\*)## `([^`\n]+)`( \(json\))?")
_FENCE = re.compile(r"\s*```json\n(.*)\n```\s*", re.DOTALL)
_NAME = re.compile(r"[^\W_][\w/@+:-]*|_[\w/@+:-]+")
"""A key that can stand in a heading."""
_MACHINE_TEXT = re.compile(r"[\w.:+/@=-]*[\d_/:@=][\w.:+/@=-]*")
"""A text of one word with a digit or a sign: an id, a time, an address."""
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
"""Characters that do not outlive a file of text, or an editor."""

Path = tuple[str, ...]
Selects = Callable[[Path], bool]


@dataclass(frozen=True, slots=True)
class ItemText:
    """What the file of an item holds.

    Attributes:
        value: The value.
        notes: The store's own notes: `created`, and what else applies.
    """

    value: dict[str, Any]
    notes: dict[str, Any] = field(default_factory=dict)


def render_item(item: ItemText, *, selects: Selects = lambda _: True) -> str:
    """Return the text of an item's file.

    Args:
        item: The item.
        selects: Returns whether search looks at a field; the others are front matter.

    Raises:
        TypeError: The value is no JSON.
    """
    try:
        _check_keys(item.value)
        wanted = json.dumps(item.value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"the value of an item must be JSON: {error}.") from error
    item = replace(item, value=json.loads(wanted))  # tuples are lists
    text = _arrange(item, selects)
    if text and json.dumps(parse_item(text).value, sort_keys=True) == wanted:
        return text
    # What neither headings nor YAML can hold, such as a number of 30 digits.
    return _front_matter({}, item.notes) + _section((_WHOLE,), _json_block(item.value), _JSON_MARK)


def parse_item(text: str) -> ItemText:
    """Return the value of an item's file, which a person may have edited."""
    front = read_front_matter(text)
    fields = dict(front.metadata or {})
    notes = fields.pop(_OWN_KEY, None)
    notes = notes if isinstance(notes, dict) else {}
    fields.pop("expires", None)
    value: dict[str, Any] = {_unescaped(key): part for key, part in fields.items()}
    main, sections = _split(text[front.body :])
    for name, content, is_json in sections:
        part = _parsed(content) if is_json else content
        if name == _WHOLE and isinstance(part, dict):
            value |= part
        else:
            _set(value, tuple(name.split(".")), part)
    if "text" in notes:
        _set(value, tuple(str(notes["text"]).split(".")), main)
    elif main.strip():
        value[_DEFAULT_MAIN] = main
    return ItemText(value, notes)


# -- rendering -------------------------------------------------------------------------------------


def _arrange(item: ItemText, selects: Selects) -> str:
    """Return the text with each field in its place; "" where a name cannot be a heading."""
    leaves = list(_leaves(item.value))
    texts = [
        path
        for path, leaf in leaves
        if isinstance(leaf, str) and selects(path) and _can_be_body(path, leaf)
    ]
    main = _main_text(dict(leaves), texts)
    front: dict[str, Any] = {}
    sections: list[str] = []
    for path, leaf in leaves:
        if path == main:
            continue
        if path in texts and not _MACHINE_TEXT.fullmatch(leaf):
            sections.append(_section(path, _escaped_lines(leaf)))
        elif isinstance(leaf, list) and selects(path) and _has_prose(leaf):
            if not _can_be_heading(path):
                return ""
            sections.append(_section(path, _json_block(leaf), _JSON_MARK))
        else:
            _set(front, (_escaped(path[0]), *path[1:]), leaf)
    notes = item.notes | ({} if main is None else {"text": ".".join(main)})
    head = _front_matter(front, notes)
    body = "" if main is None else _escaped_lines(dict(leaves)[main]) + "\n"
    return head + body + "".join(sections)


def _check_keys(value: Any) -> None:
    """Check that each key is a text: JSON has no other, and Python would make one of it."""
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is of {type(key).__name__}, and not a text")
    if isinstance(value, dict | list | tuple):
        for part in parts:
            _check_keys(part)


def _leaves(value: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    for key, part in value.items():
        path = (*above, key)
        if isinstance(part, dict) and part:
            yield from _leaves(part, path)
        else:
            yield path, part


def _main_text(leaves: Mapping[Path, Any], texts: list[Path]) -> Path | None:
    """Return the field whose text is the body by itself; None where none stands out."""
    named = [path for name in _MAIN_FIELDS for path in texts if path[-1] == name]
    if named:
        return min(named, key=len)
    if len(texts) == 1:
        return texts[0]
    prose = [path for path in texts if "\n" in leaves[path]]
    return prose[0] if len(prose) == 1 else None


def _can_be_body(path: Path, text: str) -> bool:
    return _can_be_heading(path) and not _UNWRITABLE.search(text)


def _can_be_heading(path: Path) -> bool:
    return path != (_WHOLE,) and all(_NAME.fullmatch(name) for name in path)


def _has_prose(value: Any) -> bool:
    """Return whether a list has a text of several words, which a person would search for."""
    if isinstance(value, str):
        return " " in value or "\n" in value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_has_prose, parts))


def _section(path: Path, text: str, mark: str = "") -> str:
    return f"\n## `{'.'.join(path)}`{mark}\n\n{text}\n"


def _json_block(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    if _UNWRITABLE.search(text):
        text = json.dumps(value, indent=2)
    return f"```json\n{text}\n```"


def _front_matter(front: dict[str, Any], notes: dict[str, Any]) -> str:
    import yaml

    text: str = yaml.dump(
        {**front, _OWN_KEY: notes},
        Dumper=_dumper(),
        allow_unicode=True,
        sort_keys=False,
        width=1 << 20,
    )
    return f"---\n{text}---\n"


@functools.cache
def _dumper() -> Any:
    """Return a dumper that writes a text of several lines as they are."""
    import yaml

    def represent_text(dumper: Any, data: str) -> Any:
        style = "|" if "\n" in data else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    dumper: Any = type("ItemDumper", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})
    dumper.add_representer(str, represent_text)
    return dumper


# -- parsing ---------------------------------------------------------------------------------------


def _split(body: str) -> tuple[str, list[tuple[str, str, bool]]]:
    """Return the main text, and each field under a heading: name, text, whether it is JSON."""
    lines = body.split("\n")
    heads = [
        (at, match)
        for at, line in enumerate(lines)
        if (match := _HEADING.fullmatch(line)) and not match[1]
    ]
    ends = [at for at, _ in heads] + [len(lines)]
    sections = []
    for (at, match), end in zip(heads, ends[1:], strict=True):
        part = lines[at + 1 : end]
        part = part[1:] if part and not part[0].strip() else part
        sections.append((match[2], _joined(part), bool(match[3])))
    return _joined(lines[: ends[0]]), sections


def _joined(lines: list[str]) -> str:
    """Return the lines of a field, without the last line break, or the blank line of a heading."""
    lines = lines[:-1] if lines and not lines[-1].strip() else lines
    return "\n".join(_unescaped_line(line) for line in lines)


def _parsed(content: str) -> Any:
    """Return the value of a block of JSON; the text itself where a person broke it."""
    fenced = _FENCE.fullmatch(content)
    try:
        return json.loads(fenced[1] if fenced else content)
    except ValueError:
        return content


def _set(value: dict[str, Any], path: Path, part: Any) -> None:
    for name in path[:-1]:
        inner = value.get(name)
        if not isinstance(inner, dict):
            inner = value[name] = {}
        value = inner
    value[path[-1]] = part


def _escaped_lines(text: str) -> str:
    """Return a text in which no line is a heading of a field."""
    if "## `" not in text:
        return text
    return "\n".join(f"\\{it}" if _HEADING.fullmatch(it) else it for it in text.split("\n"))


def _unescaped_line(line: str) -> str:
    match = _HEADING.fullmatch(line)
    return line[1:] if match and match[1] else line


def _escaped(key: str) -> str:
    return f"_{key}" if key.lstrip("_") in _RESERVED_KEYS else key


def _unescaped(key: str) -> str:
    return key[1:] if key.startswith("_") and key.lstrip("_") in _RESERVED_KEYS else key
