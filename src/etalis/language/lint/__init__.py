"""Warnings of programs that are well formed and probably not what was meant."""
