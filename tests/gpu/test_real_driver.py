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


# ---- NOKERNEL_SYNC=trail, captures and graphs
TRAIL = {"NOKERNEL_SYNC": "trail"}


@pytest.mark.parametrize("runtime", ["11.8", "12.4", "13.0"])
def test_the_markers_of_the_trail_are_accepted_and_change_nothing(run, program, sm, runtime):
    """The same output with and without; `run` compares them."""
    app = program("many_streams", runtime, [str(sm)], [str(sm)], more=["-lpthread"])
    for how in ("streams", "threads", "own"):
        assert not run(app, how, 8, env=TRAIL).report["failures"]


@pytest.mark.parametrize("who", ["own", "other", "legacy", "forked"])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("sync", ["launch", "trail"])
def test_captures_survive_in_every_mode(run, program, sm, who, mode, sync):
    run(program("captures_modes", "13.0", [str(sm)], [str(sm)], more=["-lpthread"]), who, mode, env={"NOKERNEL_SYNC": sync})


@pytest.mark.parametrize("how", ["destroy", "reset", "context", "release", "pool"])
def test_streams_and_contexts_that_end_leave_no_marker_behind(run, program, sm, how):
    """A marker into the memory of a context that is gone would be an illegal address."""
    assert not run(program("trail_ends", "13.0", [str(sm)], [str(sm)]), how, env=TRAIL).report["failures"]


@pytest.mark.parametrize("sync", ["launch", "trail"])
def test_the_launch_with_an_illegal_address_is_found(run, program, sm, store, sync):
    """tests/apps/faults.cu: kernels good, bad, good; bad writes to address 8."""
    from fixtures import programs, toolkit
    source = programs.nvcc(store, f"-arch=sm_{sm}", "-c", sources=("faults.cu",), name="faults.o")
    app = programs.linked(store, "faults", [source], toolkit.runtime_flags("13.5", False))
    out = run(app, env={"NOKERNEL_SYNC": sync}, same=sync == "trail")
    failure = out.report["failures"][0]
    print(f"\n{sync}: {failure['api']} returned {failure['code']}: {failure['kernel']}, {failure['pinned']}")
    assert "bad" in (failure["kernel"] or "") and failure["code"] == 700


@pytest.mark.parametrize("how", ["nodes", "child", "set", "update", "fork", "nested", "conditional"])
def test_the_kernels_of_a_graph_are_known_by_the_handles_that_the_driver_gives(run, program, sm, how):
    """Does cuGraphKernelNodeGetParams give the handles that were launched? Seen in a launch of the graph that is refused: not
    to be had on a healthy driver, so this only asserts that nothing is disturbed; the names need a graph that faults."""
    run(program("launches_graph", "12.4", [str(sm)], [str(sm)], more=["-ldl"]), how, env=TRAIL)
