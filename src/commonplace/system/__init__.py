"""What the operating system and SQLite give: locks, transactions, the state database."""
