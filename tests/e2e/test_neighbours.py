"""Results that are near 209, and results that are not: each with its own reason, and none called a missing image that is
none. The simulated driver returns them where SIM_FAIL says."""

import pytest

import claims
from conftest import SIM
from fixtures import images, programs

GOOD = ["80"]
A = claims.A
# What a driver means by them, in words of the report.
MEANS = {
    98: "does not hold this kernel",
    200: "the driver cannot read the image",
    218: "the driver's compiler refused the PTX",
    221: "libnvidia-ptxjitcompiler.so.1, was not found",
    300: "cannot compile or read what it was given",
    500: "no kernel of that name is in the image",
}
OTHERS = [2, 700, 719]


def words(out):
    return " ".join(out.text.split())


def linked(store):
    return programs.linked(store, "driver_linked", [programs.compiled(store, "driver_linked.c")],
                           [f"-L{SIM}", "-l:libcuda.so.1"])


@pytest.mark.parametrize("code", [200, 218, 221, 300])
@pytest.mark.parametrize("how,call", [("data", "cuModuleLoadData"), ("library", "cuLibraryLoadData"),
                                      ("fatbinary", "cuModuleLoadFatBinary"), ("module", "cuModuleLoad")])
def test_a_load_that_is_refused_for_its_own_reason_says_it(run, store, how, call, code):
    out = run(linked(store), how, images.image(store, "80", [A]), A, env={"SIM_FAIL": f"{call}={code}"})
    failure = claims.one_failure(out.report)
    assert (failure["api"], failure["code"]) == (call, code), failure
    assert MEANS[code] in words(out)
    assert "has no image" not in words(out) and "have no image" not in words(out), out.text


@pytest.mark.parametrize("code", [98, 200, 218, 221, 500])
@pytest.mark.parametrize("version,static", [("12.4", False), ("12.9", True), ("13.5", False), ("13.5", True)])
def test_a_launch_that_is_refused_for_its_own_reason_says_it(run, program, version, static, code):
    out = run(program("launches", version, GOOD, GOOD, static=static), "a", "b",
              env={"SIM_FAIL": f"cuLaunchKernel@2={code}"})
    assert f"b {code}" in out.lines
    failure = claims.failed(out.report, claims.B, code, "launches")
    assert failure["kind"] == "launch"
    assert MEANS[code] in words(out)
    assert "has no usable image" in out.text.splitlines()[0], out.text


@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize("call", ["cuLaunchKernel", "cuModuleLoadData", "cuLibraryLoadData", "cuModuleGetFunction",
                                  "cuLibraryGetKernel", "cuLinkComplete"])
def test_an_error_of_another_kind_is_pinned_and_never_called_a_missing_image(run, store, call, code):
    if call == "cuLinkComplete":
        app = programs.linked(store, "driver_links", [programs.compiled(store, "driver_links.c")],
                              [f"-L{SIM}", "-l:libcuda.so.1"])
        arguments = ["data", 1, images.image(store, "ptx75", [A]), A]
    else:
        app = linked(store)
        arguments = ["library" if "Library" in call else "data", images.image(store, "80", [A]), A]
    out = run(app, *arguments, env={"SIM_FAIL": f"{call}={code}"})
    failure = claims.one_failure(out.report)
    assert (failure["api"], failure["code"], failure["class"]) == (call, code, "other"), failure
    assert claims.missing_count(out.report) == 0
    assert "not for want of an image" in out.text.splitlines()[0]
    assert "no image" not in out.text and "usable image" not in out.text


@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize("version,static", [("11.8", False), ("12.4", False), ("13.5", True)])
def test_a_launch_through_a_runtime_that_fails_otherwise_is_no_missing_image(run, program, version, static, code):
    out = run(program("launches", version, GOOD, GOOD, static=static), "a", "b",
              env={"SIM_FAIL": f"cuLaunchKernel@2={code}"})
    failure = claims.failed(out.report, claims.B, code, "launches")
    assert failure["class"] == "other"
    assert (claims.missing_count(out.report), out.report["summary"]["other"]) == (0, 1)


@pytest.mark.parametrize("version,static", [("11.8", False), ("12.4", False), ("12.9", True), ("13.5", False), ("13.5", True)])
def test_a_kernel_whose_ptx_may_not_be_compiled_is_told_with_the_setting(run, program, version, static):
    """223: nothing is missing, the user has switched the driver's compiler off."""
    out = run(program("launches", version, ["80"], ["ptx80"], static=static), "a", "b", env={"CUDA_DISABLE_PTX_JIT": "1"})
    assert out.lines[:2] == ["a 0", "b 223"]
    failure = claims.failed(out.report, claims.B, 223, "launches", knowable=claims.knows_name(version, static))
    assert (failure["reason"], failure["contradiction"]) == ("jit-disabled", False), failure
    assert "CUDA_DISABLE_PTX_JIT" in words(out)


def test_a_damaged_image_is_said_to_be_damaged(run, store, tmp_path):
    """Not only what the driver says: the file itself is cut in the middle."""
    whole = images.container(store, ["80"], [A]).read_bytes()
    path = tmp_path / "cut.fatbin"
    path.write_bytes(whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2))
    out = run(linked(store), "fatbinary", path, A, env={"SIM_FAIL": "cuModuleLoadFatBinary=200"})
    failure = claims.one_failure(out.report)
    assert (failure["code"], failure["class"]) == (200, "other"), failure
    assert "damaged" in words(out)


def test_a_sticky_error_that_a_load_returns_again_is_not_a_second_failure(run, store):
    """700 comes out of a launch; what is loaded afterwards did not fail by itself."""
    out = run(linked(store), "data", images.image(store, "80", [A]), A, A,
              env={"SIM_FAIL": "cuLaunchKernel@1=700,cuModuleGetFunction@2=700"})
    failure = claims.one_failure(out.report)
    assert (failure["api"], failure["code"]) == ("cuLaunchKernel", 700), failure
    assert failure["surfaced"]["api"] == "cuModuleGetFunction", failure


@pytest.mark.parametrize("time", range(6))
def test_what_a_runtime_loads_beside_the_wanted_kernel_is_not_blamed_for_it(run, program, time):
    """11.8 loads what it cannot load lazily in one go, in an order that is another one in each process."""
    out = run(program("launches", "11.8", ["ptx80"], ["90"]), "a", driver=11070)
    assert "a 200" in out.lines
    failure = claims.one_failure(out.report)
    assert (failure["kernel"], failure["code"]) == (A, 200), failure
    assert failure["has"] and failure["has"][0].startswith("compute_80"), failure
