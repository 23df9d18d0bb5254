"""Sample calls of an automotive call centre, with a hand-made gold text per chunk. Imports only ``schemas``.

Everything in them is invented; ``README.md`` beside the data says how they were written.
"""

from clearcall.samples.calls import SampleCall, SampleChunk, load_calls

__all__ = ["SampleCall", "SampleChunk", "load_calls"]
