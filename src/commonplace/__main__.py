"""Entry point of ``python -m commonplace``."""

from commonplace.cli import main

if __name__ == "__main__":
    main()
