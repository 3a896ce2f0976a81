"""Transcripts of conversations: formats, rendering, incremental reading, archive."""
