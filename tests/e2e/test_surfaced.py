"""What caused an error, where it surfaced, and what was only asked: across calls, threads and libraries."""

import pytest

import claims
from fixtures import programs, toolkit

pytestmark = pytest.mark.sanitized
GOOD, BAD = ["80"], ["90"]
SHARED = ["11.8", "12.1", "12.4", "12.9", "13.0", "13.5"]


@pytest.fixture
def halves(run, store):
    """halves(version, step, ...): two libraries of one runtime, libfirst.so and libsecond.so; see two_halves.c."""
    def start(version, *steps, b=BAD, **more):
        kernels = programs.kernels(store, GOOD, b, style=programs.style_of(version))
        libraries = [
            programs.linked(store, f"lib{name}.so", [programs.compiled(store, "half.c"), *kernels],
                            toolkit.runtime_flags(version, False), shared=True) for name in ("first", "second")]
        app = programs.linked(store, "two_halves", [programs.compiled(store, "two_halves.c")], ["-ldl", "-lpthread"])
        return run(app, *libraries, *steps, **more)
    return start


def words(out):
    return " ".join(out.text.split())


@pytest.mark.parametrize("version", SHARED)
def test_an_error_left_by_one_library_and_read_by_another_names_both(halves, version):
    out = halves(version, "1:launch b", "2:launch a", "say 2:read")
    assert out.lines == ["2:read 209"]
    failure = claims.missing(out, claims.B, "libfirst.so")
    surfaced = failure["surfaced"]
    assert claims.base(failure["called_by"]) == "libfirst.so"
    assert (surfaced["api"], surfaced["later"], claims.base(surfaced["library"])) == (
        "cudaGetLastError", True, "libsecond.so"), surfaced
    assert "read cudaGetLastError, called by libsecond.so, after other work: what stood there had not failed" in words(out)
    claims.launched(out.report, claims.A, 1)


@pytest.mark.parametrize("version", SHARED)
def test_an_error_that_another_library_reads_at_once_is_still_told_apart(halves, version):
    out = halves(version, "1:launch b", "say 2:peek")
    failure = claims.missing(out, claims.B, "libfirst.so")
    assert (failure["surfaced"]["api"], claims.base(failure["surfaced"]["library"])) == (
        "cudaPeekAtLastError", "libsecond.so")
    assert "called by libsecond.so" in words(out)


@pytest.mark.parametrize("version", SHARED)
def test_a_sticky_error_of_one_thread_that_another_is_told_is_pinned_to_the_launch(halves, version):
    out = halves(version, "1:launch b", "thread say 2:sync", "say 2:sync", b=GOOD,
                 env={"SIM_FAIL": "cuLaunchKernel@1=700"})
    assert "2:sync 700" in out.lines
    failure = claims.failed(out.report, claims.B, 700, "libfirst.so")
    surfaced = failure["surfaced"]
    assert surfaced["later"] and claims.base(surfaced["library"]) == "libsecond.so", surfaced
    assert failure["class"] == "other"


@pytest.mark.parametrize("version", SHARED)
def test_a_probe_that_leaves_its_error_is_told_with_its_library_and_no_launch_is_blamed(halves, version):
    out = halves(version, "1:ask b", "2:launch a", "say 2:read")
    assert out.lines == ["2:read 209"]
    assert (out.report["failures"], claims.missing_count(out.report)) == ([], 0)
    probe, = out.report["probes"]
    assert (probe["kernel"], claims.base(probe["called_by"])) == (claims.B, "libfirst.so"), probe
    assert claims.base(probe["surfaced"]["library"]) == "libsecond.so"
    said = words(out)
    assert said.startswith("nokernel: no launch failed, but the program read the error of a refused query")
    assert "asked by libfirst.so" in said, out.text
    assert "called by libsecond.so, after other work: what stood there had not failed" in said


@pytest.mark.parametrize("version", SHARED)
def test_a_probe_that_is_coped_with_is_listed_as_harmless_and_the_run_is_healthy(halves, version):
    out = halves(version, "1:ask b", "1:read", "2:launch a", "say 2:read")
    assert out.lines == ["2:read 0"]
    assert out.report["summary"]["healthy"] and out.report["summary"]["probes"] == 1
    claims.nothing_failed(out)


@pytest.mark.parametrize("version", SHARED)
def test_beside_a_real_failure_a_probe_is_listed_apart(halves, version):
    out = halves(version, "1:ask b", "1:read", "2:launch b", "say 2:read")
    assert out.lines == ["2:read 209"]
    claims.missing(out, claims.B, "libsecond.so")
    assert "asked and refused (queries: no failure by themselves)" in words(out)
    assert [claims.base(p["called_by"]) for p in out.report["probes"]] == ["libfirst.so"]


@pytest.mark.parametrize("version,static", [(v, False) for v in SHARED] + [("12.9", True), ("13.5", True)])
def test_a_failed_launch_that_nobody_reads_and_an_end_with_0_mean_wrong_results(run, program, version, static):
    out = run(program("never_reads_error", version, GOOD, BAD, static=static))
    assert out.code == 0
    if static:  # whether the error was read cannot be seen
        assert "The program went on and ended with 0: check its results." in words(out)
    else:
        assert "never read this error and ended with 0: its results are wrong." in words(out)


@pytest.mark.parametrize("version", SHARED)
def test_two_failures_that_surface_in_turn_are_two(halves, version):
    """The error of the second library is not taken for the first one's coming back."""
    out = halves(version, "1:launch b", "1:read", "2:launch b", "2:launch a", "say 2:read")
    libraries = sorted(claims.base(f["called_by"]) for f in out.report["failures"])
    assert libraries == ["libfirst.so", "libsecond.so"], out.report["failures"]
    second, = [f for f in out.report["failures"] if claims.base(f["called_by"]) == "libsecond.so"]
    assert second["surfaced"]["later"] and claims.base(second["surfaced"]["library"]) == "libsecond.so"


def test_an_error_after_a_reset_is_a_new_failure_and_none_that_comes_back(run, program):
    out = run(program("trail_ends", "12.4", GOOD, GOOD, more=["-lpthread", "-ldl"]), "reset",
              env={"SIM_FAIL": "cuLaunchKernel@1=700,cuLaunchKernel@4=700"})
    assert [line for line in out.lines if line.endswith(" 700")] == ["a 700", "b 700", "sync 700", "b 700", "sync 700"]
    assert sorted(f["kernel"] for f in out.report["failures"]) == [claims.A, claims.B], out.report["failures"]
