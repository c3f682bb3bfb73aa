"""What goes wrong with data files."""

from __future__ import annotations


class DataError(ValueError):
    """A data file is damaged, of another format, or larger than a reader accepts."""


class DataMissing(DataError):
    """A data file is not at hand; the message names the file, where it was looked for, and the remedy."""
