"""Money is an integer in 1/10 000 of the currency, as on the wire: 45000 is 4.50."""

from __future__ import annotations

import re

_UNITS = 10_000
_MAX = 2**53 - 1


def format_money(units: int) -> str:
    """`45000` is `"4.50"`: at least two decimal places, and up to four where needed."""
    whole, places = divmod(abs(units), _UNITS)
    return f"{'-' if units < 0 else ''}{whole}.{re.sub('0{1,2}$', '', f'{places:04}')}"


def parse_money(text: str) -> int:
    """`"4.50"` is `45000`. Raises ValueError for anything but digits with up to four decimal places after a dot."""
    match = re.fullmatch(r"(-?)([0-9]{1,15})(?:\.([0-9]{1,4}))?", text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not an amount: use the form 1250.00, without thousands separators")
    sign, whole, places = match.groups()
    units = int(whole) * _UNITS + int((places or "").ljust(4, "0"))
    if units > _MAX:
        raise ValueError(f"{text!r} is too large: the maximum is {format_money(_MAX)}")
    return -units if sign else units
