"""`python -m etalis` is the command line."""

from etalis.cli import main

main()
