"""Which launch really failed: errors of the GPU come late, and are read later still.

The simulated driver lets a launch succeed and its work fail (SIM_FAIL=...~CODE); the next call that waits is told.
"""

import time

import pytest

import claims
from fixtures import toolkit

GOOD = ["80"]
LATE = {"SIM_FAIL": "cuLaunchKernel@2~700"}  # the second launch ends with an illegal address
VARIANTS = [pytest.param(v, s, id=f"{v}-{'static' if s else 'shared'}")
            for v, (_, _, has_static) in toolkit.RUNTIMES.items() for s in ([False, True] if has_static else [False])]


@pytest.mark.parametrize("version,static", VARIANTS)
def test_the_launch_whose_work_failed_is_named(run, program, version, static):
    """Each launch is waited for, so the error comes at the launch that caused it instead of at the end."""
    out = run(program("launches", version, GOOD, GOOD, static=static), "a", "b", "a", env=LATE, same=False)
    assert "a 0" in out.lines and "b 700" in out.lines
    failure = out.report["failures"][0]
    assert (failure["kernel"], failure["code"], failure["pinned"]) == (claims.B, 700, "synchronised"), failure
    assert failure["native_stack"]
    assert claims.missing_count(out.report) == 0
    assert "k_b" in out.text


@pytest.mark.parametrize("version,static", VARIANTS)
def test_without_waiting_the_program_is_told_when_it_would_have_been(run, program, version, static):
    """NOKERNEL_SYNC=off: nothing is waited for, the error shows where the program waits, and no kernel is accused."""
    out = run(program("launches", version, GOOD, GOOD, static=static), "a", "b", env={**LATE, "NOKERNEL_SYNC": "off"})
    assert out.lines == ["a 0", "b 0", "last 0", "sync 700", "free 700"]
    failure = out.report["failures"][0]
    assert (failure["kernel"], failure["code"], failure["kind"]) == (None, 700, "wait"), failure


def test_an_error_of_one_stream_is_not_pinned_to_another(run, program):
    """Only the stream of the launch is waited for: work of others goes on."""
    out = run(program("launches_ex", "12.4", GOOD, GOOD), "a", "b", "a",
              env={"SIM_FAIL": "cuLaunchKernelEx@3~719"}, same=False)
    assert [line for line in out.lines if line[:2] in ("a ", "b ")] == ["a 0", "b 0", "a 719"]
    failure = out.report["failures"][0]
    assert (failure["kernel"], failure["code"], failure["api"]) == (claims.A, 719, "cuLaunchKernelEx"), failure


def test_a_launch_that_fails_for_another_reason_is_no_missing_image(run, program):
    out = run(program("launches", "12.4", GOOD, GOOD), "a", "b", env={"SIM_FAIL": "cuLaunchKernel@2=701"})
    assert "b 701" in out.lines
    failure = claims.failed(out.report, claims.B, 701, "launches")
    assert failure["class"] == "other"
    assert claims.missing_count(out.report) == 0
    assert out.report["summary"]["other"] == 1


def test_an_error_that_is_not_sticky_and_read_at_once_has_surfaced_where_it_happened(run, program):
    out = run(program("launches", "12.4", GOOD, ["90"]), "a", "b")
    surfaced = claims.one_failure(out.report)["surfaced"]
    assert (surfaced["api"], surfaced["code"], surfaced["later"]) == ("cudaGetLastError", 209, False), surfaced


def test_a_kernel_that_does_not_end_holds_no_launch_for_longer_than_the_limit(run, program):
    """It may wait for a kernel that is still to be launched: after the limit no launch is waited for any more."""
    start = time.monotonic()
    out = run(program("ends", "12.4", GOOD, GOOD), "_exit", same=False,
              env={"SIM_KERNEL_MS": "20000", "NOKERNEL_WAIT": "1"})
    assert time.monotonic() - start < 10
    assert [note for note in out.report["notes"] if "no longer waited for" in note], out.report["notes"]
    assert out.report["failures"] == []


def test_a_kernel_that_ends_within_the_limit_is_waited_for(run, program):
    out = run(program("launches", "12.4", GOOD, GOOD), "a", "b",
              env={"SIM_KERNEL_MS": "200", "NOKERNEL_WAIT": "5", "SIM_FAIL": "cuLaunchKernel@1~700"}, same=False)
    assert "a 700" in out.lines
    assert out.report["failures"][0]["pinned"] == "synchronised"
    assert out.report["notes"] == []
