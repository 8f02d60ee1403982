"""Where the packages lie: viz/ and lessons/ are installed as `minigrad.viz` and
`minigrad.lessons`.
"""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["minigrad*"]),
        *(f"minigrad.{name}" for name in find_packages(include=["viz*", "lessons*"])),
    ],
    package_dir={"minigrad.viz": "viz", "minigrad.lessons": "lessons"},
)
