"""Cheating: by other ways to points than by being right. Each pays nothing for what was cheated at,
and the honest rest counts.

Most attack `vjp_sin`, whose answer the library could give: by all its names, by its rules, by its
text (ways.py). Others look for the answer where it might be, return what lies about itself
(lies.py), or bend the judge.
"""

from pathlib import Path

from tests.helpers.adversarial.lab import hand_in, read

HERE = Path(__file__).parent


def _outputs(book):
    output = {
        "output_type": "execute_result",
        "execution_count": 1,
        "metadata": {},
        "data": {"text/plain": "4.0"},
    }
    for c in book["cells"]:
        c["outputs"] = [output]
        if "nbgrader" in c["metadata"]:
            c["metadata"]["nbgrader"]["points"] = 1000


SUBMISSIONS = read(__file__) | {
    "ways to the derivative": hand_in(
        vjp_sin=(HERE / "ways.py").read_text(encoding="utf-8"), deserves={"vjp_sin": 0}
    ),
    "values that lie": hand_in(
        vjp_sin=(HERE / "lies.py").read_text(encoding="utf-8"),
        **dict.fromkeys(("order", "gradients", "slope"), ""),
        deserves={"vjp_sin": 0, "order": 0, "gradients": 0, "slope": 0},
    ),
    "outputs and points in the notebook": hand_in(
        vjp_sin="vjp_sin = ...", deserves={"vjp_sin": 0}, change=_outputs
    ),
}
