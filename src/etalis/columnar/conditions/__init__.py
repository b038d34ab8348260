"""Conditions over whole columns, or once per distinct arguments."""
