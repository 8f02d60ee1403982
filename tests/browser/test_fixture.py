"""The browser tests' own instruments, tried on a small notebook: an instrument that cannot find a fault proves nothing."""

import nbformat
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

WIDGET = '''
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = """
    export default { render({ model, el }) {
        const button = document.createElement("button");
        button.className = "counter";
        const show = () => button.textContent = `count ${model.get("count")}`;
        button.onclick = () => { model.set("count", model.get("count") + 1); model.save_changes(); };
        model.on("change:count", show);
        show();
        el.append(button);
    } };
    """
    count = traitlets.Int(0).tag(sync=True)

Counter()
'''


@pytest.fixture(scope="module")
def small_lab(start_lab, tmp_path_factory):
    lessons = tmp_path_factory.mktemp("lessons")
    for name, sources in {"01_small": ["print(6 * 7)", WIDGET], "02_fault": ["1/0"]}.items():
        cells = [nbformat.v4.new_code_cell(source, id=f"cell-{number}") for number, source in enumerate(sources)]
        # Without a kernel's name in the notebook, JupyterLab asks for one and waits.
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), lessons / f"{name}.ipynb")
    return start_lab(lessons)


def test_cells_run_and_a_widget_answers_without_any_other_machine(small_lab, visit):
    page = visit.page
    small_lab.open(page, "01_small.ipynb")
    small_lab.run_all(page)
    page.wait_for_selector(".jp-OutputArea-output :text('42')")
    page.click("button.counter")
    page.wait_for_selector("button.counter:text('count 1')")
    page.wait_for_timeout(2_000)  # the news question and the update check would come by now
    assert page.locator(".Toastify__toast").all_inner_texts() == []
    visit.assert_clean()


def test_a_cell_that_fails_is_noticed(small_lab, visit):
    small_lab.open(visit.page, "02_fault.ipynb")
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        small_lab.run_all(visit.page)


def test_a_request_to_another_machine_and_a_console_error_are_noticed(visit):
    visit.page.goto("data:text/html,<img src='https://example.org/x.png'><script>console.error('oh')</script>")
    visit.page.wait_for_load_state("networkidle")
    assert visit.outside == ["https://example.org/x.png"]
    assert "oh" in visit.errors
    with pytest.raises(AssertionError):
        visit.assert_clean()


def test_axe_notices_text_that_cannot_be_read(visit, axe):
    visit.page.set_content("<main lang='en'><p id='good'>plain</p><p id='bad' style='color:#ddd;background:#fff'>pale</p></main>")
    axe(visit.page, "#good")
    with pytest.raises(AssertionError, match="color-contrast"):
        axe(visit.page, "#bad")
