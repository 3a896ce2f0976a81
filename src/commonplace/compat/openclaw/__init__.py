"""OpenClaw 2026.3.24: its chunking, ranking and rules."""
