"""Batch APIs of vendors: half the price, minutes to hours, jobs that outlive the process.

`job_queue.BatchJobQueue.of` is the one entry: it returns None where there is no batch API or the
settings do not ask for one. Without this folder and that call, every text is a plain request.
"""
