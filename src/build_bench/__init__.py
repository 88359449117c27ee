"""Builds ProactiveBench out of seven public datasets: from raw files to a Hugging Face dataset."""

__version__ = "0.1.0"
