"""Reactive rules: actions over facts, all or nothing, and what they do outside."""
