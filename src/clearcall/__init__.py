"""clearcall cleans live call transcripts without changing what was said."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("clearcall")
