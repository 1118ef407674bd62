"""Object stores for the tests: one that speaks S3 on loopback, and one in memory that fails when told to."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from urllib.request import Request, urlopen

import fsspec
from fsspec.implementations.memory import MemoryFileSystem
from moto.server import ThreadedMotoServer

from equiview.io import remote

KEYS = {
    "AWS_ACCESS_KEY_ID": "tester",
    "AWS_SECRET_ACCESS_KEY": "0123456789",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@contextmanager
def s3() -> Iterator[dict[str, str]]:
    """The environment in which `s3://bucket` is an empty bucket of a server on loopback."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    try:
        fs = fsspec.filesystem("s3", key="tester", secret="0123456789", endpoint_url=address)
        fs.mkdir("bucket")
        yield KEYS | {"AWS_ENDPOINT_URL": address}
    finally:
        # The buckets belong to the process, so that the next server would have them too.
        urlopen(Request(f"{address}/moto-api/reset", method="POST")).close()
        server.stop()


def forget_stores() -> None:
    """Let file systems be made anew, by the environment as it is now."""
    remote._store_of.cache_clear()
    for name in ("s3", "faulty"):
        fsspec.get_filesystem_class(name).clear_instance_cache()


class Killed(BaseException):
    """Stands for the end of the process."""


class Faulty(MemoryFileSystem):
    """A store in memory that is at `faulty://`, of which all writes and what is fetched are kept.

    From write number `at` on it raises `fault` and writes nothing.
    """

    protocol = "faulty"
    store: ClassVar[dict[str, object]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    writes: ClassVar[list[str]] = []
    reads: ClassVar[list[str]] = []
    at: ClassVar[int] = -1
    fault: ClassVar[BaseException] = Killed()

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("faulty://", "memory://"))

    @classmethod
    def reset(cls) -> None:
        """Empty it, and let it work."""
        cls.store.clear()
        cls.pseudo_dirs[:] = [""]
        cls.writes.clear()
        cls.reads.clear()
        cls.at, cls.fault = -1, Killed()

    def _counted(self, path: str, write) -> None:
        self.writes.append(path)
        if 0 <= self.at < len(self.writes):
            raise self.fault
        write()

    def pipe_file(self, path, value, mode="overwrite", **given):
        self._counted(path, lambda: super(Faulty, self).pipe_file(path, value, mode=mode, **given))

    def put_file(self, lpath, rpath, callback=None, **given):
        content = Path(lpath).read_bytes()
        self._counted(rpath, lambda: super(Faulty, self).pipe_file(rpath, content))

    def rm_file(self, path):
        self._counted(path, lambda: super(Faulty, self).rm_file(path))

    def get_file(self, rpath, lpath, **given):
        self.reads.append(rpath)
        return super().get_file(rpath, lpath, **given)


fsspec.register_implementation("faulty", Faulty, clobber=True)
