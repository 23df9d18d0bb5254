"""Shows a person how two texts were scored: fragments, best windows, guards, differences; as text, JSON or HTML."""

from clearcall.streams.explain.explanation import Explanation, explain_texts
from clearcall.streams.explain.inputs import BadInput, Transcript, read_transcript, read_transcripts

__all__ = ["BadInput", "Explanation", "Transcript", "explain_texts", "read_transcript", "read_transcripts"]
