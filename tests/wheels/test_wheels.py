"""Real wheels: `nokernel scan` against an independent census of them, and against NVIDIA's cuobjdump where it can read them.

Needs scripts/get-wheels. A wheel that PyPI has no longer is reported as a skip with that reason. Every difference that is
allowed stands in EXPLAINED, with its reason.
"""

import collections
import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

import compare

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("B") or ROOT / "build").resolve() / "nokernel"
CACHE = Path(os.environ.get("NOKERNEL_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nokernel")
CUOBJDUMP = CACHE / "pypi/nvidia-cuda-cuobjdump-13.5.37/nvidia/cu13/bin/cuobjdump"
SUITE = os.environ.get("NOKERNEL_WHEELS", "all")
WHEELS = [row for row in compare.rows("wheels.tsv") if SUITE == "all" or row["suite"] == SUITE]
LIBRARIES = collections.defaultdict(dict)
for row in compare.rows("libraries.tsv"):
    LIBRARIES[row["package"], row["version"]][row["library"]] = row

# package, field, why what is said differs from the census.
EXPLAINED = [
    ("jax_cuda12_plugin", r"coverage 110", "sm_101 was renamed sm_110: its images run there; the census compared numbers"),
    ("onnxruntime_gpu", r"outside_sass|pairs|coverage .*",
     "the census counted containers only; 164 attention cubins lie bare in the data, and are counted here"),
    ("tensorflow", r"outside_ptx|coverage 1\d\d",
     "1149 PTX entries say 90 in their header and sm_90a in their text, which only sm_90 runs; the census took the header"),
]
# Files in which the census did not look.
UNLISTED = [
    ("cumm_cu126", r"cumm/lib/libcudadevrt\.a", "the census read no archives of objects"),
    ("flashinfer_cubin", r".*\.cubin", "the census counted cubin files, and listed none"),
]
# cuobjdump 13.5 stops at images for architectures before sm_75, and sees .nv_fatbin only.
READABLE = ["torchaudio 2.11.0", "torchvision 0.29.2", "torchao 0.18.0", "cupy_cuda13x 13.6.0"]


def explained(package, field):
    return any(package == p and re.fullmatch(f, field) for p, f, _ in EXPLAINED)


def wheel_of(package, version):
    found = sorted((CACHE / "wheels").glob(f"{package}-{version}-*.whl"))
    if not found and (CACHE / "wheels" / f"{package}-{version}.gone").exists():
        pytest.skip(f"PyPI has {package} {version} no longer")
    assert found, f"{package} {version} is not there: run scripts/get-wheels"
    return found[0]


def scan(*arguments):
    done = subprocess.run([COMMAND, "scan", "--json", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def libraries(out):
    return {library["path"]: library for item in out["items"] for library in item["libraries"]}


@pytest.mark.parametrize("row", WHEELS, ids=lambda row: f"{row['package']}-{row['version']}")
def test_a_real_wheel_holds_what_the_census_found(row):
    package, version = row["package"], row["version"]
    path = wheel_of(package, version)
    out = scan("--gpu", compare.GPUS, path)
    ours, theirs = libraries(out), LIBRARIES[package, version]
    for item in out["items"]:
        assert item["package"].replace("-", "_").lower() == package, item["package"]
        assert item["version"].split("+")[0] == version
    extra = [p for p in ours if p not in theirs and not any(package == q and re.fullmatch(f, p) for q, f, _ in UNLISTED)]
    assert (extra, [p for p in theirs if p not in ours]) == ([], [])
    wrong = [f"{name}: {said}" for name in theirs for said in compare.differences(ours[name], theirs[name])
             if not explained(package, said.split(":")[0])]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("row", [r for r in WHEELS if r["package"] == "flashinfer_cubin"] or [None], ids=str)
def test_cubin_files_of_a_wheel_are_counted_one_by_one(row):
    if row is None:
        return  # 458 MB: not of this suite
    found = collections.Counter(a["arch"].rstrip("af") for library in libraries(
        scan("--quick", wheel_of(row["package"], row["version"]))).values() for a in library["sass"])
    assert found == {"sm_100": 14018, "sm_103": 1952}


def kernels_of_cuobjdump(path):
    """How often each (arch, kernel) is, in all images of .nv_fatbin."""
    done = subprocess.run([CUOBJDUMP, "-symbols", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    count, arch = collections.Counter(), None
    for line in done.stdout.splitlines():
        words = line.split()
        if line.startswith("arch = "):
            arch = words[2]
        elif words[:1] == ["FUNC"] and "ENTRY" in words:
            count[arch.rstrip("f"), words[-1]] += 1
    return count


@pytest.mark.parametrize("name", [n for n in READABLE if any(n == f"{w['package']} {w['version']}" for w in WHEELS)])
def test_the_kernels_of_every_image_are_those_that_cuobjdump_names(name, tmp_path):
    path = wheel_of(*name.split())
    with zipfile.ZipFile(path) as archive:
        for member, library in libraries(scan("--kernels", path)).items():
            if library["outside"]["containers"]:
                continue
            ours = collections.Counter()
            for kernel in library["kernel_list"]:
                for arch in kernel["images"] + kernel["hollow"]:
                    if arch.startswith("sm_"):
                        ours[arch.rstrip("f"), kernel["name"]] += 1
            theirs = kernels_of_cuobjdump(archive.extract(member, tmp_path))
            assert sum(theirs.values()) > 0 or not ours, member
            assert ours == theirs, (member, list((ours - theirs).items())[:3], list((theirs - ours).items())[:3])
