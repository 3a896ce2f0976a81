"""Texts of the memory for agents: system prompt, recalled notes, and what is visible to whom."""
