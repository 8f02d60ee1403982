"""The exercises of the course, as data: `lessonNN.py` beside each `NN_….ipynb`. No two exercises
of the course share a name.
"""
