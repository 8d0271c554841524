"""Streams that are captured are left alone in every mode, and errors of asynchronous work are pinned to their launch in every kind of stream.

SIM_CAPTURE=strict: the simulated driver takes every wait for a stream or an event as unsafe, as a driver may; a call that is unsafe
in a capture's mode ends the capture. SIM_LOG shows what was really called.
"""

import collections
import re

import pytest

import claims
from fixtures import toolkit

GOOD = ["80"]
STATIC = [pytest.param(v, s, id=f"{v}-{'static' if s else 'shared'}")
          for v, (_, _, has_static) in toolkit.RUNTIMES.items() for s in ([False, True] if has_static else [False])]
VERSIONS = ["11.8", "12.4", "13.0"]
MODES = [pytest.param(m, id=n) for m, n in enumerate(("global", "thread-local", "relaxed"))]


def calls(log):
    """Of a SIM_LOG: [(thread, name, first argument, result)]."""
    pattern = re.compile(r"^\d+ (\d+) (\w+)\(([^,)]*).*\) = (\d+)", re.M)
    return [(thread, name.removesuffix("_ptsz"), first, int(result)) for thread, name, first, result in pattern.findall(log.read_text())]


# ---- captures
@pytest.mark.parametrize("sync", ["launch", "off"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("who", ["own", "other", "legacy", "forked"])
def test_a_capture_survives_what_is_launched_beside_it(run, program, who, mode, sync):
    """Without the library the capture succeeds; a wait of ours in a mode that forbids it would end it."""
    out = run(program("captures_modes", "12.4", GOOD, GOOD, more=["-lpthread"]), who, mode,
              env={"SIM_CAPTURE": "strict", "NOKERNEL_SYNC": sync})
    assert out.lines[-4:] == ["end 0", "instantiate 0", "launch 0", "sync 0"]
    claims.nothing_failed(out)


@pytest.mark.parametrize("version", ["11.8", "13.0"])
def test_a_capture_survives_with_every_runtime(run, program, version):
    out = run(program("captures_modes", version, GOOD, GOOD, more=["-lpthread"]), "other", 0, env={"SIM_CAPTURE": "strict"})
    assert out.lines[-1] == "sync 0"


def test_a_stream_is_not_asked_between_the_beginning_and_the_end_of_its_capture(run, program, tmp_path):
    log = tmp_path / "log"
    run(program("captures_modes", "12.4", GOOD, GOOD, more=["-lpthread"]), "forked", 0, env={"SIM_LOG": log})
    seen = calls(log)
    seen = seen[len(seen) // 2:]  # the log holds two runs: the second is that with the library
    begin = next(i for i, c in enumerate(seen) if c[1].startswith("cuStreamBeginCapture"))
    end = next(i for i, c in enumerate(seen) if c[1] == "cuStreamEndCapture")
    captured = seen[begin][2]
    between = {c[1] for c in seen[begin:end] if c[2] == captured}
    assert "cuStreamIsCapturing" in between and not between & {"cuStreamQuery", "cuStreamSynchronize", "cuCtxSynchronize"}


def test_the_capture_mode_of_a_thread_is_given_back(run, program, tmp_path):
    """Each time that we make a thread relaxed we put back what it was."""
    log = tmp_path / "log"
    run(program("captures_modes", "12.4", GOOD, GOOD, more=["-lpthread"]), "other", 0, env={"SIM_LOG": log})
    count = collections.Counter(thread for thread, name, _, _ in calls(log) if name == "cuThreadExchangeStreamCaptureMode")
    assert len(count) >= 2 and all(n % 2 == 0 for n in count.values()), count


def test_a_capture_that_begins_while_a_launch_is_waited_for_is_not_spoilt(run, program):
    """The wait ends there: one more question about the default stream would end the capture of a stream that waits for it."""
    out = run(program("begins_capture_meanwhile", "12.4", GOOD, GOOD, more=["-lpthread"]), env={"SIM_KERNEL_MS": "1000"})
    assert out.lines == ["warm 0", "begin 0", "a 0", "end 0", "b 0"]


# ---- a stream is asked whether it is captured only while there can be a capture
def phases(log):
    """What the program with the library called before its capture, until that was over, and then (from the last stream made on)."""
    seen = calls(log)
    seen = seen[len(seen) // 2:]
    begin = next(i for i, c in enumerate(seen) if c[1].startswith("cuStreamBeginCapture"))
    after = max(i for i, c in enumerate(seen) if c[1] == "cuStreamCreate")
    return seen[:begin], seen[begin:after], seen[after:]


def asked(phase):
    return [c for c in phase if c[1] == "cuStreamIsCapturing"]


ENDS = {"well": [0], "graph": [0], "invalidated": [901], "unjoined": [904], "elsewhere": [903, 908, 901]}


@pytest.mark.sanitized
@pytest.mark.parametrize("sync", ["launch", "trail"])
@pytest.mark.parametrize("how", ENDS)
def test_no_stream_is_asked_before_a_capture_began_nor_after_it_ended_in_any_way(run, program, tmp_path, how, sync):
    """Nor because a function was looked up that may begin one and is in no list (a driver of 13.1 has it)."""
    log = tmp_path / "log"
    out = run(program("captures_end", "12.4", GOOD, GOOD, more=["-ldl", "-lpthread"]), how, driver=13010, env={"NOKERNEL_SYNC": sync, "SIM_LOG": log})
    assert [int(line.split()[1]) for line in out.lines if line.startswith("end ")] == ENDS[how]
    before, during, after = phases(log)
    touched = {c[1] for c in during if c[1] in ("cuStreamQuery", "cuStreamWriteValue32_v2")}
    assert asked(during) and not touched and not asked(before) and not asked(after), (before, during, after)


@pytest.mark.parametrize("sync", ["launch", "trail"])
@pytest.mark.parametrize("style", ["", "PER_THREAD"])
def test_the_captures_of_a_per_thread_stream_build_are_counted_too(run, program, tmp_path, style, sync):
    log = tmp_path / "log"
    run(program("captures_end", "13.0", GOOD, GOOD, style=style, more=["-ldl", "-lpthread"]), "well", env={"NOKERNEL_SYNC": sync, "SIM_LOG": log})
    before, during, after = phases(log)
    assert asked(during) and not asked(before) and not asked(after)


@pytest.mark.parametrize("how,driver", [("destroyed", 13000), ("twice", 13000), ("command", 13010)])
@pytest.mark.parametrize("sync", ["launch", "trail"])
def test_while_a_capture_can_still_be_open_every_stream_is_asked(run, program, tmp_path, how, driver, sync):
    """The stream of a capture was destroyed, one begin of two failed, or a function began it that is in no list."""
    log = tmp_path / "log"
    run(program("captures_end", "12.4", GOOD, GOOD, more=["-ldl", "-lpthread"]), how, driver=driver, env={"NOKERNEL_SYNC": sync, "SIM_LOG": log})
    before, during, after = phases(log)
    touched = {c[1] for c in during if c[1] in ("cuStreamQuery", "cuStreamWriteValue32_v2")}
    assert not asked(before) and asked(during) and asked(after) and not touched


@pytest.mark.parametrize("sync", ["launch", "trail"])
def test_a_begin_that_is_refused_is_no_capture(run, program, tmp_path, sync):
    log = tmp_path / "log"
    run(program("captures_end", "12.4", GOOD, GOOD, more=["-ldl", "-lpthread"]), "refused",
        env={"NOKERNEL_SYNC": sync, "SIM_LOG": log, "SIM_FAIL": "cuStreamBeginCapture=999"})
    _, during, after = phases(log)
    assert len(asked(during)) == 1 and not asked(after)


@pytest.mark.parametrize("sync", ["launch", "trail"])
def test_a_stream_that_does_not_answer_while_a_capture_is_open_is_left_alone(run, program, tmp_path, sync):
    log = tmp_path / "log"
    out = run(program("captures_modes", "12.4", GOOD, GOOD, more=["-lpthread"]), "own", 0,
              env={"NOKERNEL_SYNC": sync, "SIM_LOG": log, "SIM_CAPTURE": "strict", "SIM_FAIL": "cuStreamIsCapturing=999"})
    assert out.lines[-1] == "sync 0"
    seen = calls(log)
    begin, end = [[i for i, c in enumerate(seen) if c[1].startswith(name)][-1] for name in ("cuStreamBeginCapture", "cuStreamEndCapture")]
    during = seen[begin:end]
    assert asked(during) and not [c for c in during if c[1] in ("cuStreamQuery", "cuStreamWriteValue32_v2")]


# ---- errors that come late, in every kind of stream
@pytest.mark.parametrize("version,static", STATIC)
def test_the_launch_of_a_per_thread_stream_build_that_failed_is_named(run, program, version, static):
    out = run(program("launches", version, GOOD, GOOD, static=static, style="PER_THREAD"), "a", "b", "a",
              env={"SIM_FAIL": "cuLaunchKernel@2~719"}, same=False)
    failure = claims.one_failure(out.report)
    assert (failure["kernel"], failure["pinned"], failure["code"]) == (claims.B, "synchronised", 719), failure


@pytest.mark.parametrize("how", ["streams", "threads", "own"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_launch_that_failed_is_named_among_many_streams(run, program, version, how):
    """The fifth launch of a: whichever stream it is in, it is that kernel, once, and no other is accused."""
    out = run(program("many_streams", version, GOOD, GOOD, more=["-lpthread"]), how, 4,
              env={"SIM_FAIL": "cuLaunchKernel@5~716"}, same=False)
    failure = claims.one_failure(out.report)
    assert (failure["code"], failure["pinned"], failure["kind"]) == (716, "synchronised", "launch"), failure
    if how == "streams":  # launched in turn: the fifth is the default stream's first
        assert failure["kernel"] == claims.A and out.lines[4] == "4: 716 716 716 sync 716"


@pytest.mark.parametrize("how", ["streams", "threads", "own"])
@pytest.mark.parametrize("sync", ["launch", "off"])
def test_a_program_with_many_streams_is_left_alone(run, program, how, sync):
    out = run(program("many_streams", "12.4", GOOD, GOOD, more=["-lpthread"]), how, 8, env={"NOKERNEL_SYNC": sync})
    assert all(line.endswith("0 0 0 sync 0") for line in out.lines)
    claims.nothing_failed(out)


def test_only_the_stream_of_a_launch_is_waited_for(run, program, tmp_path):
    """No device-wide wait of ours: the program's own are as many as without the library."""
    log = tmp_path / "log"
    run(program("many_streams", "12.4", GOOD, GOOD, more=["-lpthread"]), "streams", 4, env={"SIM_LOG": log})
    assert not [c for c in calls(log) if c[1].startswith("cuCtxSynchronize")]


def test_a_driver_that_already_blocks_is_not_asked_again(run, program, tmp_path):
    """CUDA_LAUNCH_BLOCKING=1: the driver itself waits, and the error that it returns is pinned to the launch."""
    log = tmp_path / "log"
    run(program("launches", "12.4", GOOD, GOOD), "a", "b", env={"SIM_LOG": log, "CUDA_LAUNCH_BLOCKING": "1"})
    assert not [c for c in calls(log) if c[1] in ("cuStreamQuery", "cuThreadExchangeStreamCaptureMode")]
    out = run(program("launches", "12.4", GOOD, GOOD), "a", "b",
              env={"SIM_FAIL": "cuLaunchKernel@2=700", "CUDA_LAUNCH_BLOCKING": "1"})
    failure = claims.one_failure(out.report)
    assert (failure["kernel"], failure["code"], failure["pinned"]) == (claims.B, 700, "returned"), failure
