"""Look-alike characters in paths are shown; names in any language stay as they are."""

import json

import pytest

from commonplace.text.lookalikes import lookalikes, named_path, path_json, shown_path
from commonplace.workspace.paths import WorkspacePaths

ODD = {
    "memory/\u0430dmin.md": "memory/<U+0430>dmin.md",
    "memory/p\u0430\u0443pal.md": "memory/p<U+0430><U+0443>pal.md",
    "memory/\u0441\u043e\u0441\u043e.md": "memory/<U+0441><U+043E><U+0441><U+043E>.md",
    "memory/\u039f\u039a.md": "memory/<U+039F><U+039A>.md",
    "\u041cEMORY.md": "<U+041C>EMORY.md",
    "memory/\u043f\u0440\u0438vet.md": None,
    "memory/2026\u201011\u201020.md": "memory/2026<U+2010>11<U+2010>20.md",
    "memory\u2044notes.md": "memory<U+2044>notes.md",
    "memory/a\u2024md": "memory/a<U+2024>md",
    "memory/ad\u00admin.md": "memory/ad<U+00AD>min.md",
    "memory/ad\u200dmin.md": "memory/ad<U+200D>min.md",
    "memory/ad\u200bmin.md": "memory/ad<U+200B>min.md",
    "memory/a\u3164.md": "memory/a<U+3164>.md",
    "memory/a\u00a0b.md": "memory/a<U+00A0>b.md",
    "memory/\uff41dmin.md": "memory/<U+FF41>dmin.md",
    "memory/\U0001d41adm.md": "memory/<U+1D41A>dm.md",
    "memory/\u0251dmin.md": "memory/<U+0251>dmin.md",
    "memory/a\ufe0f.md": "memory/a<U+FE0F>.md",
    "memory/a\u202edm.md": "memory/a<U+202E>dm.md",
}
PLAIN = [
    "MEMORY.md",
    "memory/2026-11-20.md",
    "memory/заметки/дела на работе.md",
    "memory/заметки с работы.md",
    "memory/Σημειώσεις.md",
    "memory/notes de réunion – été.md",
    "memory/Straße, Łódź, naïve, İstanbul, ığdır.md",
    "memory/会議のメモ（２）.md",
    "memory/회의록.md",
    "memory/יומן.md",
    "memory/ملاحظات.md",
    "memory/می\u200cخواهم.md",
    "memory/SQL-запрос.md",
    "memory/📝 todo.md",
    "memory/❤️.md",
    "memory/👩‍💻 work.md",
    "memory/nº 3, 5 m².md",
    "memory/हिन्दी.md",
]


@pytest.mark.parametrize("path", ODD, ids=ascii)
def test_a_look_alike_is_shown_by_its_code_point(path):
    shown = ODD[path]
    assert shown_path(path) == shown if shown else "<U+" in shown_path(path)
    assert shown_path(shown_path(path)) == shown_path(path)


@pytest.mark.parametrize("path", PLAIN)
def test_names_of_any_language_stay_as_they_are(path):
    assert lookalikes(path) == frozenset()
    assert shown_path(path) == path


@pytest.mark.parametrize("path", ODD, ids=ascii)
def test_json_keeps_the_path_and_escapes_its_look_alikes(path):
    text = json.dumps({"path": path, "snippet": "при see " + path}, ensure_ascii=False)
    escaped = path_json(text, path)
    assert json.loads(escaped) == json.loads(text)
    assert not lookalikes(path) & set(escaped.replace("при", ""))
    assert "при" in escaped


@pytest.mark.parametrize("path", [*ODD, *PLAIN], ids=ascii)
def test_what_is_shown_names_the_file(path):
    assert named_path(shown_path(path)) == path
    assert WorkspacePaths.plain_name(shown_path(path)) == path


@pytest.mark.parametrize("code", ["0061", "000A", "002F", "110000", "D800"])
def test_other_escapes_stay_as_they_are(code):
    assert named_path(f"memory/<U+{code}>.md") == f"memory/<U+{code}>.md"
