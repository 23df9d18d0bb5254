"""How faithful a cleaned text is to what was said. Floor 2: usable on two strings, with nothing else installed."""

from clearcall.scoring.matcher import best_window, is_below
from clearcall.scoring.types import Evaluation, Flag, Fragment, Match, Rules, Turn

__all__ = ["Evaluation", "Flag", "Fragment", "Match", "Rules", "Turn", "best_window", "is_below"]
