"""The page, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
from browsing import chromium, violations
from cli.conftest import run_main

import lveg
from serve.conftest import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DOG = "The dog saw a cat with a telescope ."
LONG = "The old man near the river saw a dog with a telescope and the cat walked to the park ."
HOSTILE = "<img src=x onerror=alert(1)> </script><b>bold</b> & ) ( \" ' {{1+1}}"

ONE = '["parser"]'
"""The parser alone, in a link."""

Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium."""
    with chromium() as found:
        yield found


@pytest.fixture
def open_page(browser: Browser, server: Server) -> Iterator[Open]:
    """`open_page(text=..., width=...)`; afterwards: there were no errors, and no requests elsewhere."""
    troubles: list[str] = []
    contexts = []

    def opened(
        width: int = 1200, bypass_csp: bool = False, dark: bool = False, touch: bool = False, **state: str
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            bypass_csp=bypass_csp,
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
            has_touch=touch,
            is_mobile=touch,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.extend(unexpected(message.text)))
        page.on("dialog", lambda dialog: troubles.append("a dialog"))
        page.on("request", lambda request: troubles.extend(elsewhere(request.url)))
        page.goto(f"{server.address}#{urlencode({'models': ONE} | state)}")
        page.wait_for_selector("body[data-ready]")
        return page

    def unexpected(message: str) -> list[str]:
        return [] if "the server responded with a status of 422" in message else [message]  # shown on the page

    def elsewhere(address: str) -> list[str]:
        return [] if address.startswith((server.address, "blob:")) else [address]

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


def tree_of(page: Page) -> set[str]:
    """The constituents and tags of the tree that is shown."""
    found = page.locator(".node").evaluate_all("nodes => nodes.map(node => node.dataset.key)")
    return set(found)


def node(page: Page, key: str) -> None:
    """Click a constituent or a tag."""
    page.locator(f'.node[data-key="{key}"]').click()


def choose(page: Page, text: str, address: str = "**/api/parse") -> None:
    """Click a choice of the menu, and wait for the new analysis."""
    with page.expect_response(address):
        page.locator("#menu button").filter(has_text=re.compile(f"^{re.escape(text)}")).first.click()
    page.wait_for_selector("body:not([aria-busy])")


def test_a_sentence_is_parsed_as_it_is_typed(open_page: Open) -> None:
    page = open_page()
    page.get_by_role("textbox").press_sequentially(DOG)
    page.wait_for_selector('.node[data-key=". 8 9 tag"]')
    assert page.locator(".panel svg[role=tree] .word").all_text_contents() == DOG.split()
    assert "NP 0 2" in tree_of(page)
    assert "Tree 1 of 10, probability" in page.inner_text(".stepper")
    assert urlencode({"text": DOG}) in page.url


def test_the_first_parse_of_twenty_words(open_page: Open, record_property: Callable[[str, object], None]) -> None:
    page = open_page()
    page.get_by_role("textbox").fill(LONG)
    page.wait_for_selector(".node")
    page.wait_for_function("performance.getEntriesByName('lveg-analysis').length > 0")
    time = page.evaluate("performance.getEntriesByName('lveg-analysis')[0].duration")
    record_property("milliseconds of the first parse of 20 words", time)
    print(f"the first parse of {len(LONG.split())} words took {time:.0f} ms in the browser")


def test_corrections_by_clicking_and_a_link_to_them(open_page: Open) -> None:
    page = open_page(text=DOG)
    node(page, "NP 3 5")
    choose(page, "not a constituent")
    assert not [key for key in tree_of(page) if key.endswith(" 3 5")]
    node(page, "NN 1 2 tag")
    page.get_by_label("another tag…").select_option("NNP")
    page.wait_for_selector('.node[data-key="NNP 1 2 tag"]')
    assert page.locator("#given .chip").count() == 2
    corrected = tree_of(page)
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert tree_of(page) == corrected
    page.get_by_text("Forget all").click()
    page.wait_for_selector('.node[data-key="NP 3 5"]')
    assert not page.locator("#given").is_visible()


def test_the_tag_of_a_tagger_by_clicking(open_page: Open) -> None:
    page = open_page(text=DOG, models="[]")
    tag = page.locator(".tags .tag").nth(2)
    assert tag.inner_text() == "VERB"
    page.locator('.node[data-key="NN 1 2 tag"]').click()
    choose(page, "NN")
    tag.click()
    assert page.inner_text("#menu-title") == "saw"
    page.get_by_label("another tag…").select_option("NOUN")
    page.wait_for_selector(".tags .tag.marked")
    assert tag.inner_text() == "NOUN"
    assert page.evaluate("document.activeElement.className") == "tag marked", "the focus is still there"
    assert page.locator("#given .chip").count() == 2, "the parser has other tags: what was said in these stays"
    assert page.locator(".panel .error").count() == 0
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert tag.inner_text() == "NOUN"
    tag.click()
    choose(page, "Forget what I said", "**/api/tag")
    assert tag.inner_text() == "VERB"


def test_everything_works_by_keyboard(open_page: Open) -> None:
    page = open_page(text=DOG)
    page.locator(".node").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    assert page.inner_text("#menu-title") == "The dog"
    page.keyboard.press("Escape")
    focused = "document.activeElement.dataset.key"
    assert page.evaluate(focused) == "NP 0 2"
    page.keyboard.press("Enter")
    while page.evaluate("document.activeElement.textContent") != "not a constituent":
        page.keyboard.press("ArrowDown")
    with page.expect_response("**/api/parse"):
        page.keyboard.press("Enter")
    page.wait_for_selector("#given .chip")
    assert "NP 0 2" not in tree_of(page)
    assert page.evaluate(focused), "the focus is still in the tree"


def test_the_triangle_tells_probabilities(open_page: Open) -> None:
    page = open_page(text=DOG)
    page.locator('.cell[data-span="0 2"]').hover()
    assert re.search(r"The dog\s+NP\s+[01]\.\d{3}", page.inner_text("#tip"))
    assert page.locator(".word.lit").count() == 4  # in both pictures
    page.locator('.cell[data-span="0 2"]').click()
    assert page.locator("#menu").is_visible()


def test_other_trees_and_other_sentences(open_page: Open) -> None:
    page = open_page(text=f"{DOG}\nHe slept .")
    first = tree_of(page)
    page.get_by_label("Next tree").click()
    assert "Tree 2 of 10" in page.inner_text(".stepper")
    assert tree_of(page) != first
    page.get_by_label("Next sentence").click()
    assert page.locator(".panel svg[role=tree] .word").all_text_contents() == ["He", "slept", "."]
    assert "sentence=2" in page.url


def test_several_models_side_by_side(open_page: Open) -> None:
    page = open_page(text=DOG, models="[]")
    assert page.locator(".panel").count() == 2
    assert page.locator(".tags > li").count() == 9
    assert page.locator(".tags > li").first.inner_text().startswith("The\nDET")
    page.get_by_role("checkbox", name="parser").uncheck()
    page.wait_for_selector("svg[role=tree]", state="detached")
    assert page.locator(".panel").count() == 1


def test_files_to_save(open_page: Open, tmp_path: Path) -> None:
    words = ["The", "dog", "saw", "50_%", "of", "a", "{cat}", "."]
    page = open_page(text=" ".join(words), models="[]")
    found = {}
    for panel in ("parser", "tagger"):
        for button in page.locator(f"section[data-model={panel}] .exports button").all():
            with page.expect_download() as download:
                button.click()
            file = tmp_path / f"{panel}-{download.value.suggested_filename}"
            download.value.save_as(file)
            found[file.name] = file.read_bytes()
    brackets = found["parser-tree.mrg"].decode()
    tree = lveg.parse_tree(brackets)
    assert tree.words() == words
    picture = ElementTree.fromstring(found["parser-tree.svg"])
    texts = ["".join(element.itertext()) for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert set(words) | {"NP"} <= set(texts)
    assert found["parser-tree.png"].startswith(b"\x89PNG")
    assert b"[{CD} [{50\\_\\%}]]" in found["parser-tree.tex"] or b"[{50\\_\\%}]" in found["parser-tree.tex"]
    assert json.loads(found["parser-tree.json"])["trees"][0]["tree"] == brackets.strip()
    for name, column, tags in (("parser-sentence.conllu", 4, tree.tags()), ("tagger-sentence.conllu", 3, None)):
        rows = [line.split("\t") for line in found[name].decode().splitlines() if line and line[0] != "#"]
        assert [row[1] for row in rows] == words
        assert all(len(row) == 10 for row in rows)
        assert tags is None or [row[column] for row in rows] == tags


def test_hostile_text_is_only_text(open_page: Open) -> None:
    given = json.dumps([[0, [[0, 2, "<b>"]], [], {}], "x", [1, 2, 3, 4]])
    page = open_page(text=HOSTILE, given=given)
    assert page.locator("img, b b, #panels script").count() == 0
    assert page.locator(".panel svg[role=tree] .word, .panel .error").count()
    page.get_by_role("textbox").fill(f"{HOSTILE} .")
    words = [*HOSTILE.split(), "."]
    page.wait_for_selector(f'svg[role=tree] .word[data-word="{len(words) - 1}"]')
    assert page.locator(".panel svg[role=tree] .word").all_text_contents() == words


def test_text_that_looks_raw_is_noticed(open_page: Open) -> None:
    page = open_page(text="The dog slept.")
    assert page.inner_text("#joined").startswith("“slept.” looks like two tokens, “slept” and “.”.")
    page.get_by_role("checkbox", name="Raw text").check()
    page.wait_for_selector('.node[data-key=". 3 4 tag"]')
    assert page.inner_text("#joined") == ""


@pytest.mark.parametrize(
    ("column", "tag", "fields"),
    [("xpos", "NN", "_\tNN\t_"), ("feats", "Case=Nom", "_\t_\tCase=Nom"), ("upos+feats", "X A=B|C=D", "X\t_\tA=B|C=D")],
)
def test_tags_are_saved_in_their_columns(open_page: Open, column: str, tag: str, fields: str) -> None:
    analysis = {"sentence": {"words": ["dog"], "sequences": [{"tags": [tag]}]}, "model": {"column": column}}
    made = open_page().evaluate(
        "async (given) => (await import('/static/export.js')).TAG_FORMATS[0][2](given)",
        analysis,
    )
    assert made == f"# text = dog\n1\tdog\t_\t{fields}\t_\t_\t_\t_\n\n"


@pytest.mark.parametrize("panel", ["parser", "tagger"])
def test_raw_text_is_saved_as_the_command_line_writes_it(open_page: Open, models: dict[str, Path], panel: str) -> None:
    text = 'He said "go" (and slept). I didn\'t leave the U.S.'
    page = open_page(text=text, raw="1", models="[]", given="[[1,[[0,2,null]],[],[]]]")
    page.wait_for_selector(".tags")
    found = ""
    for _ in range(2):
        with page.expect_download() as download:
            page.locator(f"section[data-model={panel}] .exports button").filter(has_text="CoNLL-U").click()
        found += download.value.path().read_text(encoding="utf-8")
        if page.get_by_label("Next sentence").is_enabled():
            page.get_by_label("Next sentence").click()
    outcome = run_main("tag", models["tagger"], "--raw", "--tokeniser", "ptb", stdin=text.encode())
    assert (outcome.status, columns(found)) == (0, columns(outcome.out)), outcome.err
    assert re.search(r"^\d-\d\tU\.S\.\t", found, re.MULTILINE), "a multiword token"


def columns(text: str) -> list[list[str]]:
    """The texts of CoNLL-U, and of each row the number, the form and MISC."""
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith(("# sent_id", "# newpar"))]
    return [row if len(row) == 1 else [row[0], row[1], row[9]] for row in rows]


def test_problems_are_shown(open_page: Open) -> None:
    page = open_page()
    page.evaluate("() => { window.fetch = async () => { throw new TypeError('no network'); }; }")
    page.get_by_role("textbox").fill(DOG)
    page.wait_for_selector(".panel [role=alert]")
    assert "the server does not answer" in page.inner_text(".panel [role=alert]")


@pytest.mark.parametrize("dark", [False, True])
def test_accessibility(open_page: Open, dark: bool) -> None:
    page = open_page(
        text="The dog slept .\nHe slept .", models="[]", given='[[0,[[0,2,"NP"]],[],{}]]', bypass_csp=True, dark=dark
    )
    assert violations(page) == []
    page.locator(".cell").first.hover()
    assert page.locator("#tip").is_visible()
    assert violations(page) == []
    page.locator(".node").nth(2).click()
    assert violations(page) == []


def test_names_begin_with_what_is_seen(open_page: Open) -> None:
    page = open_page(text="The dog slept .", given='[[0,[[0,2,"NP"]],[],{}]]')
    names = page.locator(".node").evaluate_all("nodes => nodes.map(node => node.getAttribute('aria-label'))")
    texts = page.locator(".node").evaluate_all("nodes => nodes.map(node => node.textContent.trim())")
    assert all(name.startswith(text) for name, text in zip(names, texts, strict=True))
    assert re.fullmatch(r"NP \S+, The dog, as you said", next(name for name in names if name.startswith("NP")))
    assert re.fullmatch(r"DT \S+ The", next(name for name in names if name.startswith("DT")))


def test_a_phone_needs_no_sideways_scrolling(open_page: Open) -> None:
    page = open_page(text=LONG, models="[]", width=360)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.locator(".node").nth(5).click()
    box = page.locator("#menu").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


def test_a_phone_shows_the_root_and_what_a_finger_can_hit(open_page: Open) -> None:
    page = open_page(text=LONG, models="[]", width=390, touch=True)
    box = page.locator(".scroll").first
    assert box.evaluate("box => box.scrollWidth > 2 * box.clientWidth")
    root, frame = page.locator(".node").first.bounding_box(), box.bounding_box()
    assert root is not None
    assert frame is not None
    assert root["x"] + root["width"] / 2 == pytest.approx(frame["x"] + frame["width"] / 2, abs=10)
    sizes = "all => all.map(one => one.getBoundingClientRect().height)"
    assert min(page.locator(".cell, .row label, summary").evaluate_all(sizes)) >= 24
    page.locator(".node").last.focus()
    page.locator(".node").last.press("Enter")
    choose(page, ".")
    focused = page.locator(".node:focus").bounding_box()
    assert focused is not None
    assert frame["x"] <= focused["x"] <= frame["x"] + frame["width"], "what was corrected stays in view"


def test_panels_fill_their_rows(open_page: Open) -> None:
    page = open_page(text=DOG, models="[]", width=1200)
    widths = "panels => panels.map(panel => panel.getBoundingClientRect().width)"
    left, right = page.locator(".panel").evaluate_all(widths)
    assert left == right
    page.evaluate("document.querySelector('.panel').before(document.querySelector('.panel').cloneNode(true))")
    *pair, last = page.locator(".panel").evaluate_all(widths)
    assert pair == [left, left]
    assert last > 2 * left


def test_borders_and_rings_are_whole(open_page: Open) -> None:
    page = open_page(text=LONG)
    cells = page.locator(".cell").evaluate_all("cells => cells.map(cell => cell.dataset.span)")
    spans = {" ".join(key.split()[1:]) for key in tree_of(page) if not key.endswith("tag")}
    is_in_tree = [span in spans for span in cells]
    assert is_in_tree == sorted(is_in_tree), "cells of the tree are drawn last"
    assert any(is_in_tree)
    label, text = page.locator("label[for=text]").bounding_box(), page.locator("#text").bounding_box()
    assert label is not None
    assert text is not None
    assert text["y"] - label["y"] - label["height"] > 5, "the ring is 3 pixels wide, 2 away"
