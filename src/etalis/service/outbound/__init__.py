"""What a service sends to others: results to callbacks, parts of expressions to their providers.

Law: nothing is sent to an address that was not allowed and checked, and a connection goes to the address that was
checked.
"""
