"""The course: notebooks that teach differentiation with the engine and the viewer, and the checks
of their exercises.

The notebooks are the instructor's edition, with solutions; `minigrad.lessons.edition` makes the
student's. `minigrad.lessons.grading` is what a check cell calls, and `minigrad.lessons.workshop`
carries a student's own engine from one lesson to the next.
"""
