"""Checks what a program passes. A ValueError says what to do, before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit


def check_base_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except (ValueError, AttributeError):
        is_address = False
    if not is_address or parts.query or parts.fragment:
        raise ValueError(f"base_url must be an address such as https://esim.example.com, not {text!r}")
    if "@" in parts.netloc:
        raise ValueError("base_url must not carry a user name or password")
    base = f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")
    if base.endswith("/open-api/v1"):
        raise ValueError("base_url must not end with /open-api/v1: remove it")
    return base


def check_text(name: str, value: object) -> str:
    if not isinstance(value, str) or value == "":
        raise ValueError(f"{name} is missing")
    if value != value.strip():
        raise ValueError(f"{name} begins or ends with a space or a line break: remove it")
    return value


def check_timeout(value: float) -> float:
    if not 0.001 <= value <= 2_147_483:
        raise ValueError(f"timeout_s must be a number of seconds from 0.001 to 2 147 483, not {value!r}")
    return value


def check_retries(value: int) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"retries must be a whole number from 0, not {value!r}")
    return value


def check_secrets(given: str | Sequence[str | None]) -> list[str]:
    """The secrets that are set, at least one. An empty one would be a key that anybody can guess."""
    secrets = [each for each in ([given] if isinstance(given, str) else given) if each]
    if not secrets:
        raise ValueError("app_secret is missing")
    return [check_text("app_secret", each) for each in secrets]
