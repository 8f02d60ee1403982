"""The two trainings that the documents show, run from beginning to end: `python -m
benchmarks.trainings disc` and `... digits`.
"""
