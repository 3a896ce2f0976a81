from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from commonplace import Memory, Settings
from commonplace.explorer import layout, rows
from commonplace.explorer.line_map import group_words
from commonplace.explorer.near_duplicates import similar_groups
from commonplace.retrieval.mmr import jaccard, tokenize_all_scripts
from support.fakes import NOON, HashedWords, clock

TODAY = NOON.date()
PORT = "- Decided: the VPN listens on port 51820 from now on"


def day(age):
    return TODAY - timedelta(age)


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explorer")
    notes = folder / "notes"
    (notes / "memory").mkdir(parents=True)
    logs = {
        day(0): f"# Today\n\n{PORT}\n- lunch with Ada\n",
        day(30): f"# Before\n\n{PORT}\n\n- the roof of the club house leaks\n",
        day(300): f"# Long ago\n\n{PORT.replace('51820', '443')}\n- the club pays for hosting\n",
    }
    for written, text in logs.items():
        (notes / f"memory/{written}.md").write_text(text)
    (notes / f"memory/{day(30)}-roof.md").write_text("- a roofer comes on Monday\n")
    (notes / "MEMORY.md").write_text("# Memory\n\n- Ada keeps the books of the club\n")
    with Memory.open(
        notes, embedder=HashedWords(), index=folder / "index.sqlite", now=clock()
    ) as memory:
        yield memory


@pytest.fixture
def empty(tmp_path):
    with Memory.open(tmp_path, embedder=None, index=tmp_path / "i.sqlite") as memory:
        yield memory


# ---------------------------------------------------------------- stages


def test_candidates_are_followed_through_every_stage(memory):
    tracks = rows.stage_tracks(memory, "which port does the VPN listen on?")
    for stage in range(len(rows.STAGES)):
        ranks = sorted(track.ranks[stage] for track in tracks if track.ranks[stage])
        assert ranks == list(range(1, len(ranks) + 1))
    assert [track.ranks[-1] for track in tracks if track.ranks[-1]] == sorted(
        track.ranks[-1] for track in tracks if track.ranks[-1]
    )


def test_the_last_stage_is_the_search_itself(memory):
    query = "which port does the VPN listen on?"
    tracks = rows.stage_tracks(memory, query)
    found = memory.search(query, max_results=12, min_score=0)
    last = [(track.citation, track.scores[-1]) for track in tracks if track.ranks[-1]]
    assert last == [(result.citation, result.score) for result in found]


def test_decay_moves_an_old_statement_behind_the_new_one(memory):
    tracks = rows.stage_tracks(memory, "which port does the VPN listen on?")
    old = next(track for track in tracks if f"{day(300)}" in track.citation)
    assert old.line == PORT.replace("51820", "443")
    assert old.scores[1] < old.scores[0]


def test_a_stage_that_is_off_changes_nothing(memory):
    plain = memory.with_search_settings(decay=False, mmr=False)
    for track in rows.stage_tracks(plain, "port of the VPN"):
        assert len(set(track.ranks)) == 1


# ---------------------------------------------------------------- decay


def test_each_file_has_its_age_and_what_is_left(memory):
    found = rows.decay_rows(memory)
    assert [row.age_days for row in found] == [0, 30, 30, 300, None]
    assert found[-1].path == "MEMORY.md"
    assert found[0].left == found[-1].left == 1.0
    left = [row.left for row in found[:-1]]
    assert left == sorted(left, reverse=True)


@pytest.mark.parametrize("half_life", [1, 30, 365])
def test_at_the_half_life_half_of_what_age_can_take_is_taken(memory, half_life):
    other = memory.with_search_settings(half_life_days=half_life)
    assert rows.kept_part(other, [0, half_life, 1e6]) == pytest.approx([1, 0.5, 0], abs=1e-3)
    assert rows.kept_part(memory.with_search_settings(decay=False), [0, 900]) == [1, 1]


def test_spans_of_age_begin_with_today_and_end_with_what_does_not_age():
    ages = [0, 0.9, 1, 6, 7, 30, 364, 365, 9_000]
    assert [rows.age_span(age) for age in ages] == [0, 0, 1, 1, 2, 3, 4, 5, 5]
    assert rows.age_span(None) == len(rows.AGE_SPANS)


def test_of_chunks_half_is_left_after_the_half_life(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / f"memory/{day(30)}.md").write_text("a note\n")
    settings = Settings.openclaw()
    with Memory.open(
        tmp_path, embedder=None, settings=settings, index=tmp_path / "i.sqlite", now=clock()
    ) as memory:
        half_life = settings.search.half_life_days
        decaying = memory.with_search_settings(decay=True)
        assert rows.left_at(decaying, [0, half_life]) == pytest.approx([1, 0.5])
        assert rows.kept_part(decaying, [0, half_life]) == pytest.approx([1, 0.5])
        assert rows.left_at(memory.with_search_settings(decay=False), [0, 900]) == [1, 1]


def test_by_openclaws_rules_a_file_without_a_date_ages_from_its_last_change(tmp_path):
    (tmp_path / "memory").mkdir()
    for name in ("MEMORY.md", "memory/roof.md"):
        (tmp_path / name).write_text("a note\n")
    extra = tmp_path.parent / "extra.md"
    extra.write_text("a note\n")
    changed = (NOON - timedelta(12)).timestamp()
    os.utime(extra, (changed, changed))
    settings = replace(Settings.openclaw(), extra_paths=(str(extra),))
    with Memory.open(
        tmp_path, embedder=None, settings=settings, index=tmp_path / "i.sqlite", now=clock()
    ) as memory:
        ages = {row.path: row.age_days for row in rows.decay_rows(memory)}
    assert ages == {"MEMORY.md": None, "memory/roof.md": None, "../extra.md": 12.0}


# ---------------------------------------------------------------- map


def test_every_line_has_a_place_of_its_own_and_the_lines_that_answer_are_marked(memory):
    query = "which port does the VPN listen on?"
    found = rows.line_map(memory, query=query)
    written = [row.text for group in rows.repeat_groups(memory) for row in group.lines]
    assert {point.text for point in found.points} >= set(written)
    assert len({point.citation for point in found.points}) == len(found.points) == 8
    assert len({(point.x, point.y) for point in found.points}) == 8
    hits = memory.search(query)
    marked = {point.rank: point.citation for point in found.points if point.rank}
    assert marked[1] == f"{hits[0].path}#L{hits[0].best_line}"
    assert not any(point.text.startswith("#") for point in found.points)


def test_groups_are_numbered_by_size_and_hold_all_lines(memory):
    found = rows.line_map(memory)
    sizes = [group.lines for group in found.groups]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == len(found.points)
    assert [sum(p.group == at for p in found.points) for at in range(len(sizes))] == sizes


def test_the_map_is_the_same_each_time(memory):
    assert rows.line_map(memory) == rows.line_map(memory)


def test_without_vectors_there_is_no_map(empty, tmp_path):
    (tmp_path / "MEMORY.md").write_text("a note without a vector\n")
    empty.index()
    assert rows.line_map(empty) == rows.LineMap((), (), 1.0, 1.0)


def test_where_chunks_are_embedded_as_a_whole_they_are_the_points(tmp_path):
    (tmp_path / "MEMORY.md").write_text("- one line\n- another line\n")
    with Memory.open(
        tmp_path,
        settings=Settings.openclaw(),
        embedder=HashedWords(),
        index=tmp_path / "i.sqlite",
        now=clock(),
    ) as memory:
        memory.index()
        (point,) = rows.line_map(memory, query="line").points
    assert point.citation == "MEMORY.md#L1-L3"
    assert point.rank == 1


def topics(count, *, of=8, dimension=32):
    """Unit vectors around so many means, and the mean of each."""
    random = np.random.default_rng(3)
    means = random.standard_normal((of, dimension))
    topic = random.integers(of, size=count)
    return layout.centred(means[topic] + 0.3 * random.standard_normal((count, dimension))), topic


def test_groups_hold_what_belongs_together():
    unit, topic = topics(600)
    groups = layout.group_vectors(unit)
    purity = [np.bincount(topic[groups == group]).max() for group in np.unique(groups)]
    assert sum(purity) / len(unit) > 0.95
    together, near = layout.kept_neighbours(
        unit, groups, layout.disc_layout(unit, groups, width=900, height=600).points
    )
    plane = layout.principal_components(unit)
    assert together > 0.5
    assert near > layout.kept_neighbours(unit, groups, plane)[1]


def test_ten_thousand_lines_have_no_blob():
    unit, _ = topics(10_000, of=40)
    groups = layout.group_vectors(unit)
    discs = layout.disc_layout(unit, groups, width=900, height=600)
    apart = 900.0
    for group in np.unique(groups).tolist():
        places = discs.points[groups == group]
        gaps = np.linalg.norm(places[:, None] - places[None, :200], axis=2)
        apart = min(apart, gaps[gaps > 0].min())
    step = discs.radii[0] / (np.bincount(groups)[0] + 1) ** 0.5
    assert apart > step  # a dot is 1.45 steps wide
    gaps = np.linalg.norm(discs.centres[:, None] - discs.centres[None, :], axis=2)
    np.fill_diagonal(gaps, np.inf)
    assert (gaps > discs.radii[:, None] + discs.radii[None, :]).all()


@pytest.mark.parametrize("count", [1, 2, 3, 17])
def test_few_or_equal_vectors_have_places_too(count):
    unit = layout.centred([np.ones(5, dtype=np.float32)] * count)
    groups = layout.group_vectors(unit)
    points = layout.disc_layout(unit, groups, width=900, height=600).points
    assert np.isfinite(points).all()
    assert len({tuple(point) for point in points.tolist()}) == count


def test_the_principal_components_are_those_of_the_singular_values():
    random = np.random.default_rng(3)
    vectors = random.standard_normal((400, 24)).astype(np.float32) * np.linspace(6, 1, 24)
    places = layout.principal_components(vectors)
    centred = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    assert np.abs(places) == pytest.approx(np.abs(centred @ axes[:2].T), rel=1e-3, abs=1e-3)


def test_a_group_is_named_by_words_that_are_its_own():
    texts = [
        "the Roses are red",
        "roses and tulips",
        "the port is 51820",
        "a port for SSH",
        "Tulips",
    ]
    assert group_words(texts, [0, 0, 1, 1, 0]) == [("Roses", "tulips"), ("port",)]


# ---------------------------------------------------------------- days


def test_lines_are_counted_by_day_and_each_once(memory):
    assert rows.days_written(memory) == [
        rows.DayRow(day(300), 3, 1),
        rows.DayRow(day(30), 4, 2),
        rows.DayRow(day(0), 3, 1),
    ]


# ---------------------------------------------------------------- repeats


def test_lines_that_say_nearly_the_same_are_a_group_the_oldest_first(memory):
    (group,) = rows.repeat_groups(memory)
    assert [line.day for line in group.lines] == [day(300), day(30), day(0)]
    assert group.lines[-1].text == PORT
    assert group.lines[-1].citation == f"memory/{day(0)}.md#L3"
    assert 0.7 <= group.likeness < 1


def test_a_stricter_measure_keeps_only_equal_lines(memory):
    (group,) = rows.repeat_groups(memory, least=1)
    assert [line.day for line in group.lines] == [day(30), day(0)]
    assert group.likeness == 1


@pytest.mark.parametrize("least", [0, 0.4, 1.1])
def test_a_measure_out_of_range_is_refused(memory, least):
    with pytest.raises(ValueError, match="least is"):
        rows.repeat_groups(memory, least=least)


@pytest.mark.parametrize("least", [0.5, 0.7, 0.9, 1.0])
def test_groups_are_those_that_comparing_each_with_each_gives(least):
    random = np.random.default_rng(5)
    vocabulary = np.array([f"w{at}" for at in range(60)])
    texts = [" ".join(random.choice(vocabulary, random.integers(3, 14))) for _ in range(150)]
    texts += [" ".join([*text.split()[1:], "more"]) for text in texts] + texts[:9]
    groups = {frozenset(group.members) for group in similar_groups(texts, least=least)}
    assert groups == by_brute_force(texts, least)
    assert groups


def by_brute_force(texts, least):
    words = [tokenize_all_scripts(text) for text in texts]
    group = {at: {at} for at in range(len(texts)) if len(words[at]) >= 4}
    for one in group:
        for other in group:
            if group[one] is not group[other] and jaccard(words[one], words[other]) >= least:
                group[one] |= group[other]
                for member in group[one]:
                    group[member] = group[one]
    return {frozenset(members) for members in group.values() if len(members) > 1}


@pytest.mark.slow
def test_thousands_of_equal_and_of_alike_lines_are_one_group():
    texts = ["the standup was at half past nine today"] * 3_000
    texts += [f"the standup was at half past nine on day {at}" for at in range(3_000)]
    groups = similar_groups(texts, least=0.5)
    assert [len(group.members) for group in groups] == [6_000]


# ---------------------------------------------------------------- nothing there, nothing needed


def test_an_empty_workspace_has_no_rows(empty):
    assert rows.stage_tracks(empty, "anything") == []
    assert rows.decay_rows(empty) == []
    assert rows.line_map(empty, query="anything").points == ()
    assert rows.days_written(empty) == []
    assert rows.repeat_groups(empty) == []


@pytest.mark.processes
def test_rows_need_no_plotting_library():
    code = (
        "import sys; from commonplace.explorer import rows; sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_other_search_settings_share_the_index_and_leave_the_memory_as_it_is(memory):
    other = memory.with_search_settings(max_results=1, mmr=False)
    assert len(other.search("club")) == 1
    assert other.settings.search.mmr is False
    assert memory.settings.search.mmr is True
    assert other.index_location == memory.index_location


@pytest.mark.parametrize("changes", [{"unit": "chunk"}, {"tokenizer": "porter"}, {"mrr": True}])
def test_what_shapes_the_index_cannot_be_changed_on_an_open_memory(memory, changes):
    with pytest.raises(ValueError, match="cannot be changed on an open memory; these can: "):
        memory.with_search_settings(**changes)
