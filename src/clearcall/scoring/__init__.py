"""How faithful a cleaned text is to what was said. Floor 2: usable on two strings, with nothing else installed."""

from clearcall.scoring.allowed import findings, is_allowed
from clearcall.scoring.correction import best_attempt, better, fragment_scores, guard_flags
from clearcall.scoring.evaluator import evaluate, evaluate_turn
from clearcall.scoring.fragments import fragment_spans
from clearcall.scoring.matcher import best_window, is_below
from clearcall.scoring.restoration import restore
from clearcall.scoring.rules_clean import is_nothing_to_clean, rule_clean
from clearcall.scoring.types import GUARDS, Evaluation, Flag, Fragment, Match, Rules, Turn

__all__ = [
    "GUARDS",
    "Evaluation",
    "Flag",
    "Fragment",
    "Match",
    "Rules",
    "Turn",
    "best_attempt",
    "best_window",
    "better",
    "evaluate",
    "evaluate_turn",
    "findings",
    "fragment_scores",
    "fragment_spans",
    "guard_flags",
    "is_allowed",
    "is_below",
    "is_nothing_to_clean",
    "restore",
    "rule_clean",
]
