"""Background indexing: scheduler, watcher and their supervisor."""
