"""Tabling and transitive closure: answers that are kept, and repaired when facts change."""
