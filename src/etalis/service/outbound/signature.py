"""Signatures of callbacks, as Standard Webhooks has them: an HMAC over id, time and body."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from etalis.errors import InputError, Problem

_PREFIX = "whsec_"


def read_secret(text: str) -> bytes:
    """Return the bytes of a secret: base64 behind `whsec_`, else the text itself.

    >>> read_secret("whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0")
    b'secret-secret-secret-secret'
    """
    if not text.startswith(_PREFIX):
        return text.encode()
    try:
        return base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        hint = "whsec_ and base64, as in whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"
        raise InputError(Problem("E815", "a secret for callbacks that is no base64", hint=hint)) from None


def sign(secret: bytes, id: str, timestamp: int, body: bytes) -> dict[str, str]:  # noqa: A002
    """Return the headers that sign a body.

    >>> sign(b"key", "msg_1", 1614265330, b"{}")["webhook-signature"]
    'v1,Wo+qtMQnbmveDsu4SsHR+c75JsfXPSB8xTnErzORHxw='
    """
    signed = hmac.new(secret, b"%b.%d.%b" % (id.encode(), timestamp, body), hashlib.sha256).digest()
    return {
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }
