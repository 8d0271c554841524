"""NOKERNEL_SYNC=trail: a program that ends without asking whether its work succeeded is asked for it, and never held up."""

import re
import time

import pytest

import claims

pytestmark = pytest.mark.sanitized
GOOD = ["80"]
TRAIL = {"NOKERNEL_SYNC": "trail", "NOKERNEL_LANG": "en"}
FAULT = {**TRAIL, "SIM_FAIL": "cuLaunchKernel@2~700"}  # the second launch ends with an illegal address


@pytest.fixture
def ends(run, program):
    """ends(how, ..., env): what ends_unasked.c did."""
    return lambda *arguments, env, **options: run(
        program("ends_unasked", "12.4", GOOD, GOOD, more=["-lpthread", "-ldl"]), *arguments, env=env, **options)


def calls(log, with_library=True):
    """[(pid, name, first argument)] of the second run in a SIM_LOG, or of the first."""
    found = re.findall(r"^(\d+) \d+ (\w+)\(([^,)]*)", log.read_text(), re.M)
    starts = [i for i, c in enumerate(found) if c[1] == "cuInit"]
    second = next(i for i in starts if found[i][0] != found[0][0])
    return found[second:] if with_library else found[:second]


@pytest.mark.parametrize("how", ["default", "own", "destroyed", "thread", "context", "capture"])
def test_a_fault_that_nobody_asked_about_is_found_when_the_program_ends(ends, how):
    out = ends(how, env={**FAULT, **({"SIM_FAIL": "cuLaunchKernel@3~700"} if how == "capture" else {})})
    assert "700" not in out.stdout
    failure = claims.one_failure(out.report)
    assert (failure["kernel"], failure["code"], failure["kind"], failure["pinned"]) == (claims.B, 700, "wait", "trail"), failure
    assert failure["found_at_end"] and not failure["surfaced"] and not failure["native_stack"] and not failure["python_stack"]
    text = " ".join(out.text.split())
    assert "FAILED k_b found when the program ended, for nobody had asked: 700 CUDA_ERROR_ILLEGAL_ADDRESS" in text, out.text
    assert "The program went on and ended with 0: check its results." in text


def test_a_fault_that_the_program_was_told_of_is_not_found_again(ends):
    failure = claims.one_failure(ends("asked", env=FAULT).report)
    assert (failure["kernel"], failure["found_at_end"], failure["api"]) == (claims.B, False, "cuStreamSynchronize"), failure


def test_work_that_succeeded_is_no_news(ends):
    out = ends("own", env=TRAIL)
    claims.nothing_failed(out)
    assert out.report["process"]["exit"]["streams_at_work"] == 0


@pytest.mark.parametrize("how", ["default", "own", "thread", "context"])
def test_work_that_does_not_end_holds_nobody_up_and_is_counted(ends, how):
    start = time.monotonic()
    out = ends(how, env={**TRAIL, "SIM_KERNEL_MS": "20000"})
    assert time.monotonic() - start < 10
    end = out.report["process"]["exit"]
    assert (end["streams_at_work"], end["launches_at_work"]) == ((1, 2) if how != "thread" else (0, 0)), end
    assert how == "thread" or " ".join(out.text.split()).endswith(
        "; when it ended 1 of its streams had not, with up to 2 launches: whether they worked is not known")


def test_the_questions_take_a_bounded_time(ends, tmp_path):
    """2 ms each here: of 1000 streams some are asked."""
    log = tmp_path / "log"
    out = ends("many", env={**TRAIL, "SIM_KERNEL_MS": "20000", "SIM_SLOW": "cuStreamQuery=2000000", "SIM_LOG": log})
    assert 0 < out.report["process"]["exit"]["streams_at_work"] <= 11
    assert 0 < len([c for c in calls(log) if c[1].startswith("cuStreamQuery")]) <= 11


def test_a_stream_that_is_captured_is_not_asked(ends, tmp_path):
    log = tmp_path / "log"
    ends("capture", env={**TRAIL, "SIM_KERNEL_MS": "20000", "SIM_CAPTURE": "strict", "SIM_LOG": log})
    captured, = {first for _, name, first in calls(log) if name.startswith("cuStreamBeginCapture")}
    asked = {first for _, name, first in calls(log) if name.startswith("cuStreamQuery")}
    assert asked and captured not in asked


@pytest.mark.parametrize("way", ["_exit", "quick_exit"])
def test_an_end_that_may_come_out_of_the_driver_itself_asks_nothing(ends, tmp_path, way):
    log = tmp_path / "log"
    out = ends("own", way, env={**FAULT, "SIM_LOG": log})
    assert out.report["failures"] == []
    assert not [c for c in calls(log) if c[1].startswith("cuStreamQuery")]


@pytest.mark.parametrize("sync", ["off", "launch"])
def test_in_the_other_modes_nothing_is_asked_when_a_program_ends(ends, tmp_path, sync):
    log = tmp_path / "log"
    ends("own", env={"NOKERNEL_SYNC": sync, "SIM_LOG": log})
    last = max(i for i, c in enumerate(calls(log)) if c[1].startswith("cuLaunchKernel"))
    asked = [c for c in calls(log)[last + 1:] if c[1].startswith("cuStreamQuery")]
    assert len(asked) == (sync == "launch")  # of the last launch


def test_a_forked_child_that_ends_asks_nothing_about_its_parents_work(ends, tmp_path):
    log = tmp_path / "log"
    out = ends("child", env={**FAULT, "SIM_LOG": log})
    assert len({pid for pid, name, _ in calls(log) if name.startswith("cuStreamQuery")}) == 1
    assert claims.one_failure(out.report)["found_at_end"]


@pytest.mark.parametrize("symbol", ["cuStreamQuery", "cuStreamIsCapturing", "cuCtxPushCurrent", "cuThreadExchangeStreamCaptureMode"])
@pytest.mark.parametrize("result", [1, 3, 4, 201, 400, 709, 801, 900, 906, 999])
def test_what_is_not_answered_is_not_reported(ends, symbol, result):
    """4: the driver is taken down already."""
    out = ends("context", env={**TRAIL, "SIM_FAIL": f"{symbol}={result}"})
    assert not [f for f in out.report["failures"] if f["found_at_end"]]
    assert out.report["process"]["exit"]["streams_at_work"] == 0
