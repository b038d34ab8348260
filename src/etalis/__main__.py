"""`python -m etalis` is the command line."""

from etalis.cli import main

if __name__ == "__main__":
    main()
