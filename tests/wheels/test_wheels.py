"""Real wheels: `nokernel scan` against an independent census of them, and against NVIDIA's cuobjdump where it can read them.

Needs scripts/get-wheels. A wheel that PyPI has no longer is reported as a skip with that reason. Every difference that is
allowed stands in EXPLAINED, with its reason.
"""

import collections
import json
import os
import re
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest

import compare
import cubins

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
    ("onnxruntime_gpu", r"outside_sass|pairs|names|coverage .*",
     "the census counted containers only; 164 attention cubins lie bare in the data, and are counted here"),
    ("tensorflow", r"outside_ptx|coverage 1\d\d",
     "1149 PTX entries say 90 in their header and sm_90a in their text, which only sm_90 runs; the census took the header"),
    ("torch", r"outside_sass|pairs|names|coverage .*",
     "PyTorch 1.13.1: bare cubins of CUPTI lie in libtorch_cpu.so; the census counted containers only"),
]
# Files in which the census did not look.
UNLISTED = [
    ("cumm_cu126", r"cumm/lib/libcudadevrt\.a", "the census read no archives of objects"),
    ("flashinfer_cubin", r".*\.cubin", "the census counted cubin files, and listed none"),
]
# Libraries of whole PyTorch sets (scripts/get-torch), which other tests need anyway: package, version, set, suite.
INSTALLED = [("torch", "2.1.2", "torch-cuda12", "check"), ("torch", "1.13.1", "torch-silent", "wheels")]
INSTALLED = [row for row in INSTALLED if SUITE == "all" or row[3] == SUITE]
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


def set_of(package, version, name):
    """The folder of that version of a package in a set."""
    folders = sorted((CACHE / "sets" / name).glob(f"lib/python*/site-packages/{package}"))
    if not folders or not (folders[0].parent / f"{package}-{version}.dist-info").is_dir():
        pytest.skip(f"{package} {version} is not in {CACHE}/sets/{name}: this Python has another version, or none")
    return folders[0]


def held_against_the_census(package, version, out, ours):
    theirs = LIBRARIES[package, version]
    for item in out["items"]:
        assert item["package"].replace("-", "_").lower() == package, item["package"]
        assert item["version"].split("+")[0] == version
    extra = [p for p in ours if p not in theirs and not any(package == q and re.fullmatch(f, p) for q, f, _ in UNLISTED)]
    assert (extra, [p for p in theirs if p not in ours]) == ([], [])
    wrong = [f"{name}: {said}" for name in theirs for said in compare.differences(ours[name], theirs[name])
             if not explained(package, said.split(":")[0])]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("row", WHEELS, ids=lambda row: f"{row['package']}-{row['version']}")
def test_a_real_wheel_holds_what_the_census_found(row):
    out = scan("--gpu", compare.GPUS, wheel_of(row["package"], row["version"]))
    held_against_the_census(row["package"], row["version"], out, libraries(out))


@pytest.mark.parametrize("package,version,name,suite", INSTALLED)
def test_an_installed_package_holds_what_the_census_found_in_its_wheel(package, version, name, suite):
    out = scan("--gpu", compare.GPUS, set_of(package, version, name))
    held_against_the_census(package, version, out, {f"{package}/{p}": library for p, library in libraries(out).items()})


for row in WHEELS:
    if row["package"] == "flashinfer_cubin":  # 458 MB: not of every suite

        def test_cubin_files_of_a_wheel_are_counted_one_by_one(version=row["version"]):
            found = collections.Counter(a["arch"].rstrip("af") for library in libraries(
                scan("--quick", wheel_of("flashinfer_cubin", version))).values() for a in library["sass"])
            assert found == {"sm_100": 14018, "sm_103": 1952}


# ---- names


def files(path):
    """(the library as scan sees it, its bytes) of everything with kernels in a wheel or a folder."""
    found = libraries(scan("--kernels", path))
    for member, library in found.items():
        if not library["kernels"]:
            continue
        if path.is_dir():
            yield library, (path / member).read_bytes()
        else:
            with zipfile.ZipFile(path) as archive:
                yield library, archive.read(member)


def everything():
    """What to look at, as parameters: wheels and installed packages; not those of thousands of files."""
    for row in WHEELS:
        if row["package"] != "flashinfer_cubin":
            yield pytest.param(lambda row=row: wheel_of(row["package"], row["version"]), id=f"{row['package']}-{row['version']}")
    for package, version, name, _ in INSTALLED:
        yield pytest.param(lambda p=package, v=version, n=name: set_of(p, v, n), id=f"{package}-{version}")


def counted(library, sorts):
    """How often each (arch, kernel) is said to be; bare cubins do not say their suffix in a way that all readers read."""
    return collections.Counter(
        (arch.rstrip("af") if library["bare"] else arch, kernel["name"])
        for kernel in library["kernel_list"] for sort in sorts for arch in kernel[sort] if arch.startswith("sm_"))


@pytest.mark.parametrize("path", everything())
def test_every_kernel_of_every_image_has_the_name_that_another_reader_finds(path):
    for library, data in files(path()):
        ours, theirs = counted(library, ("images", "hollow")), collections.Counter()
        for image in cubins.images(data):
            theirs.update((image.arch.rstrip("af") if library["bare"] else image.arch, name) for name in image.kernels)
        assert ours == theirs, (library["path"], list((ours - theirs).items())[:3], list((theirs - ours).items())[:3])


# Instructions that write to memory that others see: ST, STG, RED, ATOM, ATOMG of sm_70 and newer.
WRITES = {0x385, 0x985, 0x386, 0x986, 0x38e, 0x98e, 0x98d, 0x38a, 0x3a3, 0x9a3, 0x3a8, 0x9a8, 0x3a9, 0x9a9, 0x3ad, 0x9ad}
# Real kernels of 384 and 512 bytes, which were unrolled to 3.4 KB and more for another architecture.
FALSE_ALARMS = {"onnxruntime_gpu": ("ConvertBoolMaskToAttentionBiasKernel", "unfused_attention")}


def writes(body):
    return any(word & 0xfff in WRITES for word, _ in struct.iter_unpack("<QQ", body))


@pytest.mark.parametrize("path", everything())
def test_a_kernel_that_is_called_empty_writes_nothing(path):
    path, looked = path(), 0
    known = FALSE_ALARMS.get(path.name.split("-")[0], ())
    for library, data in files(path):
        called = set(counted(library, ("hollow",)))
        for image in cubins.images(data) if called else ():
            if int(image.arch[3:].rstrip("af")) < 70:
                continue  # other instructions
            arch = image.arch.rstrip("af") if library["bare"] else image.arch
            for name, body in image.kernels.items():
                if (arch, name) in called and not any(word in name for word in known):
                    looked += 1
                    assert not (len(body) <= 512 and writes(body)), (library["path"], image.arch, name, len(body))
    if path.name.split("-")[0] in ("bitsandbytes", "onnxruntime_gpu", "torch"):
        assert looked > 100


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


def test_the_empty_kernels_of_torch_2_15_are_those_of_an_independent_count():
    """Counted in Python on the wheel: names that are empty somewhere, and those that are so on sm_75 alone."""
    path = set_of("torch", "2.15.0", "torch-cuda13") / "lib/libtorch_cuda.so"
    ((_, library),) = libraries(scan("--kernels", path)).items()
    empty = collections.defaultdict(set)
    for kernel in library["kernel_list"]:
        if kernel["hollow"]:
            empty[kernel["name"]].update(kernel["hollow"])
    assert (len(empty), sum(archs == {"sm_75"} for archs in empty.values())) == (4528, 1214)
