"""System services: file locks, SQLite transactions, the state database."""
