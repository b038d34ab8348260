"""Errors of a program, found before it runs, and the analyses that they rest on."""
