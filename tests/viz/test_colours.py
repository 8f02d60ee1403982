"""Contrast, computed from the stylesheet's own colours: WCAG 2.2, 1.4.3 (text, 4.5) and 1.4.11
(lines and marks, 3).
"""

import colorsys
import re

import pytest
from minigrad.viz.bundle import stylesheet
from minigrad.viz.picture.marks import blend, palette
from minigrad.viz.training import assets

from tests.helpers.tables import in_one_test

SIDES = {"light": 0, "dark": 1}
TEXT = [
    *[(ink, ground) for ink in ("ink", "soft") for ground in ("surface", "sunken", "raised")],
    *[("faint", ground) for ground in ("surface", "sunken", "raised")],  # before the first step
    *[(pass_, ground) for pass_ in "vdg" for ground in ("surface", "sunken", "raised",
        f"{pass_}-tint")],
    # a written card holds the values of all passes
    *[(pass_, other) for pass_ in "vdg" for other in ("v-tint", "d-tint", "g-tint")],
    *[("on", pass_) for pass_ in "vdg"],  # ink on the chip of the pass at work
    *[("ink", f"{pass_}-tint") for pass_ in "vdg"],
    # cards of a derivative's own graph
    *[(ink, f"b{n}-tint") for n in (1, 2, 3) for ink in ("ink", "soft", "v", "d", "g")],
    *[(f"b{n}", "sunken") for n in (1, 2, 3)],  # their names in the graph's head
    ("ink", "zero"), ("ink", "g-tint"),
    ("ink", "mark"), ("surface", "ink"), ("on", "focus"), ("ink", "line"), ("soft", "v-tint"),
    ("soft", "d-tint"), ("soft", "g-tint"),
]  # fmt: skip
LINES = [
    ("wire", "surface"),
    ("wire", "raised"),
    ("focus", "surface"),
    ("focus", "sunken"),
    *[(p, "surface") for p in "vdg"],
]
LINES += [(f"b{n}", ground) for n in (1, 2, 3) for ground in ("surface", f"b{n}-tint")]
LINES += [("plus", "zero"), ("minus", "zero")]  # the ends of a heat map against its middle


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_instrument_itself():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(
        4.48, abs=0.01
    )  # the well-known grey that just fails


@in_one_test
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("ink", "ground"), TEXT)
def test_text_can_be_read(side, ink, ground):
    found = contrast(palette()[ink][SIDES[side]], palette()[ground][SIDES[side]])
    assert found >= 4.5, f"{ink} on {ground}, {side}: {found:.2f}"


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("line", "ground"), LINES)
def test_lines_can_be_seen(side, line, ground):
    found = contrast(palette()[line][SIDES[side]], palette()[ground][SIDES[side]])
    assert found >= 3, f"{line} on {ground}, {side}: {found:.2f}"


def test_a_heat_map_stands_out_from_a_dark_card():
    cards = ("raised", "sunken", "g-tint")
    assert min(contrast(palette()["zero"][1], palette()[card][1]) for card in cards) >= 1.5


@pytest.mark.parametrize("side", SIDES)
def test_what_is_faint_can_still_be_seen(side):
    """Cards that the edge of the stage cuts, and the nodes that the backward pass has not
    reached."""
    wire, ground = (palette()[name][SIDES[side]] for name in ("wire", "surface"))
    for rule in (r"\.mg-cut:not\([^)]*\)", r"\.mg-backward \.mg-off"):
        opacity = float(re.search(rule + r" \{[^}]*opacity: ([\d.]+)", stylesheet())[1])
        assert contrast(blend(ground, wire, opacity), ground) >= 1.3, rule


@pytest.mark.parametrize("side", SIDES)
def test_a_block_of_a_legend_has_a_rim_that_can_be_seen(side):
    rim = re.search(r"\.mt-block \{ stroke: var\(--mt-(\w+)\)", assets.stylesheet())[1]
    assert contrast(palette()[rim][SIDES[side]], palette()["sunken"][SIDES[side]]) >= 3


def test_every_colour_has_a_light_and_a_dark_form_in_one_place():
    sheet = stylesheet()
    first_block = sheet[: sheet.index("}")]
    assert (
        len(palette())
        == len(re.findall(r"light-dark\(#", first_block))
        == len(re.findall(r"light-dark\(#", sheet))
        >= 15
    )
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b", sheet[sheet.index("}") :]), (
        "a colour stands outside the table"
    )


def test_the_passes_have_the_agreed_colours():
    assert [palette()[p] for p in "vdg"] == [
        ("#0072b2", "#56b4e9"),
        ("#b34700", "#f0a35e"),
        ("#7a3e9d", "#d7a5ee"),
    ]


def test_hue_never_stands_alone():
    """Each pass has its own dash, and nothing marks it by colour only."""
    sheet = stylesheet()
    dashes = {
        p: re.search(rf'data-now="{p}"\] &[^{{]*\{{[^}}]*?(--mg-dash: ([^;]+))?;\s*\}}', sheet)[2]
        for p in "vdg"
    }
    assert len(set(dashes.values())) == 3
    assert "stroke-dasharray: 6 4" in re.search(r"\.mg-node\.mg-read \.mg-card \{[^}]*\}", sheet)[0]
    assert (
        "outline: 2px solid" in re.search(r"td\.mg-write \{[^}]*\}", sheet)[0]
        and "font-weight: 700" in sheet
    )


def test_a_step_gives_no_new_style_to_all_elements():
    """A variable that a step changes on the outermost element is inherited by all the others, and
    a rule for `*` below it makes the browser lay all of them out again."""
    rules = re.findall(r"([^{}]*)\{([^{}]*)\}", re.sub(r"(?s)/\*.*?\*/", "", stylesheet()))
    assert len(rules) > 300
    changed = re.compile(r"\[data-(?:now|phase)[^\]]*\]$")
    inherited = [s for s, style in rules if changed.search(s.strip()) and "--" in style]
    assert inherited == []
    assert [s.strip() for s, _ in rules if "[data-now" in s and "*" in s] == []


def test_the_ends_of_a_heat_map_have_hues_that_no_pass_has():
    def hue(colour):
        return 360 * colorsys.rgb_to_hls(*(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0]

    for side in SIDES.values():
        for end in ("minus", "plus"):
            for pass_ in "vdg":
                apart = abs(hue(palette()[end][side]) - hue(palette()[pass_][side])) % 360
                assert min(apart, 360 - apart) > 35, (end, pass_, side)
