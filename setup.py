"""The one thing that pyproject.toml cannot yet say in a settled way: the fast matcher's extension.

It is optional: where it cannot be built the install goes on, and the libraries find the same scores.
"""

from pathlib import Path

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "clearcall.scoring._kernel",
            sources=["src/clearcall/scoring/_kernel.c"],
            depends=sorted(map(str, Path("src/clearcall/scoring/kernel").glob("*.h"))),
            extra_compile_args=["-O3", "-fvisibility=hidden"],
            optional=True,
        )
    ]
)
