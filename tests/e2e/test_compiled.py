"""Code that was compiled at run time has no file: the report names who loaded or linked it, and what it was made for."""

import pytest

import claims
from conftest import SIM
from fixtures import images, programs, toolkit

pytestmark = pytest.mark.sanitized
A = claims.A


def links(store):
    return programs.linked(store, "driver_links", [programs.compiled(store, "driver_links.c")],
                           [f"-L{SIM}", "-l:libcuda.so.1"])


def words(out):
    return " ".join(out.text.split())


def refused(out, by):
    """The one failure: 209 for something that library or program loaded. Its kernel is among the candidates."""
    failure = claims.one_failure(out.report)
    assert (failure["kind"], failure["code"], failure["candidates"]) == ("load", 209, [A]), failure
    assert claims.base(failure["loaded_by"]) == by, failure
    return failure


# ---- modules from memory
@pytest.mark.parametrize("word,target", [("90", "sm_90"), ("ptx90", "PTX compute_90"), ("90a", "sm_90a")])
def test_a_module_from_memory_is_told_with_who_loaded_it_and_its_target(run, store, word, target):
    library = programs.linked(store, "libjit.so", [programs.compiled(store, "loads_memory.c", "-DSHARED")],
                              [f"-L{SIM}", "-l:libcuda.so.1"], shared=True)
    app = programs.linked(store, "loads_memory", [programs.compiled(store, "loads_memory.c")], ["-ldl"])
    out = run(app, library, images.image(store, word, [A]), A, sm=80)
    failure = refused(out, "libjit.so")
    assert failure["api"] == "cuModuleLoadData", failure
    assert "FAILED a module that libjit.so loaded" in words(out)
    assert "memory, not a file; loaded by" in words(out)
    if word.startswith("ptx"):
        assert "its PTX is for a newer GPU" in words(out)
    elif word == "90":
        assert f"compiled for {target}, this GPU is sm_80" in words(out)
    assert target in words(out)


def lying(store):
    """PTX for sm_90a, and a header that says 90: as TensorFlow 2.16 to 2.20 carry it for each generated kernel."""
    text = images.image(store, "ptx90a", [A])
    return store.make(f"lying {text}", "lying.fatbin", lambda path: toolkit.tool(
        [toolkit.FATBINARY, "-64", f"--create={path}", f"--image3=kind=elf,sm=80,file={images.image(store, '80', [A])}",
         f"--image3=kind=ptx,sm=90,file={text}"]))


def test_ptx_whose_text_is_for_another_gpu_than_its_header_says_is_told_by_its_text(run, store):
    library = programs.linked(store, "libjit.so", [programs.compiled(store, "loads_memory.c", "-DSHARED")],
                              [f"-L{SIM}", "-l:libcuda.so.1"], shared=True)
    app = programs.linked(store, "loads_memory", [programs.compiled(store, "loads_memory.c")], ["-ldl"])
    out = run(app, library, lying(store), A, sm=120)
    failure = claims.one_failure(out.report)
    assert (failure["code"], failure["has"]) == (218, ["sm_80", "compute_90a@8.0"]), failure
    assert (failure["class"], failure["reason"], failure["contradiction"]) == ("missing-image", "arch-specific", False), failure
    assert "why it is made for exactly one architecture" in words(out)
    assert "has sm_80, PTX compute_90a" in words(out)


def test_the_launch_of_a_kernel_that_was_refused_before_is_where_the_refusal_surfaced(run, store):
    """TensorFlow does not look at the refusal and launches nothing: "invalid handle" is all that its user reads."""
    app = programs.linked(store, "launches_nothing", [programs.compiled(store, "launches_nothing.c")],
                          [f"-L{SIM}", "-l:libcuda.so.1"])
    out = run(app, images.image(store, "90", [A]), A)
    assert out.lines[2:] == ["load 209", "launch 400", "load 209", "launch 400"]
    failure = refused(out, "launches_nothing")
    assert failure["count"] == 2 and failure["surfaced"]["api"] == "cuLaunchKernel", failure
    assert failure["surfaced"]["code"] == 400, failure
    assert "read cuLaunchKernel of no kernel, as 400 CUDA_ERROR_INVALID_HANDLE" in words(out)


def test_the_launch_of_nothing_is_a_failure_of_its_own_where_nothing_was_refused(run, store):
    app = programs.linked(store, "launches_nothing", [programs.compiled(store, "launches_nothing.c")],
                          [f"-L{SIM}", "-l:libcuda.so.1"])
    out = run(app, images.image(store, "80", [A]), A)
    assert out.lines[2:] == ["load 0", "launch 0", "launch 400"]
    assert (claims.one_failure(out.report)["api"], claims.one_failure(out.report)["code"]) == ("cuLaunchKernel", 400)


# ---- the driver's linker
@pytest.mark.parametrize("how", ["data", "file", "freed"])
def test_a_link_that_works_is_no_news(run, store, how):
    out = run(links(store), how, 0, images.image(store, "80", [A]), A)
    assert out.lines[2:] == ["create 0", "add 0", "complete 0", "load 0", f"{A} 0", "launch 0", "destroy 0"]
    claims.nothing_failed(out)
    claims.launched(out.report, A, 1)


@pytest.mark.parametrize("how", ["data", "file", "freed"])
@pytest.mark.parametrize("kind,word", [(0, "90"), (1, "ptx90")])
def test_an_input_that_the_linker_refuses_is_named(run, store, how, kind, word):
    image = images.image(store, word, [A])
    out = run(links(store), how, kind, image, A)
    assert out.lines[-1] == "add 209"
    failure = refused(out, "driver_links")
    assert failure["api"] == ("cuLinkAddFile_v2" if how == "file" else "cuLinkAddData_v2"), failure
    assert "FAILED an input that driver_links gave to the driver's linker" in words(out)
    assert ("sm_90" if kind == 0 else "compute_90") in words(out)
    if how == "file":
        assert image.name in words(out)
    elif kind == 0:
        assert "compiled for sm_90, this GPU is sm_80" in words(out)


@pytest.mark.parametrize("code", [200, 209, 218, 221, 222, 223, 300])
def test_a_link_that_fails_at_its_end_names_its_input(run, store, code):
    out = run(links(store), "freed", 1, images.image(store, "ptx75", [A]), A,
              env={"SIM_FAIL": f"cuLinkComplete={code}"})
    assert out.lines[-1] == f"complete {code}"
    failure = claims.one_failure(out.report)
    assert (failure["api"], failure["code"]) == ("cuLinkComplete", code), failure
    assert "gave to the driver's linker" in words(out) and "compute_75" in words(out)


def test_of_several_inputs_the_one_that_cannot_run_here_is_named(run, store):
    """The simulated driver refuses such an input at once; a real one may wait for the end of the link."""
    good, bad = images.image(store, "ptx75", [A]), images.image(store, "ptx75:9.0", [A])
    out = run(links(store), "data", 1, good, A, bad, driver=12080)
    assert out.lines[-1] == "add 222"
    assert "compute_75 (ISA 9.0)" in words(out)


def test_a_missing_compiler_is_told_where_the_link_begins(run, store):
    out = run(links(store), "data", 1, images.image(store, "ptx75", [A]), A, env={"SIM_FAIL": "cuLinkCreate=221"})
    failure = claims.one_failure(out.report)
    assert (failure["api"], failure["code"]) == ("cuLinkCreate_v2", 221), failure
    assert "libnvidia-ptxjitcompiler.so.1, was not found" in words(out)
