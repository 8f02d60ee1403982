"""Honest work in many styles: all of it deserves all points."""

from tests.helpers.adversarial.lab import RIGHT, cell, hand_in, markdown, read


def _each(*names):
    """Copies some cells: a slip of the hand."""

    def change(book):
        twice = [c for c in book["cells"] if c["id"] in names]
        book["cells"] = [
            copy for c in book["cells"] for copy in ([c, dict(c)] if c in twice else [c])
        ]

    return change


def _split(book):
    for i, c in enumerate(book["cells"]):
        if c["id"] == "momentum":
            book["cells"][i : i + 1] = [
                cell("rate = 0.1", "momentum-a"),
                cell(RIGHT["momentum"].replace("0.1 *", "rate *"), "momentum-b"),
            ]
            return


def _without(*suffixes):
    def change(book):
        book["cells"] = [c for c in book["cells"] if not c["id"].endswith(suffixes)]

    return change


def _text(name):
    def change(book):
        for c in book["cells"]:
            if c["id"] == name:
                c["cell_type"] = "markdown"
                del c["outputs"], c["execution_count"]

    return change


def _outputs(book):
    noise = [{"output_type": "stream", "name": "stdout", "text": ["x" * 1000 + "\n"] * 4000}]
    picture = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"image/png": "iVBOR" * 400_000},
    }
    for c in book["cells"][:3]:
        c["outputs"] = [*noise, picture]


def _lines(book):
    for c in book["cells"]:
        c["source"] = c["source"].splitlines(keepends=True)


def _kernel(book):
    book["metadata"] = {
        "kernelspec": {"name": "ir", "language": "R"},
        "language_info": {"name": "R"},
        "celltoolbar": None,
    }


def _reversed_answers(book):
    answers = [c for c in book["cells"] if c["id"] != "setup"]
    book["cells"] = [*[c for c in book["cells"] if c["id"] == "setup"], *reversed(answers)]


def _noise(book):
    text = markdown("# <script>alert(1)</script>\n$\\nabla f$ ![](http://127.0.0.1:@PORT@/x.png)")
    book["cells"] = [
        c
        for pair in ((markdown(f"note {i}"), c) for i, c in enumerate(book["cells"]))
        for c in pair
    ] + [text]


def _no_metadata(book):
    for c in book["cells"]:
        c["metadata"] = {}
        c.pop("id")


def _old_format(book):
    kept = {"language": "python", "outputs": []}
    cells = [
        {"cell_type": c["cell_type"], "input": c["source"], "metadata": c["metadata"], **kept}
        for c in book["cells"]
    ]
    return {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": cells, "metadata": {}}],
    }


def _edited_check(book):
    for c in book["cells"]:
        if c["id"] == "slope-check":
            c["source"] = "slope = np.cos(2.0)\n" + c["source"]
        if c["id"] == "slope":
            c["source"] = "slope = ..."


SUBMISSIONS = read(__file__) | {
    "markdown everywhere": hand_in(change=_noise),
    "large outputs": hand_in(change=_outputs),
    "sources as lists of lines": hand_in(change=_lines),
    "a copied answer": hand_in(change=_each("vjp-sin", "Value")),
    "a copied check": hand_in(change=_each("gradients-check", "order-check")),
    "a split answer": hand_in(change=_split),
    "checks deleted": hand_in(change=_without("-check")),
    "check cell used for the answer": hand_in(change=_edited_check),
    "an answer that became text": hand_in(change=_text("momentum")),
    "answers in another order": hand_in(change=_reversed_answers),
    "another kernel": hand_in(change=_kernel),
    "no metadata at all": hand_in(change=_no_metadata),
    "the format of 2014": hand_in(change=_old_format),
    "all in one cell": hand_in(
        vjp_sin="\n\n".join(RIGHT.values()),
        gradients="",
        Value="",
        sweep="",
        unbroadcast="",
        order="",
        momentum="",
        slope="",
    ),
    "Windows line ends and tabs": hand_in(
        vjp_sin="def vjp_sin(x, g):\r\n\treturn g * np.cos(x)\r\n"
    ),
    "a lone surrogate in a comment": hand_in(vjp_sin="# \ud800\n" + RIGHT["vjp_sin"]),
    "a generous notebook": hand_in(
        change=lambda b: b["cells"].extend(cell(f"extra{i} = {i}", f"extra{i}") for i in range(400))
    ),
}
