"""Real applications from PyPI, unmodified, on GPUs that they have images for and on GPUs that they have none for.

`make check-apps`. What an application says and how it ends is compared with a run without the library. Some of them write
the time and their process number to stderr, so there only what the library adds is looked for."""

import signal
from dataclasses import dataclass

import claims
import conftest
import pytest
import real
import sets
from fixtures import images

NO_IMAGE = "no kernel image is available for execution on the device"


@dataclass(frozen=True)
class App:
    """An application that fails on a GPU it has no image for, and what is then to be said."""

    set: str
    script: str
    good: int  # compute capability of a GPU that it has images for
    bad: int  # and of one that it has none for
    says: str  # the application's own words
    library: str  # the file that has no image
    package: str
    version: str
    kernel: str  # a part of the failing kernel's name, or of one of the candidates where the driver is not told the name
    has: str  # one of the architectures that there are
    code: int = 1
    named: bool = True  # is the kernel's name to be had?
    speaks: bool = True  # does it end in a way that lets the library print its report?

    def run(self, run, sm, **keywords):
        script = sets.APPS / self.script
        return run(
            sets.python(self.set), script, sm=sm, env=sets.environment(self.set), exit_report=False, **keywords
        )


APPS = {
    "ctranslate2": App(
        "ct2", "ctranslate2_cast.py", 80, 37, f"parallel_for failed: cudaErrorNoKernelImageForDevice: {NO_IMAGE}",
        "libctranslate2", "ctranslate2", "4.8.5", "EmptyKernel", "sm_86", named=False,
    ),
    "cupy": App(
        "cupy", "cupy_sort.py", 80, 37, f"radix_sort: failed on 1st step: cudaErrorNoKernelImageForDevice: {NO_IMAGE}",
        "thrust.", "cupy-cuda12x", "14.2.0", "3cub", "sm_90", named=False,
    ),
    "faiss": App(
        "faiss", "faiss_search.py", 86, 120, f"CUDA error 209 {NO_IMAGE}", "libfaiss", "faiss-gpu-cu12", "1.14.1.post1",
        "l2NormRowMajor", "sm_80", code=-signal.SIGABRT, speaks=False,
    ),
    "onnx12": App(
        "onnx12", "onnx_relu.py", 80, 37, f"CUDA error cudaErrorNoKernelImageForDevice:{NO_IMAGE}",
        "libonnxruntime_providers_cuda.so", "onnxruntime-gpu", "1.22.0", "OP_Relu", "sm_86",
    ),
    "onnx13": App(
        "onnx13", "onnx_relu.py", 80, 70, f"CUDA error cudaErrorNoKernelImageForDevice:{NO_IMAGE}",
        "libonnxruntime_providers_cuda.so", "onnxruntime-gpu", "1.31.1", "OP_Relu", "sm_86",
    ),
    "bitsandbytes": App(  # its native code calls exit(1)
        "bitsandbytes", "bitsandbytes_quantise.py", 80, 70, f"Error {NO_IMAGE} at line",
        "libbitsandbytes_cuda13", "bitsandbytes", "0.50.2", "kQuantizeBlockwiseSmall", "sm_86",
    ),
    "xgboost": App(  # its runtime is linked statically, with names that no user knows
        "xgboost", "xgboost_train.py", 80, 37, f"parallel_for failed: cudaErrorNoKernelImageForDevice: {NO_IMAGE}",
        "libxgboost.so", "xgboost", "3.2.0", "EmptyKernel", "sm_90", named=False,
    ),
}  # fmt: skip
# Small enough to be run for every place where a driver may refuse and this runtime asks (tests/sim/README.md).
PLACES = [
    (name, place)
    for name, places in {
        "ctranslate2": ["load", "module", "modget", "all"],
        "cupy": ["load", "module", "modget", "all"],
        "faiss": ["load", "module", "modget", "launch", "all"],
        "onnx12": ["load", "module", "modget", "launch", "all"],
        "onnx13": ["load", "get", "launch", "all"],
    }.items()
    for place in places
]


def blamed(out, app, named=None):
    """The report's one failing subject is that library of that package, and the need is said."""
    failures = out.report["failures"]
    assert failures and {failure["code"] for failure in failures} == {209}
    for failure in failures:
        assert claims.base(failure["library"]).startswith(app.library), failure["library"]
        assert (failure["package"], failure["version"]) == (app.package, app.version)
        assert app.has in failure["has"] and f"sm_{app.bad}" in failure["needs"], failure
    assert any(claims.base(frame["file"]) == app.script for frame in failures[0]["python_stack"]), failures[0]
    names = [f["kernel"] for f in failures if f["kernel"]]
    candidates = [c for f in failures for c in f["candidates"]]
    assert any(app.kernel in name for name in names + ([] if named else candidates)), (names, candidates[:5])
    text = real.shown(out) if app.speaks else real.report_text(out, out.recordings[0])
    for part in (app.library, f"{app.package} {app.version}", app.has):
        assert part in text, f"{part} is not in\n{text}"
    assert "libcudart_static_" not in text, text
    assert not out.report["summary"]["healthy"]


@pytest.mark.parametrize("name", APPS)
def test_on_a_gpu_with_images_the_application_is_healthy_and_the_report_is_one_line(run, name):
    real.healthy(APPS[name].run(run, APPS[name].good))


@pytest.mark.parametrize("name", APPS)
def test_on_a_gpu_without_images_kernel_library_package_and_need_are_told(run, name):
    app = APPS[name]
    out = app.run(run, app.bad)
    assert out.code == app.code and app.says in out.stderr, out.stderr
    blamed(out, app, app.named)


@pytest.mark.parametrize("name, place", PLACES)
def test_wherever_the_driver_refuses_the_same_library_is_blamed(run, name, place):
    app = APPS[name]
    out = app.run(run, app.bad, no_image_at=place)
    assert out.code == app.code and NO_IMAGE in out.stderr, out.stderr
    blamed(out, app)


def test_a_cubin_file_for_another_gpu_is_named_with_the_kernels_in_it(run, store):
    """CuPy hands a file to the driver: there is no runtime that could know a kernel's name."""
    cubin = images.image(store, "90", ["scale"])
    arguments = (sets.python("cupy"), sets.APPS / "cupy_cubin.py", cubin, "scale")
    good = run(*arguments, sm=90, env=sets.environment("cupy"))
    assert good.code == 0 and good.report["failures"] == []
    bad = run(*arguments, sm=80, env=sets.environment("cupy"))
    assert bad.code == 1 and f"CUDA_ERROR_NO_BINARY_FOR_GPU: {NO_IMAGE}" in bad.stderr
    failure = claims.one_failure(bad.report)
    assert failure["api"] == "cuModuleLoad" and failure["candidates"] == ["scale"]
    assert (claims.base(failure["library"]), failure["has"]) == (cubin.name, ["sm_90"])
    assert "sm_80" in failure["needs"]


# ---- PyTorch and what stands on it


def train(run, name, sm, **keywords):
    return run(sets.python(name), sets.TRAIN, sm=sm, env=sets.environment(name), **keywords)


def torch_blamed(out, name, sm, library="libtorch_cuda.so"):
    version, archs = sets.torch(name)
    assert out.report["failures"]
    for failure in out.report["failures"]:
        assert failure["code"] == 209 and failure["kernel"]
        assert claims.base(failure["library"]) == library
        assert (failure["package"], failure["version"]) == ("torch", version)
        assert failure["has"] == archs and f"sm_{sm}" in failure["needs"]


def under_nokernel_run(tmp_path, sm, set_name, *arguments):
    """The same command alone and under `nokernel run`: (alone, wrapped, the report as JSON)."""
    env = conftest.environment(tmp_path, sm, 13000, None, False, sets.environment(set_name))
    arguments = [sets.python(set_name), *map(str, arguments)]
    alone = conftest.execute(arguments, env, tmp_path)
    json = tmp_path / "report.json"
    wrapped = conftest.execute([conftest.COMMAND, "run", "--json", json, "--", *arguments], env, tmp_path)
    report = conftest.json.loads(json.read_text())
    assert not list(conftest.schema().iter_errors(report))
    return alone, wrapped, report


def test_an_image_generator_under_nokernel_run_makes_its_image_and_the_report_is_one_line(tmp_path):
    alone, wrapped, report = under_nokernel_run(tmp_path, 80, "diffusers", sets.APPS / "diffusers_image.py")
    assert alone.returncode == wrapped.returncode == 0, wrapped.stderr
    assert wrapped.stdout == alone.stdout == "image (1, 16, 16, 3)\n"
    assert report["failures"] == [] and report["summary"]["launched"] > 20
    assert wrapped.stderr.count("nokernel: ") == 1


def test_an_image_generator_on_a_gpu_without_images_is_explained_by_nokernel_run(tmp_path):
    alone, wrapped, report = under_nokernel_run(tmp_path, 70, "diffusers", sets.APPS / "diffusers_image.py")
    assert (alone.returncode, alone.stdout) == (wrapped.returncode, wrapped.stdout) == (1, "")
    assert NO_IMAGE in alone.stderr and NO_IMAGE in wrapped.stderr
    failure = claims.one_failure(report)
    assert "indexSelect" in failure["kernel"]  # the embedding of the prompt
    assert (failure["package"], claims.base(failure["library"])) == ("torch", "libtorch_cuda.so")
    assert "needs sm_70" in wrapped.stderr
    assert any(entry["package"] == "nvidia-cublas" for entry in report["libraries"])  # it has no image either


def test_an_abort_is_explained_by_nokernel_run(tmp_path):
    alone, wrapped, report = under_nokernel_run(tmp_path, 120, "faiss", sets.APPS / "faiss_search.py")
    assert alone.returncode == -signal.SIGABRT and wrapped.returncode == 128 + signal.SIGABRT
    assert "l2NormRowMajor" in claims.one_failure(report)["kernel"] and "l2NormRowMajor" in wrapped.stderr


@pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
def test_pytorch_for_cuda_11_is_explained_although_no_public_driver_call_fails(run, eager):
    out = train(run, "torch-cuda11", 120, eager=eager)
    assert out.code == 1 and NO_IMAGE in out.stderr
    torch_blamed(out, "torch-cuda11", 120)
    assert "MulFunctor" in claims.one_failure(out.report)["kernel"]


def test_pytorch_for_cuda_11_on_a_supported_gpu_is_healthy(run):
    out = train(run, "torch-cuda11", 80)
    assert out.code == 0
    claims.nothing_failed(out)


def test_a_pytorch_that_swallows_the_error_and_ends_with_0_is_told_off(run):
    out = train(run, "torch-silent", 120)
    assert out.code == 0 and NO_IMAGE not in out.stderr.replace(out.text, "")
    torch_blamed(out, "torch-silent", 120, "libtorch_cuda_cu.so")
    assert "its results are wrong" in " ".join(out.text.split())


@pytest.mark.parametrize("sm", [70, 75, 80, 86])
def test_fat_binaries_made_for_single_gpus_raise_no_alarm_on_a_healthy_one(run, sm):
    """7 to 28 of torch 1.13's fat binaries hold images for one GPU only, and are refused on all others at the start."""
    out = train(run, "torch-silent", sm)
    assert out.code == 0
    claims.nothing_failed(out)


@pytest.mark.parametrize("name, bad", [("torch-cuda12", 120), ("torch-cuda13", 70)])
def test_of_two_ranks_the_one_on_the_bad_gpu_is_explained_and_the_other_is_not(run, name, bad):
    """torchrun ends the healthy rank, which waits in vain, by SIGTERM: its recording stays, and says nothing bad."""
    options = ("-m", "torch.distributed.run", "--nproc-per-node", 2)
    out = run(
        sets.python(name), *options, sets.APPS / "torchrun_ranks.py", sm=f"80,{bad}", env=sets.environment(name),
        exit_report=False,
    )  # fmt: skip
    assert out.code == 1 and out.stdout == "rank 0 added\n" and "SIGTERM" in out.stderr
    ranks = [report for report in out.reports if report["kernels"]]
    assert len(ranks) == 2
    (failed,) = [report for report in ranks if report["failures"]]
    (killed,) = [report for report in ranks if not report["failures"]]
    failure = claims.one_failure(failed)
    assert failure["gpu"] == 1 and failure["package"] == "torch" and f"sm_{bad}" in failure["needs"]
    assert killed["summary"]["launched"] == 1 and killed["summary"]["missing"] == 0


def test_two_ranks_on_good_gpus_raise_no_alarm(run):
    options = ("-m", "torch.distributed.run", "--nproc-per-node", 2)
    name = "torch-cuda13"
    out = run(
        sets.python(name), *options, sets.APPS / "torchrun_ranks.py", sm="80,80", env=sets.environment(name),
        exit_report=False, same=False,
    )  # fmt: skip
    assert out.code == 0 and sorted(out.lines) == ["rank 0 added", "rank 1 added"]
    assert all(report["failures"] == [] for report in out.reports)


@pytest.mark.parametrize("visible, sm", [("0", 80), ("1", 70)])
def test_the_gpu_that_a_process_was_given_is_the_one_that_is_judged(run, visible, sm):
    """One process a GPU, as launchers do: CUDA_VISIBLE_DEVICES makes both GPU 0 of their process."""
    name = "torch-cuda13"
    env = sets.environment(name, CUDA_VISIBLE_DEVICES=visible)
    out = run(sets.python(name), sets.TRAIN, sm="80,70", env=env)
    assert [gpu["sm"] for gpu in out.report["gpus"]] == [f"sm_{sm}"]
    assert bool(out.report["failures"]) == (sm == 70) and out.code == (sm == 70)


@pytest.mark.parametrize("sm", [80, 70])
def test_forked_workers_that_feed_the_gpu_make_no_recordings(run, sm):
    name = "torch-cuda13"
    out = run(sets.python(name), sets.APPS / "torch_loader.py", sm=sm, env=sets.environment(name), exit_report=False)
    assert len(out.recordings) == 1
    if sm == 80:
        real.healthy(out)
    else:
        torch_blamed(out, name, sm)


# ---- a refusal that somebody on the way swallowed


def test_when_pytorch_finds_no_engine_the_kernels_that_cudnn_lacks_are_named(run):
    script = sets.APPS / "torch_convolution.py"
    out = run(sets.python("cudnn"), script, sm=70, env=sets.environment("cudnn"), exit_report=False)
    assert out.code == 1 and "unable to find an engine" in out.stderr and NO_IMAGE not in out.stderr.split("nokernel:")[0]
    assert {f["package"] for f in out.report["failures"]} == {"nvidia-cudnn-cu13"}
    assert {claims.base(f["library"]) for f in out.report["failures"]} == {"libcudnn_engines_precompiled.so.9"}
    assert any("implicit_convolve" in f["kernel"] for f in out.report["failures"])
    assert all("sm_70" in f["needs"] for f in out.report["failures"])
    assert "nvidia-cudnn-cu13 9.26.0.51" in real.shown(out)


def test_a_convolution_on_a_supported_gpu_raises_no_alarm(run):
    script = sets.APPS / "torch_convolution.py"
    real.healthy(run(sets.python("cudnn"), script, sm=80, env=sets.environment("cudnn"), exit_report=False))


def test_when_cusparse_cannot_start_the_kernel_that_it_asked_for_is_named(run):
    script = sets.APPS / "torch_sparse.py"
    out = run(sets.python("cusparse"), script, sm=70, env=sets.environment("cusparse"), exit_report=False)
    assert out.code == 1 and "initialization error when calling `cusparseCreate(handle)`" in out.stderr
    assert out.report["failures"] == []  # it was a query, not a launch
    (probe,) = out.report["probes"]
    assert (probe["package"], probe["code"]) == ("nvidia-cusparse", 209) and "empty_kernel" in probe["kernel"]
    text = real.shown(out)
    assert "empty_kernel" in text and "nvidia-cusparse 12.7.10.12" in text and "needs sm_70" in text


def test_a_sparse_product_on_a_supported_gpu_raises_no_alarm(run):
    script = sets.APPS / "torch_sparse.py"
    real.healthy(run(sets.python("cusparse"), script, sm=80, env=sets.environment("cusparse"), exit_report=False))


def nonzero(run):
    """nonzero() of torch 2.1 asks for a kernel, is refused, and answers all the same."""
    script = sets.APPS / "torch_nonzero.py"
    out = run(sets.python("torch-cuda12"), script, sm=120, env=sets.environment("torch-cuda12"))
    assert out.code == 0 and out.stdout == "answered\n"
    return out


def test_refused_queries_whose_answer_nobody_heeded_are_recorded(run):
    probes = nonzero(run).report["probes"]
    assert probes and all(p["package"] == "torch" and "EmptyKernel" in p["kernel"] for p in probes)


def test_refused_queries_of_a_library_that_has_nothing_for_the_gpu_are_told(run):
    out = nonzero(run)
    assert "libtorch_cuda.so" in out.text, out.text
