"""The rule language: syntax tree, flags, operators, plain forms of rules; read in `read`, checked in `check`."""
