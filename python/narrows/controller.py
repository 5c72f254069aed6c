"""Congestion controls in Python."""

from __future__ import annotations

import hashlib
import inspect
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from narrows import _narrows

if TYPE_CHECKING:
    from narrows._narrows import Ack, Congestion, Limit, Path, Telemetry

#: Python 3.11 cannot look for the source of classes in two threads at once.
_PARSING = threading.Lock()
_ECN = ("off", "classic", "accurate", "cnp")
_METHODS = (
    "on_handshake",
    "on_idle",
    "on_ack",
    "on_congestion",
    "on_cnp",
    "on_sent",
    "on_telemetry",
    "on_timer",
    "next_timer",
    "limit",
)


class Controller:
    """A congestion control. Each connection has an instance of its own.

    >>> class Aimd(narrows.Controller):
    ...     ecn = "classic"
    ...
    ...     def __init__(self, path, *, decrease=0.5):
    ...         self.mss, self.cwnd, self.decrease = path.mss, path.initial_window, decrease
    ...
    ...     def on_ack(self, ack):
    ...         if ack.cwnd_limited and not ack.in_recovery:
    ...             self.cwnd += self.mss * ack.acked / self.cwnd
    ...
    ...     def on_congestion(self, now, event):
    ...         if event.kind != "spurious":
    ...             self.cwnd *= self.decrease
    ...
    ...     def limit(self):
    ...         return self.cwnd
    >>> narrows.run("scenario.toml", set={"traffic.web.cc": Aimd.using(decrease=0.7)})

    The transport schedules and paces packets, detects losses and counts rounds; a controller hears of it and answers
    with a limit. Methods that a subclass does not define are never called. Exceptions end the run and come out of
    :func:`narrows.run`.

    Times are seconds since the run began, as floats; attributes that end in ``_ps`` have them in whole picoseconds.
    ``round(now * 1e12)`` is the exact time for the first quarter of an hour. Sizes are bytes of payload, rates bit/s.
    """

    #: Use of congestion marks by connections: "off", "classic" (a mark is a ``Congestion``, once per round), "accurate"
    #: (marked bytes stand in each ``Ack``), or "cnp" (notification packets; only over RDMA).
    ecn: ClassVar[Literal["off", "classic", "accurate", "cnp"]] = "off"
    #: It reads delays or rates: its window may fall without a loss or a mark. Nothing is done with it but told.
    reads_delay: ClassVar[bool] = False
    #: It needs ``rdma`` in its traffic group. Only then there are ``on_cnp``, ``on_sent``, ``on_timer`` and telemetry.
    needs_rdma: ClassVar[bool] = False
    #: Switches with ``telemetry = true`` write into its packets. Needs RDMA.
    reads_telemetry: ClassVar[bool] = False
    #: Stored runs are told apart by a hash of the class and its bases. It does not cover what they call: change this
    #: when that changes.
    version: ClassVar[str] = ""

    def __init__(self, path: Path) -> None:
        """A connection begins. Settings of the scenario are keyword arguments; name those that there are."""

    def on_handshake(self, now: float, rtt: float) -> None:
        """Hear how long the handshake took, before any acknowledgment of data; not if it was repeated."""

    def on_idle(self, now: float, idle: float, restart: int | None) -> None:
        """Hear that a flow begins on a kept connection that has sent nothing for ``idle``, before its first packet.

        With ``restart``, so much time has passed that the window should not exceed this (RFC 5681 §4.1).
        """

    def on_ack(self, ack: Ack) -> None:
        """Hear of one acknowledgment."""

    def on_congestion(self, now: float, event: Congestion) -> None:
        """Hear of congestion, at most once per round for losses and for marks."""

    def on_cnp(self, now: float) -> None:
        """Hear a congestion notification packet. Only over RDMA, with ``ecn = "cnp"``."""

    def on_sent(self, now: float, size: int) -> None:
        """Hear that a packet of ``size`` bytes on the wire was sent. Only over RDMA."""

    def on_telemetry(self, now: float, telemetry: Telemetry) -> None:
        """Hear what switches wrote into the packet that the next acknowledgment answers. With ``reads_telemetry``."""

    def on_timer(self, now: float) -> None:
        """The time of ``next_timer`` has come. Only over RDMA."""

    def next_timer(self) -> float | None:
        """When to call ``on_timer``; None for never. Asked after each call of another method.

        A timer is never in the past, and expires at most once per microsecond.
        """

    def limit(self) -> Limit | float:
        """The limits of the connection: a ``Limit``, or the window alone. Asked after each call of another method.

        A window below one segment is raised to one, a pacing rate is kept within 1 kb/s and 100 Tb/s.
        """
        raise NotImplementedError

    @classmethod
    def using(cls, **settings: Any) -> Using:
        """This control with settings, as a value of ``cc`` in a scenario."""
        return Using(cls, settings)


@dataclass(frozen=True)
class Using:
    """A control with settings, as a value of ``cc`` in a scenario."""

    controller: type[Controller]
    settings: dict[str, Any] = field(default_factory=dict)


def _look(cls: Any, version: str | None) -> dict[str, Any]:
    """Facts of a class that the engine needs; ``version`` is the one it had where it was pickled."""
    if not (isinstance(cls, type) and issubclass(cls, Controller)):
        name = getattr(cls, "__name__", repr(cls))
        raise TypeError(f"a congestion control is a subclass of narrows.Controller, {name} is none")
    own = [name for name in _METHODS if getattr(cls, name) is not getattr(Controller, name)]
    if "limit" not in own:
        raise TypeError(f"{cls.__name__} has no method limit(), which says how much may be on its way")
    if cls.ecn not in _ECN:
        near = _narrows.nearest(str(cls.ecn), _ECN)
        hint = f'did you mean "{near}"? ' if near else ""
        raise ValueError(f"{cls.__name__}.ecn = {cls.ecn!r}; {hint}known: {', '.join(_ECN)}")
    return {
        "own": own,
        "ecn": cls.ecn,
        "reads_delay": bool(cls.reads_delay),
        "needs_rdma": bool(cls.needs_rdma) or cls.ecn == "cnp" or bool(cls.reads_telemetry),
        "reads_telemetry": bool(cls.reads_telemetry),
        "place": f"{cls.__module__}.{cls.__qualname__}",
        "version": _version(cls, version),
    }


def _refusal(cls: type[Controller], settings: dict[str, Any]) -> str | None:
    """Why an instance cannot be made with these settings, if its signature says so."""
    try:
        inspect.signature(cls).bind(None, **settings)
    except TypeError as error:
        return str(error)
    return None


def _version(cls: type[Controller], known: str | None) -> str:
    """A hash of the code of a class and its bases, and of their attributes; ``known`` if there is no source here."""
    digest = hashlib.sha256()
    for part in cls.__mro__[: cls.__mro__.index(Controller)]:
        try:
            with _PARSING:
                code = textwrap.dedent(inspect.getsource(part))
        except (OSError, TypeError):  # typed into a console, or pickled by value
            if known is not None:
                return known
            code = "\n".join(_byte_code(part))
        digest.update("\n".join([part.__qualname__, code, *_constants(part)]).encode())
    return f"python {digest.hexdigest()[:16]}"


def _constants(part: type) -> Iterator[str]:
    """Attributes of a class whose values cannot change: they may be set from outside."""
    for name, value in sorted(vars(part).items()):
        if not name.startswith("__") and _is_constant(value):
            yield f"{name} = {value!r}"


def _is_constant(value: object) -> bool:
    if type(value) is tuple:
        return all(map(_is_constant, value))
    return type(value) in (bool, int, float, complex, str, bytes, type(None))


def _byte_code(part: type) -> Iterator[str]:
    """Byte code in place of the source of a class that has none."""
    for name, value in sorted(vars(part).items()):
        function: Any = inspect.unwrap(getattr(value, "__func__", value))
        code = getattr(function, "__code__", None)
        if code is not None:
            yield f"{name} {function.__defaults__!r} {function.__kwdefaults__!r}"
            yield from _instructions(code)


def _instructions(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _instructions(constant)
        else:
            yield repr(constant)
