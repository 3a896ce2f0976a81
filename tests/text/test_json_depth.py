"""The depth of JSON is measured part by part, with what stands in strings left out."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text import json_depth
from commonplace.text.json_depth import ShallowJson

TEXTS = st.text('[]{}"\\a', max_size=12)
VALUES = st.recursive(
    TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


def depth(value):
    if isinstance(value, str):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth, inner), default=0)


@given(value=VALUES, size=st.integers(1, 20), limit=st.integers(0, 6))
def test_a_file_is_refused_where_it_is_nested_deeper_than_the_limit(value, size, limit):
    data = json.dumps(value).encode()
    reader = ShallowJson(io.BytesIO(data))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_depth, "_MAX_DEPTH", limit)
        if depth(value) > limit:
            with pytest.raises(ValueError, match=f"nested more than {limit} deep"):
                list(iter(lambda: reader.read(size), b""))
        else:
            assert b"".join(iter(lambda: reader.read(size), b"")) == data
