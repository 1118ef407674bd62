"""A Ray cluster of several machines that are all this one: each has its own raylet and object store."""

from __future__ import annotations

import logging
import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from equiview.engine.cluster import RayEngine

STORE = 80 * 2**20
"""Bytes of an object store, about the least that Ray takes. It may not spill: too much is an error."""


class Loopback:
    """Machines with `cores` each; `engine` uses all of them. This process is on one more, without a core."""

    def __init__(self, machines: int, cores: int, store: int) -> None:
        os.environ |= {"RAY_usage_stats_enabled": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
        from ray.cluster_utils import Cluster

        # A machine that is dead is found so in five short periods; one that is slow may still take its time.
        config = {"automatic_object_spilling_enabled": False, "health_check_period_ms": 300}
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": config}
        self.cores, self.store = cores, store
        self.cluster: Any = Cluster(
            initialize_head=True, head_node_args=head | {"object_store_memory": store}
        )
        self.machines = [self._begin() for _ in range(machines)]
        self.cluster.wait_for_nodes()
        self.engine = RayEngine(self.cluster.address)

    def _begin(self) -> Any:
        return self.cluster.add_node(num_cpus=self.cores, object_store_memory=self.store, wait=False)

    @property
    def logs(self) -> Path:
        """Where all of the cluster writes its logs."""
        return Path(self.cluster.head_node.get_logs_dir_path())

    def kill_worker(self, dice: random.Random, engine: RayEngine) -> bool:
        """Kill the process of one worker that is up, if any is."""
        processes = engine.pool.processes if engine.pool is not None else []
        if not processes:
            return False
        os.kill(dice.choice(processes), signal.SIGKILL)
        return True

    def kill_machine(self, dice: random.Random) -> None:
        """Kill the raylet of one machine, whose workers end with it, and begin another."""
        lost = self.machines.pop(dice.randrange(len(self.machines)))
        self.cluster.remove_node(lost, allow_graceful=False)
        self.machines.append(self._begin())

    def close(self) -> None:
        """End everything."""
        self.engine.close()
        self.cluster.shutdown()


@contextmanager
def loopback(machines: int = 2, cores: int = 2, store: int = STORE) -> Iterator[Loopback]:
    """A cluster that is ended afterwards."""
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    started = Loopback(machines, cores, store)
    try:
        yield started
    finally:
        started.close()
