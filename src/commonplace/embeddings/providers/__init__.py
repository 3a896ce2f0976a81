"""Embedding providers: one file for each vendor or library."""
