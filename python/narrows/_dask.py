"""Cells on a cluster of Dask."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any

from narrows import _narrows
from narrows._sweep import AHEAD, _Place, run_cell

try:
    from distributed import Client, wait
    from distributed.comm.core import CommClosedError
except ModuleNotFoundError as error:
    message = f"clusters need {error.name}: pip install narrows[dask]"
    raise ModuleNotFoundError(message, name=error.name) from None

#: Time that a scheduler may take to answer.
PATIENCE = "5s"


class Cluster(_Place):
    """A cluster, by a client or by the address of its scheduler."""

    def __init__(self, client: Any) -> None:
        self._own = isinstance(client, str)
        self._client = _connect(client) if isinstance(client, str) else client
        if getattr(self._client, "asynchronous", False):
            raise TypeError("sweep() needs a client that is not asynchronous")
        if self._client.status != "running":
            raise _narrows.Error(f"the client is {self._client.status}, it has to be connected to a scheduler")
        self._check_engines()
        self._files: dict[str, Any] = {}
        self._asked, self._width = -1.0, 1

    def _check_engines(self) -> None:
        """Every worker has to simulate the same."""
        found = self._client.run(_engine_of_worker)
        if not found:
            raise _narrows.Error(
                "the scheduler has no workers; start some: dask worker ADDRESS --nworkers 2 --nthreads 1"
            )
        others = {worker: other for worker, other in found.items() if other != _narrows.ENGINE}
        if others:
            shown = "\n".join(
                f"  {worker}: {other or 'narrows is not installed'}" for worker, other in sorted(others.items())[:10]
            )
            raise _narrows.Error(
                f"workers have another engine than this one, {_narrows.ENGINE}:\n{shown}\n"
                "They might simulate something else. Install the same version of narrows everywhere."
            )

    def __exit__(self, *_: object) -> None:
        if self._own:
            self._client.close()

    @property
    def width(self) -> int:
        # Workers come and go; asking for each cell would cost more than the cell.
        now = time.monotonic()
        if now - self._asked > 1.0:
            threads: int = sum(self._client.nthreads().values())
            self._asked, self._width = now, max(AHEAD * threads, 1)
        return self._width

    def submit(self, task: str, files: dict[str, bytes], threads: int, store: str | None, id: str) -> Any:
        # The files of scenarios go to workers once, not with every cell.
        for hash, content in files.items():
            if hash not in self._files:
                self._files[hash] = self._client.scatter(content, hash=False, broadcast=True)
        return self._client.submit(
            run_cell,
            task,
            self._files,
            threads,
            store,
            self.controllers,
            key=f"narrows-{id}" if store else f"narrows-bytes-{id}",
            pure=True,
        )

    def wait(self, futures: Sequence[Any]) -> list[Any]:
        try:
            return list(wait(futures, return_when="FIRST_COMPLETED").done)
        except CancelledError:
            # Each of them says why when it is asked for its result.
            return [future for future in futures if future.cancelled()]

    def broken(self, error: BaseException) -> str | None:
        if self._client.status != "running" or isinstance(error, CancelledError | CommClosedError):
            return f"the scheduler is gone or has canceled the cells ({error})"
        return None

    def cancel(self, futures: Sequence[Any]) -> None:
        if self._client.status == "running":
            self._client.cancel(list(futures))


def _engine_of_worker() -> str | None:
    # Sent by value: a worker without narrows has to be able to say so.
    try:
        from narrows import _narrows
    except ModuleNotFoundError:
        return None
    return _narrows.ENGINE


_engine_of_worker.__module__ = "__main__"


class _Client(Client):
    def start(self, **kwargs: Any) -> None:
        """Closes what cannot be started.

        The garbage collector would close it, too, and wait for ever if another client is just being made.
        """
        try:
            super().start(**kwargs)
        except BaseException:
            self.close()
            raise


def _connect(address: str) -> Any:
    try:
        return _Client(address, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise _narrows.Error(
            f"no scheduler of Dask answers at {address} within {PATIENCE}: {error}\n"
            "Start one with `dask scheduler`, and workers with `dask worker ADDRESS --nthreads 1`; the address is the "
            "one the scheduler prints, such as tcp://10.0.0.1:8786."
        ) from None
