"""Reads console transcripts as evidence: what simulator, runner and driver said. Never decides a verdict."""

from corstone.transcript.reader import Transcript, read_transcript

__all__ = ["Transcript", "read_transcript"]
