"""Values of an object come one at a time, whatever its layout, as the json module reads them."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.export import json_stream
from commonplace.export.json_stream import values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    whole=st.dictionaries(st.sampled_from("abc"), JSON | st.lists(JSON)),
    indent=st.sampled_from([None, 0, 3]),
    read=st.sampled_from([1, 2, 7, 1 << 16]),
)
def test_what_it_yields_is_what_the_json_module_reads(whole, indent, read):
    text = json.dumps(whole, indent=indent)
    before, json_stream._READ_CHARS = json_stream._READ_CHARS, read
    try:
        for name in "abc":
            expected = whole.get(name, [])
            got = list(values(io.StringIO(text), name))
            assert got == (expected if isinstance(expected, list) else [expected])
    finally:
        json_stream._READ_CHARS = before


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"a": [1, 2', '{"a": [1 2]}', '{"a": [1],}', '{"a" [1]}', '{"a": [1,]}', '{"a": 1'],
)
def test_what_breaks_off_or_is_no_object_is_an_error(text):
    with pytest.raises(ValueError, match=r"was expected|Expecting|delimiter"):
        list(values(io.StringIO(text), "a"))


def test_a_list_is_read_an_entry_at_a_time():
    class Endless(io.StringIO):
        """A list that would fill the memory if it were read before its first entry."""

        def read(self, size=-1):
            assert 0 <= size <= 1 << 20
            return super().read(size) or "1," * (size // 2)

    entries = values(Endless('{"a": ['), "a")
    assert [next(entries) for _ in range(200_000)] == [1] * 200_000
