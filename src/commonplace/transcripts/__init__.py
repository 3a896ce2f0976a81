"""Transcripts of conversations: how they are read and kept, and what must not stand in them."""
