"""How long xgrammar takes to compile the grammar of a turn, by its words.

    python tests/benchmarks/bench_grammar.py TOKENIZER [--data ../shared/data/calls] [--threads 8]

TOKENIZER is a folder that transformers can read. It needs ``xgrammar`` and ``transformers``, which stand beside a model
server: run it with that environment's packages on ``PYTHONPATH``. The time is the least of some rounds, without cache;
the first compilation of a process is not counted.
"""

import argparse
import importlib
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clearcall.agents.consultant.grammar import turn_grammar
from clearcall.scoring.reduction import clean_words, written

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "calls"
LENGTHS = (10, 40, 100, 150, 400)
TURNS = 8
ROUNDS = 6


def turns(words: Sequence[str], length: int) -> list[str]:
    """Stretches of that many words from all over the calls."""
    step = (len(words) - length) // TURNS
    return [" ".join(words[place * step : place * step + length]) for place in range(TURNS)]


def compiled(compiler: Any, ebnf: str) -> float:
    """The least milliseconds of some rounds."""
    spent = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        compiler.compile_grammar(ebnf)
        spent.append(1000 * (time.perf_counter() - began))
    return min(spent)


def main() -> int:
    """Read the arguments and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--threads", type=int, default=8)
    arguments = parser.parse_args()
    xgrammar, testing = importlib.import_module("xgrammar"), importlib.import_module("xgrammar.testing")
    tokenizer = importlib.import_module("transformers").AutoTokenizer.from_pretrained(str(arguments.tokenizer))
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer)
    compiler = xgrammar.GrammarCompiler(info, max_threads=arguments.threads, cache_enabled=False)
    compiled(compiler, 'root ::= "a"')
    calls = (arguments.data / "calls_dev.jsonl").read_text(encoding="utf-8").splitlines()
    words = [word for call in calls for chunk in json.loads(call)["chunks"] for word in chunk["text"].split()]
    for length in LENGTHS:
        texts = turns(words, length)
        grammars = [turn_grammar(text) for text in texts]
        times = [compiled(compiler, grammar.ebnf()) for grammar in grammars]
        accepted = sum(
            testing._is_grammar_accept_string(grammar.ebnf(), answer)
            for text, grammar in zip(texts, grammars, strict=True)
            for answer in (grammar.reduction.plain, written(clean_words(text)))
        )
        line = f"{length:4} words: median {statistics.median(times):5.1f} ms, most {max(times):5.1f} ms"
        sys.stdout.write(f"{line}; {accepted} of {2 * TURNS} true answers accepted\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
