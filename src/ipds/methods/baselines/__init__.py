"""Methods to compare with: those of the paper, and their relatives."""
