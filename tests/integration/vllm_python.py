"""Runs pytest by vLLM's own Python, which lacks this project's other dependencies: they are found behind its own.

The first argument is the folder that has them; the rest is pytest's.
"""

import sys

if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    import pytest

    sys.exit(pytest.main(sys.argv[2:]))
