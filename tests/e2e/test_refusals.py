"""What is a failure and what is not: probes, start-up refusals, errors that surface late, errors nobody reads."""

import pytest

import claims
from conftest import SIM
from fixtures import images, programs, toolkit

GOOD, BAD = ["80"], ["90"]
VARIANTS = [pytest.param(v, s, id=f"{v}-{'static' if s else 'shared'}")
            for v, (_, _, has_static) in toolkit.RUNTIMES.items() for s in ([False, True] if has_static else [False])]
EAGER = pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])


@EAGER
@pytest.mark.parametrize("version,static", VARIANTS)
def test_a_healthy_run_is_one_line(run, program, version, static, eager):
    out = run(program("launches", version, GOOD, GOOD, static=static), "a", "b", "a", eager=eager)
    claims.nothing_failed(out)
    claims.launched(out.report, claims.A, 2)
    claims.launched(out.report, claims.B, 1)


@EAGER
@pytest.mark.parametrize("version,static", VARIANTS)
def test_a_misfit_that_is_never_used_is_no_failure(run, program, version, static, eager):
    """EAGER runtimes before 13 are refused each misfit at their start; nobody launched it."""
    out = run(program("launches", version, GOOD, BAD, static=static), "a", "a", eager=eager)
    claims.nothing_failed(out)
    claims.launched(out.report, claims.A, 2)


@pytest.mark.parametrize("how", ["attributes", "occupancy", "limit"])
@pytest.mark.parametrize("version,static", VARIANTS)
def test_a_refused_query_is_a_probe_and_not_a_failure(run, program, version, static, how):
    out = run(program("probes", version, GOOD, BAD, static=static), how, "a", "b")
    assert out.lines == ["a 0", "b 209"]
    if not claims.knows_name(version, static):
        # The driver is asked for the fat binary only: a query and a launch look the same to everybody outside.
        assert claims.failed(out.report, claims.B, 209, "probes", knowable=False)["kind"] == "lookup"
        return
    assert out.report["failures"] == []
    assert len(out.report["probes"]) == 1, out.report["probes"]
    probe = out.report["probes"][0]
    assert (probe["kernel"], probe["code"], claims.base(probe["library"])) == (claims.B, 209, "probes")
    assert claims.missing_count(out.report) == 0


ASKED = {"function": "cuKernelGetFunction", "kernel-attribute": "cuKernelGetAttribute", "kernel-limit": "cuKernelSetAttribute",
         "attribute": "cuFuncGetAttribute", "limit": "cuFuncSetAttribute", "occupancy": "cuOccupancyMaxActiveBlocksPerMultiprocessor",
         "block-size": "cuOccupancyMaxPotentialBlockSize", "shared": "cuOccupancyAvailableDynamicSMemPerBlock"}


@pytest.mark.parametrize("how,symbol", ASKED.items())
def test_a_refused_query_of_the_driver_is_a_probe_and_the_run_is_healthy(run, store, how, symbol):
    """The program goes on with another kernel."""
    app = programs.linked(store, "asks_driver", [programs.compiled(store, "asks_driver.c")], [f"-L{SIM}", "-l:libcuda.so.1"])
    files = [images.container(store, words, [claims.A]) for words in (BAD, GOOD)]
    out = run(app, how, claims.A, *files)
    assert "ask 209" in out.lines and out.lines[-2:] == ["launch 0", "sync 0"]
    probe, = out.report["probes"]
    assert (probe["api"], probe["kernel"], probe["code"], claims.base(probe["called_by"])) == (symbol, claims.A, 209, "asks_driver")
    claims.nothing_failed(out)
    assert out.report["summary"]["healthy"]
    assert out.text.endswith(" an image for this GPU (sm_80); asked and refused, harmless: 1 query\n")


@pytest.mark.parametrize("version,static", VARIANTS)
def test_an_error_read_after_an_innocent_launch_is_pinned_to_the_launch_that_failed(run, program, version, static):
    out = run(program("reads_error_later", version, GOOD, BAD, static=static))
    assert out.lines[-1] == "a 209"
    failure = claims.missing(out, claims.B, "reads_error_later", knowable=claims.knows_name(version, static))
    claims.launched(out.report, claims.A, 1)
    if not static:
        assert failure["surfaced"]["api"] == "cudaGetLastError", failure


@pytest.mark.parametrize("version,static", VARIANTS)
def test_an_error_that_nobody_reads_is_reported_though_the_program_ends_well(run, program, version, static):
    out = run(program("never_reads_error", version, GOOD, BAD, static=static))
    assert (out.code, out.lines) == (0, ["done"])
    failure = claims.missing(out, claims.B, "never_reads_error", knowable=claims.knows_name(version, static))
    assert not failure.get("surfaced"), failure


@pytest.mark.parametrize("version", [v for v in toolkit.RUNTIMES])
def test_the_error_of_a_swallowed_probe_is_not_blamed_on_the_next_launch(run, program, version):
    """The error that the program reads after launching a was left behind by a query about b: the report says so."""
    out = run(program("probe_leaves_error", version, GOOD, BAD))
    assert out.lines == ["a 209"]
    claims.launched(out.report, claims.A, 1)
    about = out.report["failures"] + out.report["probes"]
    assert [(p["kernel"], p["code"]) for p in about] == [(claims.B, 209)], about
    assert about[0]["surfaced"]["api"] == "cudaGetLastError"
    assert claims.B in out.text or "k_b" in out.text


@pytest.mark.parametrize("app", ["launches_cooperative", "launches_ex", "adds_graph_nodes", "captures"])
@pytest.mark.parametrize("version,static", VARIANTS)
def test_every_way_of_launching_names_its_kernel(run, program, app, version, static):
    out = run(program(app, version, GOOD, BAD, static=static), "a", "b")
    assert "a 0" in out.lines and "b 209" in out.lines
    if (app, version, static) == ("adds_graph_nodes", "13.0", True):
        # The driver hears the same single call as for cudaFuncGetAttributes.
        assert [p["kernel"] for p in out.report["probes"]] == [claims.B]
        return
    claims.missing(out, claims.B, app, knowable=claims.knows_name(version, static))


@pytest.mark.parametrize("version,static", VARIANTS)
def test_launches_of_a_per_thread_stream_build_are_seen(run, program, version, static):
    """-default-stream per-thread: the runtime's and the driver's functions are their _ptsz variants."""
    out = run(program("launches", version, GOOD, BAD, static=static, style="PER_THREAD"), "a", "b", "a")
    claims.launched(out.report, claims.A, 2)
    claims.missing(out, claims.B, "launches", knowable=claims.knows_name(version, static))


def test_the_private_table_of_11_can_be_left_alone(run, program):
    """NOKERNEL_PRIVATE_SLOTS=off: what a shared runtime tells is enough for the name."""
    out = run(program("launches", "11.8", GOOD, BAD), "a", "b", env={"NOKERNEL_PRIVATE_SLOTS": "off"})
    claims.missing(out, claims.B, "launches")


@pytest.mark.parametrize("version,driver", [("11.8", 11040), ("11.8", 11080), ("12.1", 12010), ("12.4", 12020),
                                            ("12.9", 12090), ("13.0", 13000), ("13.5", 13020)])
def test_drivers_older_and_newer_than_the_runtime_are_read_alike(run, program, version, driver):
    out = run(program("launches", version, GOOD, BAD), "a", "b", "a", driver=driver)
    assert out.lines[:3] == ["a 0", "b 209", "a 0"]
    claims.launched(out.report, claims.A, 2)
    claims.missing(out, claims.B, "launches")
    assert out.report["gpus"][0]["cuda"] == f"{driver // 1000}.{driver % 1000 // 10}"


@pytest.mark.parametrize("lacks", ["cuStreamIsCapturing", "cuDeviceGetName",
                                   "cuThreadExchangeStreamCaptureMode", "cuDeviceTotalMem", "cuGetExportTable"])
def test_a_driver_that_lacks_a_function_that_we_would_ask_costs_nothing(run, program, lacks):
    out = run(program("launches", "12.4", GOOD, BAD), "a", "b", env={"SIM_LACKS": lacks})
    if "b 209" in out.lines:  # else the runtime itself could not do without it
        claims.missing(out, claims.B, "launches")


@pytest.mark.parametrize("version,static", [v for v in VARIANTS if v.values[0] not in ("11.8",)])
@pytest.mark.parametrize("style", ["OLD_STYLE", "NEW_STYLE"])
def test_both_styles_of_launch_code_are_seen(run, program, version, static, style):
    """Up to nvcc 12 <<<>>> calls cudaLaunchKernel, from 13 on __cudaGetKernel and __cudaLaunchKernel."""
    out = run(program("launches", version, GOOD, BAD, static=static, style=style), "a", "b", "a")
    claims.launched(out.report, claims.A, 2)
    claims.missing(out, claims.B, "launches", knowable=claims.knows_name(version, static))


@EAGER
@pytest.mark.parametrize("version,static", VARIANTS)
def test_the_gpu_that_lacks_the_kernel_is_named(run, program, version, static, eager):
    out = run(program("two_gpus", version, GOOD, ["80", "90"], static=static), "a", "b", sm="80,90", eager=eager)
    assert out.lines[0] == "gpus 2"
    assert [g["sm"] for g in out.report["gpus"]] == ["sm_80", "sm_90"]
    assert [line for line in out.lines if line[0] in "ab"][:2] == ["a 0", "b 0"]
    failure = claims.one_failure(out.report)
    assert failure["gpu"] == 1, failure
    assert failure["kernel"] == claims.A or not claims.knows_name(version, static), failure
