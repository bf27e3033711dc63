"""Sends one request. Replace `send` to go through a proxy, or to use another HTTP library."""

from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

ANSWER_SIZE_MAX_BYTES = 32 * 1024 * 1024
"""Far more than a list of 500 rows. The limit keeps a broken proxy from filling the memory."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    """With lower-case names."""
    body: bytes


@dataclass(frozen=True)
class Exchange:
    """The request and answer of one attempt, for logs. Bodies contain activation codes; the secret is not in it."""

    operation: str
    attempt: int
    """1 for the first attempt."""
    url: str
    headers: Mapping[str, str]
    body: bytes
    duration_s: float
    answer: Answer | None
    """None if there was no answer."""


class ConnectFailed(OSError):
    """The connection was never opened, so nothing of the request was sent."""


Transport = Callable[[str, Mapping[str, str], bytes, float], Answer]
"""Posts a body to a URL with these headers, within a number of seconds, and follows no redirect.

Raises `ConnectFailed` if nothing was sent, `TimeoutError` without an answer in time, and anything else if the connection
broke.
"""


def send(url: str, headers: Mapping[str, str], body: bytes, timeout_s: float) -> Answer:
    """Opens a connection for each request, so that no request is lost on one that the gateway has just closed."""
    deadline = time.monotonic() + timeout_s
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        try:
            connection.connect()
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectFailed(error.errno, str(error)) from error
        limited = _LimitedSocket(connection.sock, deadline)
        limited.sock.settimeout(limited.remaining_s())
        connection.request("POST", parts.path, body, dict(headers))
        response = http.client.HTTPResponse(limited, method="POST")  # type: ignore[arg-type]
        response.begin()
        content = response.read(ANSWER_SIZE_MAX_BYTES + 1)
        if response.length and len(content) <= ANSWER_SIZE_MAX_BYTES:
            raise http.client.IncompleteRead(content, response.length)
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)
    finally:
        connection.close()


class _LimitedSocket:
    """Reads within a deadline: the time-out of a socket is only one for each piece that arrives."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self.sock = sock
        self.deadline = deadline

    def remaining_s(self) -> float:
        remaining_s = self.deadline - time.monotonic()
        if remaining_s <= 0:
            raise TimeoutError("timed out")
        return remaining_s

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_LimitedReader(self))


class _LimitedReader(io.RawIOBase):
    def __init__(self, limited: _LimitedSocket) -> None:
        self._limited = limited

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._limited.sock.settimeout(self._limited.remaining_s())
        return self._limited.sock.recv_into(buffer)
