"""Texts of the memory for agents: system prompt, recalled notes, and visibility."""
