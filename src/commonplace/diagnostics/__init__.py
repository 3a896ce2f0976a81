"""Diagnostics: the status of a memory and the probes of its parts."""
