"""A widget's program comes compressed, and the widgets of one page share it."""

import base64

import pytest

from minigrad import viz
from tests.helpers.trace_samples import all_samples

pytestmark = pytest.mark.browser

pytest.importorskip("anywidget", reason='pip install "minigrad[viz]"')

# Each widget has a model of its own, from which anywidget loads a module of its own.
SHOW = """async ([esm, program, document, times]) => {
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  window.made = 0;
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => (made++, make(blob));
  for (let i = 0; i < times; i++) {
    const url = make(new Blob([esm], { type: "text/javascript" }));
    const values = { program: bytes(program), packed: bytes(document), step: i, lang: "en",
      views: [], answers: [] };
    const model = { get: (name) => values[name], set() {}, save_changes() {}, on() {}, off() {} };
    const el = window.document.body.appendChild(window.document.createElement("div"));
    const { default: hook } = await import(url);
    window.ended = await hook.render({ model, el });
  }
}"""


@pytest.fixture
def show(visit):
    def shown(times=1, program=None):
        stepper = viz.Stepper(all_samples()["seed"])
        state = stepper.get_state()
        stepper.close()
        visit.page.goto("about:blank")
        sent = [
            base64.b64encode(b).decode() for b in (program or state["program"], state["packed"])
        ]
        visit.page.evaluate(SHOW, [state["_esm"], *sent, times])
        return visit.page

    return shown


def test_widgets_of_one_page_share_one_program_so_their_ids_differ(show, visit):
    page = show(times=3)
    page.locator(".mg-root").nth(2).wait_for()
    assert page.evaluate("made") == 1, "the program was imported once"
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) >= 3 and len(ids) == len(set(ids))
    page.evaluate("ended()")
    assert page.locator(".mg-root").count() == 2, "one was ended, the others stand"
    page.locator(".mg-btn-next").first.click()
    assert page.locator(".mg-counter").first.inner_text().startswith("1 /")
    visit.assert_clean()


def test_a_program_that_cannot_be_unpacked_is_said_in_its_place(show):
    page = show(program=b"no gzip")
    assert "Error: " in page.locator("body > div").inner_text()
