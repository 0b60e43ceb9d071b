"""The page as a document: sound, harmless whatever the names, legible in both colour schemes."""

import base64
import hashlib
import re
from itertools import pairwise
from pathlib import Path

import pytest

from helpers.pages import Page, data_of, quick
from helpers.run_folders import NASTY, nasty


@pytest.mark.parametrize("protocol", ["paper", "deepwalk"])
def test_every_anchor_and_reference_leads_somewhere(protocol: str, runs: dict[str, Path]) -> None:
    page = Page(quick(runs[protocol]))
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    targets = [str(target) for target in page.attributes("href")]
    assert {target for target in targets if not target.startswith("#")} == {"data:,"}
    named = [target.removeprefix("#") for target in targets if target.startswith("#")]
    for attribute in ("aria-labelledby", "aria-describedby", "for"):
        named += [str(name) for name in page.attributes(attribute)]
    assert set(named) <= set(ids)


def test_headings_go_down_one_level_at_a_time(runs: dict[str, Path]) -> None:
    levels = [int(tag[1]) for tag in Page(quick(runs["paper"])).tags() if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_policy_allows_this_style_and_this_script_alone(runs: dict[str, Path]) -> None:
    page = Page(quick(runs["paper"]))
    (policy,) = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for rule, text in (("style-src", page.texts["style"][0]), ("script-src", page.texts["script"][-1])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert page.attributes("style") == []
    assert not any(str(name).startswith("on") for _, attributes in page.elements for name in attributes)
    assert page.attributes("src") == []


@pytest.mark.parametrize("title", [None, NASTY])
def test_names_stay_text(title: str | None, tmp_path: Path) -> None:
    run, labels = nasty(tmp_path / "nasty")
    text = quick(run, labels=str(labels), title=title)
    page = Page(text)
    assert "img" not in page.tags()
    assert page.tags().count("script") == 2
    assert sorted(data_of(text)["names"]) == sorted(f"{NASTY}{i}" for i in range(30))
    assert f"{NASTY}red" in "".join(page.texts["button"])
    assert "&lt;b&gt;" in "".join(page.texts["button"])
    assert page.texts["h1"] == [title or "run"]


def test_a_name_with_half_a_surrogate_pair_can_still_be_written(runs: dict[str, Path]) -> None:
    assert "<h1>a?b</h1>" in quick(runs["paper"], title="a\ud800b")


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_stand_out_from_their_background(scheme: int, runs: dict[str, Path]) -> None:
    style = Page(quick(runs["paper"])).texts["style"][0]
    block = re.findall(r":root[^{]*\{([^}]*)\}", style)[scheme]
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", block))
    for background in (colours["page"], colours["surface"]):
        for name in ("text", "muted", "accent", "warn", "good"):
            assert contrast(colours[name], background) >= 4.5, name
        assert contrast(colours["bar"], background) >= 3
    assert contrast(colours["text"], colours["warn-surface"]) >= 4.5
    groups = {name: colour for name, colour in colours.items() if name.startswith("group-")}
    assert len(groups) == 12
    for name, colour in groups.items():
        assert contrast(colour, colours["surface"]) >= 3, name
