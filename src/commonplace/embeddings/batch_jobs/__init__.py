"""Batch APIs of vendors: half the price, minutes to hours, jobs that outlive the process.

`job_queue.BatchJobQueue.of` is the one entry, called where `EmbeddingSettings.batch` asks for it.
Without this folder and that call, every text is a plain request.
"""
