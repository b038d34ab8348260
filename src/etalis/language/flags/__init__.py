"""The flags of a program as a table, what is wrong with some, and the settings they give."""

from etalis.language.flags.problems import flag_problems, garbage_problems, limit_problems, property_problems
from etalis.language.flags.settings import Settings, priority_of, rule_settings, settings, with_ahead, with_limits
from etalis.language.flags.table import FLAGS, PROPERTIES, REFUSED, SERVICE_MAX_STEPS, UNBOUNDED, Flag

__all__ = [
    "FLAGS",
    "PROPERTIES",
    "REFUSED",
    "SERVICE_MAX_STEPS",
    "UNBOUNDED",
    "Flag",
    "Settings",
    "flag_problems",
    "garbage_problems",
    "limit_problems",
    "priority_of",
    "property_problems",
    "rule_settings",
    "settings",
    "with_ahead",
    "with_limits",
]
