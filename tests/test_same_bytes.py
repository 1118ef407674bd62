"""The same input gives the same bytes, whatever the number of threads: 6 runs of all embedded audits."""

import ast
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "equiview"
THREADS = (
    {"polars": 1, "blas": 1, "runs": 1},
    {"polars": 2, "blas": 4, "runs": 2},
    {"polars": 16, "blas": 3, "runs": 3},
)
"""How many threads, and how often: the more there are, the more ways to take turns; one has no other way."""
RUNS = sum(threads["runs"] for threads in THREADS)
AUDITS = {
    "pictograms": ("pictogram:skewed", ("prevalence", "individual", "parity")),
    "pictograms-culture": ("pictogram:skewed", ("association",)),
    "pictograms-quiz": ("choice:pictogram:skewed", ("knowledge",)),
    "pictograms-people": ("pictogram:skewed", ("social",)),
    "pictograms-flags": ("describe:pictogram:flags-skewed", ("memory",)),
    "pictograms-roles": ("choice:pictogram:skewed", ("amplification",)),
    "scenes:images=40,gallery=100": ("pictogram:skewed", ("decorrelation",)),
}
"""Who is audited by benchmark, and by which audits."""
FIRST = {
    "pictograms": 30, "pictograms-culture": 320, "pictograms-people": 300, "pictograms-roles": 300,
    "pictograms-flags": 80,
}  # fmt: skip
"""So many images of a benchmark are enough for its audits."""
SETTINGS = {"memory": {"translator": "names", "detector": "names", "scorer": "pictogram:english"}}
SCRIPT = f"""
import hashlib, json, shutil, sys
from pathlib import Path
from equiview.audits.execute import execute, finish
from equiview.benchmarks import load_benchmark
from equiview.benchmarks.partial import without_images
from equiview.data.run import Run
from equiview.subjects import load_subject

out, runs = Path(sys.argv[1]), int(sys.argv[2])

def again(folder, copy):
    shutil.copytree(folder, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["stages"] = {{name: files for name, files in manifest["stages"].items() if "observe" in name}}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    finish(Run.open(copy))
    return copy

for name, (subject, audits) in {AUDITS}.items():
    benchmark = load_benchmark(name)
    benchmark = without_images(benchmark, benchmark.images.ids[{FIRST}.get(name, len(benchmark.images)):])
    settings = {{audit: {{"replicates": 100}} | {SETTINGS}.get(audit, {{}}) for audit in audits}}
    execute(load_subject(subject), benchmark, audits, out / name, settings=settings)
    folders = [out / name, *(again(out / name, out / f"{{name}}-{{time}}") for time in range(1, runs))]
    for folder in folders:
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "timings.json")
        for path in paths:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            print(json.dumps([name, path.relative_to(folder).as_posix(), content]))
"""


def run(threads, folder):
    """Hashes of the files of the runs of each benchmark, in a process with so many threads."""
    counts = {"POLARS_MAX_THREADS": threads["polars"], "OPENBLAS_NUM_THREADS": threads["blas"]}
    counts |= {"OMP_NUM_THREADS": threads["blas"], "MKL_NUM_THREADS": threads["blas"]}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), str(threads["runs"])],
        env=os.environ | {name: str(count) for name, count in counts.items()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def test_runs_under_different_threads_have_the_same_bytes(tmp_path):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        folders = [tmp_path / str(number) for number in range(len(THREADS))]
        files = [file for part in pool.map(run, THREADS, folders) for file in part]
    hashes, counts = {}, {}
    for benchmark, name, content in files:
        hashes.setdefault((benchmark, name), set()).add(content)
        counts[benchmark, name] = counts.get((benchmark, name), 0) + 1
    for benchmark in AUDITS:
        for name in ("estimates.parquet", "verdicts.json", "manifest.json"):
            assert counts[benchmark, name] == RUNS
    assert [file for file, contents in hashes.items() if len(contents) > 1] == []


def calls(tree, *names):
    """Calls of a method of one of these names."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names
    ]


def test_every_grouping_keeps_its_order_and_adds_up_lists():
    """Groups come in the order of hashes, and their sums depend on threads: `.agg(x)`, then `.list.sum()`."""
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        for call in calls(tree, "group_by"):
            if "maintain_order" not in {keyword.arg for keyword in call.keywords}:
                wrong.append(f"{path.name}:{call.lineno}: order")
        for aggregation in calls(tree, "agg"):
            inner = [*aggregation.args, *(keyword.value for keyword in aggregation.keywords)]
            if any(calls(part, "mean", "sum", "std", "var") for part in inner):
                wrong.append(f"{path.name}:{aggregation.lineno}: sum")
    assert wrong == []
