"""The paper's evaluator agent, beside the rules: a model calls the scoring function, and its arguments are checked.

No model decides a score: what it hands over is compared with the true texts, counted and kept, and nothing else.
"""
