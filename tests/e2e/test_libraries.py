"""Whose kernel it is: the library, its package and version, and what else in the process carries GPU code."""

import json
import shutil

import pytest

import claims
from conftest import command
from fixtures import images, programs, toolkit

GOOD, BAD = ["80"], ["90"]
CUBLAS = toolkit.CUBLAS


def host(store):
    return programs.linked(store, "opens_plugin", [programs.compiled(store, "opens_plugin.c")], ["-ldl"])


def installed(program, folder, version):
    """A plug-in as pip installs one: site-packages/gpuops/libplugin.so, with its metadata beside."""
    site = folder / "lib" / "python3.11" / "site-packages"
    meta = site / f"gpu_ops-{version}.dist-info"
    (site / "gpuops").mkdir(parents=True)
    meta.mkdir()
    path = site / "gpuops" / "libplugin.so"
    shutil.copy(program("plugin", "12.9", GOOD, BAD, static=True, shared=True), path)
    (meta / "METADATA").write_text(f"Metadata-Version: 2.1\nName: gpu-ops\nVersion: {version}\n")
    (meta / "RECORD").write_text("gpuops/libplugin.so,,\n")
    return path


def test_the_pip_package_of_the_library_is_named_with_its_version(run, program, store, tmp_path):
    path = installed(program, tmp_path, "1.2.3")
    out = run(host(store), path)
    failure = claims.one_failure(out.report)
    assert (failure["package"], failure["version"]) == ("gpu-ops", "1.2.3"), failure
    assert "gpu-ops 1.2.3" in out.text


def test_every_other_library_with_gpu_code_is_listed_with_its_coverage(run, program, store, tmp_path):
    """Whether or not the driver ever saw it: what stands in the mapped files counts."""
    paths = {}
    for name, (a, b) in {"native": (GOOD, GOOD), "none": (BAD, BAD), "partly": (GOOD, BAD),
                         "jit": (["ptx75"], ["ptx75"])}.items():
        paths[name] = tmp_path / f"lib{name}.so"
        shutil.copy(program("plugin", "12.4", a, b, shared=True), paths[name])
    app = program("loads_plugins_only", "12.4", GOOD, BAD, more=["-ldl"])
    out = run(app, *paths.values())
    coverage = {claims.base(lib["path"]): lib["coverage"] for lib in out.report["libraries"]}
    for name in paths:
        assert coverage[f"lib{name}.so"] == {"sm_80": name}, coverage
    assert "libnone.so" in out.text and "libpartly.so" in out.text


def test_the_gpu_and_its_driver_are_named(run, program):
    out = run(program("launches", "12.4", GOOD, BAD), "a", sm=86, driver=12060, env={"SIM_NAME": "Test Card 9000"})
    gpu = out.report["gpus"][0]
    assert (gpu["name"], gpu["sm"], gpu["cuda"], gpu["ordinal"]) == ("Test Card 9000", "sm_86", "12.6", 0), gpu


def test_a_handle_that_comes_back_after_an_unload_means_the_new_kernel(run, store):
    from conftest import SIM

    app = programs.linked(store, "driver_reuses_handles", [programs.compiled(store, "driver_reuses_handles.c")],
                          [f"-L{SIM}", "-l:libcuda.so.1"])
    names = ["_Z5firstPf", "_Z6secondPf", "_Z5thirdPf"]
    arguments = [part for name in names for part in (images.image(store, "80", [name]), name)]
    out = run(app, *arguments)
    assert "handle again" in out.lines
    for name in names:
        claims.launched(out.report, name, 1)
    claims.nothing_failed(out)


# ---- another GPU than the one that ran
def test_what_another_gpu_would_have_lacked_is_told_from_a_healthy_recording(run, program):
    """nokernel report --gpu: a run on a GPU at hand, judged for one that is not."""
    out = run(program("launches", "12.4", ["80", "120"], GOOD), "a", "b", "b")
    claims.nothing_failed(out)
    done = command("report", "--gpu", "sm_120", "--json", out.recordings[0])
    report = json.loads(done.stdout)
    claims.runs(report, claims.A, "native", "exact")
    claims.runs(report, claims.B, "none", "no-image")
    text = command("report", "--gpu", "sm_120", out.recordings[0]).stdout
    assert "k_b" in text and "sm_120" in text


def test_the_report_for_an_issue_is_markdown(run, program):
    out = run(program("launches", "12.4", GOOD, BAD), "a", "b")
    text = command("report", "--markdown", out.recordings[0]).stdout
    assert "k_b" in text and "sm_90" in text and "sm_80" in text
    assert "#" in text or "|" in text or "**" in text


# ---- a real library with a static 11.8 runtime inside
def cublas_program(store):
    libraries = [CUBLAS / "libcublas.so.11", CUBLAS / "libcublasLt.so.11", f"-Wl,-rpath,{CUBLAS}"]
    return programs.linked(store, "uses_cublas", [programs.compiled(store, "uses_cublas.c")],
                           [*libraries, *toolkit.runtime_flags("11.8", False)])


def need_cublas():
    if not CUBLAS.is_dir():
        pytest.skip("cuBLAS 11.11 is not there: run scripts/get-runtimes cublas")


@pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
def test_cublas_on_a_gpu_that_it_supports_raises_no_alarm(run, store, eager):
    """In EAGER mode hundreds of its fat binaries, made for single GPUs, are refused at the start."""
    need_cublas()
    out = run(cublas_program(store), sm=80, eager=eager)
    assert "sgemm 0" in out.lines
    claims.nothing_failed(out)
    assert out.report["summary"]["launched"] == 1


def test_cublas_on_a_gpu_that_it_has_no_image_for_is_named(run, store):
    """Its runtime is static and of 11.8: no public function of the driver carries the refusal."""
    need_cublas()
    out = run(cublas_program(store), sm=30)
    assert "create 0" not in out.stdout
    libraries = {claims.base(f["library"]) for f in out.report["failures"]}
    assert libraries and libraries <= {"libcublas.so.11", "libcublasLt.so.11"}, out.report["failures"]
    assert claims.missing_count(out.report) >= 1
    package = {(f["package"], f["version"]) for f in out.report["failures"]}
    assert package == {("nvidia-cublas-cu11", "11.11.3.6")}
