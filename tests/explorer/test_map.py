from __future__ import annotations

import base64
import json
from itertools import combinations

import pytest

from commonplace import Memory, explorer
from support.fakes import HashedWords, clock

pytest.importorskip("vl_convert")

QUERY = "What do we order for lunch?"


def values(picture, layer=0):
    data = picture.spec["layer"][layer]["data"]
    return picture.spec["datasets"][data["name"]] if "name" in data else data["values"]


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("color", ["age", "file"])
def test_a_map_shows_itself_as_a_chart_and_as_a_picture(memory, theme, color):
    picture = explorer.chunk_map(memory, query=QUERY, theme=theme, color=color)
    bundle = picture._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"] == json.loads(json.dumps(picture.spec))
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["text/plain"].startswith("<MapPicture: ")


def test_each_dot_has_its_line_and_its_citation(memory):
    by_citation = {point["citation"]: point for point in values(explorer.chunk_map(memory))}
    for hit in memory.search(QUERY)[:3]:
        assert by_citation[f"{hit.path}#L{hit.best_line}"]["line"] in hit.snippet


def test_the_title_says_how_many_lines_there_are_and_what_the_plane_loses(memory):
    picture = explorer.chunk_map(memory, query=QUERY)
    title = picture.spec["title"]
    assert title["text"].startswith(f"{len(values(picture))} lines in ")
    assert "Of the ten lines nearest in meaning" in title["subtitle"][0]
    assert QUERY in title["subtitle"][1]


def test_labels_do_not_cover_each_other(memory):
    labels = values(explorer.chunk_map(memory), layer=1)
    assert labels
    for one, other in combinations(labels, 2):
        chars = (len(one["words"]) + len(other["words"])) / 2
        assert abs(one["x"] - other["x"]) > 5 * chars or abs(one["y"] - other["y"]) > 10


def test_results_are_marked_with_their_ranks(memory):
    ranks = [row["rank"] for row in values(explorer.chunk_map(memory, query=QUERY), layer=-1)]
    assert "1" in ranks
    assert len(set(ranks)) == len(ranks)


@pytest.mark.slow
def test_few_lines_are_listed_with_their_texts(tmp_path):
    (tmp_path / "MEMORY.md").write_text("# A\n\n- the port is 51820\n- roses are red\n")
    with Memory.open(
        tmp_path, embedder=HashedWords(), index=tmp_path / "i.sqlite", now=clock()
    ) as memory:
        picture = explorer.chunk_map(memory, query="port")
    svg = picture._svg()
    assert "the port is 51820" in svg
    assert "roses are red" in svg
    assert "click" not in svg


def test_a_sign_that_a_picture_cannot_hold_is_shown_as_another(tmp_path):
    signs = "\x1b[31m \ufffe \uffff \x00 \u202e \ufdd0 \U0001ffff"
    (tmp_path / "MEMORY.md").write_text(f"- {signs} port port\n- port {signs}\n", encoding="utf-8")
    with Memory.open(
        tmp_path, embedder=HashedWords(), index=tmp_path / "i.sqlite", now=clock()
    ) as memory:
        assert explorer.chunk_map(memory, query=f"port {signs}", color="file")._repr_png_()


@pytest.mark.slow
@pytest.mark.full
def test_a_map_is_saved_as_a_page_that_needs_no_network(memory, tmp_path):
    picture = explorer.chunk_map(memory)
    for name in ("map.html", "map.svg", "map.png"):
        picture.save(tmp_path / name)
    page = (tmp_path / "map.html").read_text("utf-8")
    assert 'src="http' not in page
    assert "import(" not in page
    assert values(picture)[0]["line"][:20] in page
    with pytest.raises(ValueError, match=r"'map.pdf'; it must end in .html, .svg or .png"):
        picture.save(tmp_path / "map.pdf")


def test_a_memory_without_vectors_gives_a_message(tmp_path):
    with Memory.open(tmp_path, embedder=None, index=tmp_path / "i.sqlite") as memory:
        picture = explorer.chunk_map(memory)
    assert "No line has a vector" in picture.spec["title"]["text"]
    assert picture._repr_png_()
