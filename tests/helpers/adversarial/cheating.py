"""Cheating: by other ways to points than by being right. Each pays nothing for what was cheated at,
and the honest rest counts.

In cheating.txt most attack `vjp_sin`, whose answer the library could give: by all its names, by its
rules, by its text. Then come those who look for the answer where it might be, those who return what
lies about itself, and those who bend the judge.
"""

from tests.helpers.adversarial.lab import hand_in, read


def _outputs(book):
    output = {
        "output_type": "execute_result",
        "execution_count": 1,
        "metadata": {},
        "data": {"text/plain": "4.0"},
    }
    for c in book["cells"]:
        c["outputs"] = [output]


def _points(book):
    for c in book["cells"]:
        if "nbgrader" in c["metadata"]:
            c["metadata"]["nbgrader"]["points"] = 1000


SUBMISSIONS = read(__file__) | {
    "outputs in the notebook": hand_in(
        vjp_sin="vjp_sin = ...", deserves={"vjp_sin": 0}, change=_outputs
    ),
    "more points in the metadata": hand_in(
        vjp_sin="vjp_sin = ...", deserves={"vjp_sin": 0}, change=_points
    ),
}
