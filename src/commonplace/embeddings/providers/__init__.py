"""Embedding providers: one file a vendor or library."""
