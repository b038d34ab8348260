"""The forms in which explanations are printed: JSON, text, the term and the text of the manual, its viewer's graph."""

from etalis.why.forms import json_form, manual_form, repair_text, text_form, udraw, why_not_text

__all__ = ["json_form", "manual_form", "repair_text", "text_form", "udraw", "why_not_text"]
