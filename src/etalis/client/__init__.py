"""Clients of a service: engines that run elsewhere, used as engines in the process are; needs `etalis[service]`.

`Client` waits for answers, `AsyncClient` is awaited; both have one definition (`calls`), which knows no network: it
yields the requests that it needs (`exchange`) and hears their answers.
"""

from typing import TYPE_CHECKING

from etalis.lazy import import_lazily

if TYPE_CHECKING:
    from etalis.client.asynchronous import AsyncClient, AsyncRemoteEngine
    from etalis.client.errors import LostMatchesError, RejectedRowsError, ServiceError
    from etalis.client.synchronous import Client, RemoteEngine
else:
    __getattr__, __dir__ = import_lazily(
        __name__,
        {
            "etalis.client.asynchronous": ("AsyncClient", "AsyncRemoteEngine"),
            "etalis.client.errors": ("LostMatchesError", "RejectedRowsError", "ServiceError"),
            "etalis.client.synchronous": ("Client", "RemoteEngine"),
        },
    )

__all__ = [
    "AsyncClient",
    "AsyncRemoteEngine",
    "Client",
    "LostMatchesError",
    "RejectedRowsError",
    "RemoteEngine",
    "ServiceError",
]
