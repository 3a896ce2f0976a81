"""Batch APIs of vendors: jobs that outlive the process."""
