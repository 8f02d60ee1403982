"""Times minigrad against what a user would pick instead: `python -m benchmarks`."""
