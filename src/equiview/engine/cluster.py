"""The engine `ray[:ADDRESS]`: workers on the machines of a Ray cluster, or of one on this machine alone.

Workers are actors that this process watches over itself: a part whose worker or machine died is done again by
another, and whichever workers can be had take part, so that none waits for a machine that is gone.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from equiview.engine import probe
from equiview.engine.base import ONE_CORE, Engine, Needs
from equiview.engine.pool import Pool
from equiview.errors import InputError
from equiview.extras import require

Part = TypeVar("Part")
Result = TypeVar("Result")
QUIET = {
    "RAY_usage_stats_enabled": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else it warns that it will do so one day
    "RAY_DEDUP_LOGS": "0",
}
"""What Ray reads of the environment when it is imported or started: it reports to nobody."""
SECONDS = 10.0
"""How long a machine may take to answer at all."""
MUST_AGREE = ("equiview", "numpy", "scipy", "polars", "onnxruntime", "pillow", "torch", "transformers")
SHARED, IN_FLIGHT = 0.5, 0.25
"""Shares of the smallest object store for what all workers read, and for parts that are under way."""


class RayEngine(Engine):
    """Workers of the cluster at `address` (HOST:PORT or `auto`); without one, of a cluster begun for this.

    There are as many as the machines have room for, or at most `workers`. A process that is connected to a
    cluster already stays so. InputError where Ray is not installed, nothing answers at the address, or a
    machine has another version of Python or of a library, or kernels of another kind: its results would not
    be the same bytes.
    """

    def __init__(self, address: str = "", workers: int | None = None) -> None:
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        self.ray = require("ray", "ray")
        self.own = not self.ray.is_initialized()
        self._most = workers
        self._pool: Pool | None = None
        self._checked: set[str] = set()
        if self.own:
            _connect(self.ray, address)
        try:
            self._check_machines()
            if not self.workers:
                raise InputError("no machine of the Ray cluster has a core for a worker")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RayEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers; leave the cluster, or end it where it was begun for this."""
        self.rest()
        if self.own:
            self.ray.shutdown()
            _hush(self.ray, False)

    def rest(self) -> None:
        """End the workers, until there is work again."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    @property
    def workers(self) -> int:
        """One for each core of every machine."""
        return self._seats(ONE_CORE)

    @property
    def room(self) -> int:
        """Half of the smallest object store of any machine."""
        return int(SHARED * self._store())

    @property
    def pool(self) -> Pool | None:
        """The workers that there are, if any were asked for yet."""
        return self._pool

    def map(
        self,
        work: Callable[..., Result],
        parts: Iterable[Part],
        *,
        shared: tuple[Any, ...] = (),
        start: Callable[..., Any] | None = None,
        needs: Needs = ONE_CORE,
        size: Callable[[Part], int] | None = None,
    ) -> Iterator[Result]:
        """Have parts done by the workers, at most two under way for each.

        Parts under way and their results, taken to be as large as the largest so far, take a quarter of the
        object store together, and one part more. InputError
        where no machine has what a worker needs, and for a part at which worker after worker dies.
        """
        asked = self.ray.cloudpickle.dumps((work, start))
        key = hashlib.blake2b(asked + pickle.dumps(shared)).hexdigest() if start else ""
        pool = self._pool_for(needs)
        yield from pool.map(
            key, asked, parts, shared, size or (lambda part: 0), int(IN_FLIGHT * self._store())
        )

    def _pool_for(self, needs: Needs) -> Pool:
        """The workers of this kind; those of another kind make room for them."""
        self._check_machines()
        if needs.accelerator:
            there = any(_has(machine, "GPU") for machine in self._machines())
            needs = replace(needs, cores=1 if there else needs.cores, accelerator=there)
        most = max((int(_has(machine, "CPU")) for machine in self._machines()), default=0)
        needs = replace(needs, cores=max(1, min(needs.cores, most)))
        if self._pool is not None and self._pool.needs != needs:
            self.rest()
        if self._pool is None:
            self._pool = Pool(self.ray, needs, str(Path.cwd()), self._alive)
        self._pool.fill(max(1, self._seats(needs)))
        return self._pool

    def _machines(self) -> list[dict[str, Any]]:
        return [node for node in self.ray.nodes() if node["Alive"]]

    def _seats(self, needs: Needs) -> int:
        """How many workers the machines have room for."""
        counts = []
        for machine in self._machines():
            count = int(_has(machine, "CPU")) // needs.cores
            counts.append(min(count, int(_has(machine, "GPU"))) if needs.accelerator else count)
        return sum(counts) if self._most is None else min(self._most, sum(counts))

    def _alive(self, needs: Needs) -> bool:
        """Whether any machine that is left has room for a worker; those that joined must agree."""
        self._check_machines()
        return self._seats(needs) > 0

    def _store(self) -> float:
        return min(_has(machine, "object_store_memory") for machine in self._machines())

    def _check_machines(self) -> None:
        """Ask each machine that was not asked yet what it has; InputError for the first that differs."""
        ray = self.ray
        here = probe.found(MUST_AGREE)
        new = [node for node in self._machines() if node["NodeID"] not in self._checked and _has(node, "CPU")]
        ray.cloudpickle.register_pickle_by_value(probe)
        try:
            place = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
            ask = ray.remote(num_cpus=0, max_retries=2)(probe.found)
            asked = [
                (node, ask.options(scheduling_strategy=place(node["NodeID"], soft=False)).remote(MUST_AGREE))
                for node in new
            ]
        finally:
            ray.cloudpickle.unregister_pickle_by_value(probe)
        for node, answer in asked:
            try:
                there = ray.get(answer)
            except ray.exceptions.RayError:  # it died meanwhile: whoever comes in its place is asked again
                continue
            check_alike(here, there, node["NodeManagerAddress"])
            self._checked.add(node["NodeID"])


def check_alike(here: dict[str, str], there: dict[str, str], machine: str) -> None:
    """InputError where a machine lacks something, or has something else.

    >>> check_alike({"numpy": "2.0"}, {"numpy": "none"}, "10.0.0.7")
    Traceback (most recent call last):
    equiview.errors.InputError: machine 10.0.0.7 of the Ray cluster has no numpy; install numpy 2.0 there
    """
    for what, wanted in here.items():
        has = there.get(what, "none")
        if wanted in (has, "none"):
            continue
        if has == "none":
            raise InputError(
                f"machine {machine} of the Ray cluster has no {what}; install {what} {wanted} there"
            )
        advice = (
            f"set OPENBLAS_CORETYPE={wanted.split()[-1]} on every machine before Ray is started"
            if what.startswith("kernels")
            else "install the same everywhere"
        )
        raise InputError(
            f"machine {machine} of the Ray cluster has {what} {has}, this one {wanted}: results would not be "
            f"the same bytes; {advice}"
        )


def _has(machine: dict[str, Any], what: str) -> float:
    return float(machine["Resources"].get(what, 0))


def _connect(ray: Any, address: str) -> None:
    """Join the cluster, or begin one of this machine; InputError says why that is not possible."""
    if address and address != "auto":
        _check_address(address)
    try:
        ray.init(
            address=address or "local",
            include_dashboard=None if address else False,
            log_to_driver=False,
            logging_level=logging.CRITICAL,
        )
    except Exception as error:
        said = " ".join(str(error).split())[:300]
        where = f"the Ray cluster {address}" if address else "a Ray cluster on this machine"
        raise InputError(
            f"{where} cannot be used ({type(error).__name__}: {said}); is it running, with this version of "
            "Ray? If it asks for a token, set RAY_AUTH_MODE=token"
        ) from None
    _hush(ray, True)


def _hush(ray: Any, quiet: bool) -> None:
    """Let Ray print nothing of its own logs: on standard output it would spoil what is read from there."""
    ray._private.worker._worker_logs_enabled = not quiet  # the switch that Ray's own debugger uses


def _check_address(address: str) -> None:
    """InputError unless `address` is HOST:PORT and something listens there: Ray itself would try for long."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit():
        raise InputError(
            f"engine 'ray:{address}': an address is HOST:PORT of a cluster's head, or auto on one of its "
            "machines"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"no Ray cluster answers at {address} ({error}); `ray start --head` begins one, and prints its "
            "address"
        ) from None
