"""Sly: cheating and hostile in ways that the others have not: through the worker's own objects,
values that change, odd texts and settings.

Some only look suspicious and are right: another byte order, letters of full width, closed output.
Most are in sly.txt; here are those whose text would not be seen as what it is.
"""

from tests.helpers.adversarial.lab import hand_in, read

SUBMISSIONS = read(__file__) | {
    "homoglyphs": hand_in(
        vjp_sin="def v\u0458p_sin(x, g):\n    return g * np.cos(x)",
        slope="\u0455lope = np.cos(2.0)",
        deserves={"vjp_sin": 0, "slope": 0},
    ),
    "letters of full width": hand_in(
        vjp_sin="def \uff56\uff4a\uff50_sin(x, g):\n    return g * np.cos(x)"
    ),
    "a name with nothing in it": hand_in(
        vjp_sin="def vjp\u200b_sin(x, g):\n    return g * np.cos(x)", deserves={"vjp_sin": 0}
    ),
    "text that runs the other way": hand_in(
        vjp_sin=(
            "def vjp_sin(x, g):\n    ok = True # \u202e } 0 nruter \u2066 if\u2069\n    return g"
        ),
        deserves={"vjp_sin": 0},
    ),
    "old line ends": hand_in(vjp_sin="def vjp_sin(x, g):\r    return g * np.cos(x)\r"),
}
