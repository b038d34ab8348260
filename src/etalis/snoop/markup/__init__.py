"""Notations of SNOOP-R: XML with its schema, JSON, text for people; expressions and the messages about them."""
