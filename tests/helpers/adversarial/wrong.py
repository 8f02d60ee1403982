"""Wrong in classic ways: each deserves what is left, group by group. They are in wrong.txt.

The twelve mistakes of a reverse sweep come first: in `gradients` single operations are worth 1
point, shared nodes 2, random graphs 2.
"""

from tests.helpers.adversarial.lab import read

SUBMISSIONS = read(__file__)
