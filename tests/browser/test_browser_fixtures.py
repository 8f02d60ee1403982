"""The browser tests' own instruments, tried on a small notebook: an instrument that cannot find
a fault proves nothing.
"""

import pytest

pytestmark = pytest.mark.browser

WIDGET = '''
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = """
    export default { render({ model, el }) {
        const button = document.createElement("button");
        button.className = "counter";
        const show = () => button.textContent = `count ${model.get("count")}`;
        button.onclick = () => { model.set("count", model.get("count") + 1);
            model.save_changes(); };
        model.on("change:count", show);
        show();
        el.append(button);
    } };
    """
    count = traitlets.Int(0).tag(sync=True)

Counter()
'''


@pytest.mark.whole
def test_a_widget_answers_without_any_other_machine_and_a_cell_that_fails_is_noticed(lab, visit):
    page = visit.page
    lab.write("small.ipynb", [WIDGET, "print(6 * 7)\n1/0"])
    lab.open(page, "small.ipynb")
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        lab.run_all(page)
    page.wait_for_selector(".jp-OutputArea-output :text('42')")
    page.click("button.counter")
    page.wait_for_selector("button.counter:text('count 1')")
    assert page.locator(".Toastify__toast").all_inner_texts() == [], (
        "no question about news, no offer of an update"
    )
    visit.assert_clean()


@pytest.mark.whole
def test_a_test_leaves_no_notebook_and_no_kernel_to_the_next(lab, visit):
    lab.write("left.ipynb", ["x = 1"])
    lab.open(visit.page, "left.ipynb")
    lab.run_all(visit.page)
    assert [session["path"] for session in lab.ask("sessions")] == ["left.ipynb"]
    lab.close_all(visit.page)
    assert lab.ask("sessions") == lab.ask("kernels") == []


@pytest.mark.parametrize("address", ["https://example.org/x.png", "http://192.0.2.1/x.png"])
def test_a_request_to_another_machine_and_a_console_error_are_noticed(visit, address):
    visit.page.goto(f"data:text/html,<img src='{address}'><script>console.error('oh')</script>")
    visit.page.wait_for_load_state("networkidle")
    assert visit.outside == [address]
    assert "oh" in visit.errors and any(
        "ERR_NAME_NOT_RESOLVED" in error for error in visit.errors
    ), "it was not asked"
    with pytest.raises(AssertionError):
        visit.assert_clean()


def test_a_tab_is_handed_on_as_a_new_one_would_be(tabs, visit):
    page, look = (
        visit.page,
        (
            "[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches,"
            " matchMedia('print').matches]"
        ),
    )
    assert page.evaluate(look) == [1400, False, False]
    page.set_viewport_size({"width": 320, "height": 700})
    page.emulate_media(
        color_scheme="dark", media="print", reduced_motion="reduce", forced_colors="active"
    )
    page.evaluate("console.error('oh')")
    again = tabs.tab("page")
    assert again is visit and page.evaluate(look) == [1400, False, False]
    assert not page.evaluate(
        "matchMedia('(prefers-reduced-motion)').matches || matchMedia('(forced-colors:"
        " active)').matches"
    )
    visit.assert_clean()


def test_axe_notices_text_that_cannot_be_read(visit, axe):
    visit.page.set_content(
        "<main lang='en'><p id='good'>plain</p><p id='bad'"
        " style='color:#ddd;background:#fff'>pale</p></main>"
    )
    axe(visit.page, "#good")
    with pytest.raises(AssertionError, match="color-contrast"):
        axe(visit.page, "#bad")
