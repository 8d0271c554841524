"""Questions that only a real driver answers. Not yet run: no machine of ours has a GPU (see README.md)."""

import pytest

RUNTIMES = ["11.8", "12.1", "12.4", "12.9", "13.0", "13.5"]


def other(sm):
    """An architecture whose cubins do not run on this GPU."""
    return "80" if sm // 10 != 8 else "90"


@pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_kernel_without_an_image_is_named_whichever_call_refuses_it(run, program, sm, runtime, eager):
    out = run(program("launches", runtime, a=[str(sm)], b=[other(sm)]), "b", eager=eager)
    failure = out.report["failures"][0]
    print(f"\n{runtime} {'EAGER' if eager else 'LAZY'}: {failure['api']} returned {failure['code']}")
    assert (failure["kernel"], failure["code"]) == ("_Z3k_bPf", 209)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_kernel_with_an_image_runs_under_the_library_as_without(run, program, sm, runtime):
    out = run(program("launches", runtime, a=[str(sm)], b=[other(sm)]), "a")
    assert not out.report["failures"] and len(out.text.splitlines()) == 1


def test_ptx_alone_is_compiled_by_the_driver(run, program, sm):
    out = run(program("launches", "12.9", a=["ptx50"], b=[other(sm)]), "a")
    assert not out.report["failures"]


def test_ptx_with_jit_switched_off_is_refused_with_223(run, program, sm):
    out = run(program("launches", "12.9", a=[str(sm)], b=["ptx50"]), "b", env={"CUDA_DISABLE_PTX_JIT": "1"})
    print(f"\nrefused with {out.report['failures'][0]['code']}")
    assert out.report["failures"][0]["code"] == 223


def test_the_probes_kernel_is_compiled_and_computes(sm, command):
    """The PTX is of version 3.2 for sm_20: does every driver still compile it, for this GPU?"""
    done = command("probe", "--json", "--gpu", "0")
    print(f"\n{done.stdout}")
    assert done.returncode == 0


def test_two_threads_one_of_which_captures_are_not_disturbed(run, program, sm):
    out = run(program("threads", "13.0", a=[str(sm)], b=[other(sm)]), "a")
    assert not out.report["failures"]
