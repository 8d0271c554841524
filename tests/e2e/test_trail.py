"""NOKERNEL_SYNC=trail: nothing is waited for; when an error of earlier work comes back, the report lists what had not ended.

The simulated driver does work in the order of its stream and nothing after a failure (SIM_FAIL=...~CODE), so a marker behind a
launch that failed never comes. SIM_KERNEL_MS makes kernels take time.
"""

import collections
import re

import pytest

import claims
from fixtures import toolkit

GOOD = ["80"]
TRAIL = {"NOKERNEL_SYNC": "trail", "NOKERNEL_LANG": "en"}
VARIANTS = [pytest.param(v, s, id=f"{v}-{'static' if s else 'shared'}")
            for v, (_, _, has_static) in toolkit.RUNTIMES.items() for s in ([False, True] if has_static else [False])]
VERSIONS = ["11.8", "12.4", "13.0"]
# How the simulated driver marks: with memory that a stream writes to, in the old way of doing so, and not at all.
MEMORY, OLD, EVENTS = {}, {"SIM_DRIVER": 11060, "SIM_ATTRIBUTES": "92=1"}, {"SIM_LACKS": "cuStreamWriteValue32"}


def trailed(out):
    failure = claims.one_failure(out.report)
    assert failure["pinned"] == "trail" and failure["trail"] is not None, failure
    return failure


def open_streams(failure):
    return [s for s in failure["trail"] if s["ended"] < s["launched"]]


def suspects(failure):
    """(all launches that can have failed, the kernel that they have in common or None)"""
    found = [x for s in failure["trail"] for x in s["launches"] if x["suspect"]]
    kernels = {x["kernel"] for x in found}
    return found, kernels.pop() if len(kernels) == 1 else None


def launches(stream):
    """[(number, kernel, ended)]"""
    return [(x["number"], x["kernel"], x["ended"]) for x in stream["launches"]]


@pytest.mark.parametrize("version,static", VARIANTS)
def test_the_launch_after_the_last_that_ended_is_the_suspect(run, program, version, static):
    out = run(program("launches", version, GOOD, GOOD, static=static), "a", "b", "a", env={**TRAIL, "SIM_FAIL": "cuLaunchKernel@2~700"})
    assert out.lines == ["a 0", "b 0", "a 0", "last 0", "sync 700", "free 700"]
    failure = trailed(out)
    assert (failure["kernel"], failure["code"], failure["kind"], failure["class"]) == (claims.B, 700, "wait", "other"), failure
    [stream] = failure["trail"]
    assert (stream["launched"], stream["ended"], stream["forgotten"], stream["not_listed"]) == (3, 1, 0, 0)
    assert launches(stream) == [(1, claims.A, True), (2, claims.B, False), (3, claims.A, False)]
    assert "FAILED  k_b\n" in out.text and "2  k_b in launches  <- suspect" in out.text, out.text


@pytest.mark.parametrize("how,markers", [(MEMORY, "memory"), (OLD, "memory"), (EVENTS, "events"), ({"SIM_DRIVER": 11060}, "events")])
def test_every_way_of_marking_finds_the_suspect(run, program, how, markers):
    driver = how.get("SIM_DRIVER", 13000)
    env = {k: v for k, v in how.items() if k != "SIM_DRIVER"}
    # Asking for an event can make an error arrive earlier: at the next launch instead of at the end.
    out = run(program("launches", "11.8", GOOD, GOOD), "a", "b", "a", driver=driver, same=markers == "memory",
              env={**TRAIL, **env, "SIM_FAIL": "cuLaunchKernel@2~719"})
    failure = trailed(out)
    [stream] = failure["trail"]
    assert (stream["markers"], stream["ended"]) == (markers, 1)
    # Events cannot be asked any more then: it may be any launch of which they had not told.
    assert (failure["kernel"], stream["suspects"]) == ((claims.B, 1) if markers == "memory" else (None, 2))
    assert ("What had ended was last asked at each stream's last marker" in re.sub(r"\s+", " ", out.text)) == (markers == "events")


@pytest.mark.parametrize("how", ["streams", "threads", "own"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_streams_that_were_at_work_are_listed_and_the_others_counted(run, program, version, how):
    """One stream of five failed. Launched in turn, all of the others had ended; threads may have had more under way."""
    out = run(program("many_streams", version, GOOD, GOOD, more=["-lpthread"]), how, 4,
              env={**TRAIL, "SIM_FAIL": "cuLaunchKernel@7~716"}, same=how == "streams")
    failure = trailed(out)
    at_work = open_streams(failure)
    found, kernel = suspects(failure)
    assert failure["kernel"] == kernel
    assert out.text.count("<- suspect") == len(found) >= len(at_work) > 0
    assert all(s["launched"] <= 3 for s in failure["trail"])
    assert all((s["thread"] is not None) == (how == "own") for s in at_work)
    if how == "streams":  # launched in turn: the seventh is the second launch of the second stream
        [suspect] = found
        assert (suspect["kernel"], suspect["number"], len(failure["trail"])) == (claims.B, 2, 5)
        assert "4 other streams: all launches had ended" in out.text


def test_kernels_that_ran_at_the_same_time_are_all_suspects(run, program):
    """Nobody can tell which of them it was: the report marks the first of each stream, and names one if all are of that."""
    out = run(program("many_streams", "12.4", GOOD, GOOD, more=["-lpthread"]), "streams", 2, same=False,
              env={**TRAIL, "SIM_KERNEL_MS": "400", "SIM_FAIL": "cuLaunchKernel@1~700"})
    failure = trailed(out)
    found, kernel = suspects(failure)
    assert failure["kernel"] == kernel and len(open_streams(failure)) > 1
    assert out.text.count("<- suspect") == len(found) >= len(open_streams(failure))
    assert "which of them it was cannot be told" in re.sub(r"\s+", " ", out.text)


def test_an_error_that_a_later_launch_returns_is_not_blamed_on_that_launch(run, program):
    """The third launch returns the error of the first."""
    out = run(program("launches", "12.4", GOOD, GOOD), "b", "a", "a",
              env={**TRAIL, "SIM_FAIL": "cuLaunchKernel@1~719,cuLaunchKernel@3=719"})
    assert out.lines[:3] == ["b 0", "a 0", "a 719"]
    failure = trailed(out)
    assert (failure["kernel"], failure["api"]) == (claims.B, "cuLaunchKernel"), failure


@pytest.mark.parametrize("version", VERSIONS)
def test_a_missing_image_is_pinned_as_in_the_other_modes(run, program, version):
    out = run(program("launches", version, GOOD, ["90"]), "a", "b", env=TRAIL)
    failure = claims.missing(out, claims.B, "launches")
    assert (failure["pinned"], failure["trail"]) == ("returned", None)


@pytest.mark.parametrize("how", [MEMORY, EVENTS], ids=["memory", "events"])
@pytest.mark.parametrize("mode", [0, 1, 2], ids=["global", "thread-local", "relaxed"])
@pytest.mark.parametrize("who", ["own", "other", "legacy", "forked"])
def test_nothing_is_put_into_a_capture(run, program, tmp_path, who, mode, how):
    log = tmp_path / "log"
    out = run(program("captures_modes", "12.4", GOOD, GOOD, more=["-lpthread"]), who, mode,
              env={**TRAIL, **how, "SIM_CAPTURE": "strict", "SIM_LOG": log})
    assert out.lines[-4:] == ["end 0", "instantiate 0", "launch 0", "sync 0"]
    claims.nothing_failed(out)
    calls = re.findall(r"^\d+ \d+ (\w+)\(([^,)]*)", log.read_text(), re.M)
    stream = next(first for name, first in calls if name.startswith("cuStreamBeginCapture"))
    begin = max(i for i, c in enumerate(calls) if c[0].startswith("cuStreamBeginCapture"))
    end = max(i for i, c in enumerate(calls) if c[0].startswith("cuStreamEndCapture"))
    marks = [c for c in calls[begin:end] if c[0].startswith("cuStreamWriteValue32") and c[1] == stream]
    assert not marks
    assert any(c[0].startswith(("cuStreamWriteValue32", "cuEventRecord")) for c in calls)


@pytest.mark.sanitized
def test_a_graph_is_a_suspect_with_its_kernels(run, program):
    out = run(program("launches_graph", "12.4", GOOD, GOOD, more=["-ldl"]), "nodes", env={**TRAIL, "SIM_FAIL": "cuGraphLaunch@2~700"})
    failure = trailed(out)
    assert failure["kernel"] is None and {k["kernel"]: k["nodes"] for k in failure["graph"]["kernels"]} == {claims.A: 2, claims.B: 1}
    [stream] = failure["trail"]
    assert [(x["number"], x["graph"]["kernel_nodes"], x["ended"]) for x in stream["launches"]] == [(1, 3, True), (2, 3, False)]
    assert "FAILED  a graph of 3 kernel nodes" in out.text


def test_errors_of_work_that_was_not_watched_accuse_no_kernel(run, program):
    """Every launch had ended: the error must come from something else, here a copy."""
    out = run(program("trail_ends", "12.4", GOOD, GOOD), "memset", env={**TRAIL, "SIM_FAIL": "cuMemsetD8Async~700"}, same=False)
    failure = trailed(out)
    assert failure["kernel"] is None and not open_streams(failure)
    assert "every launch that was seen had ended" in re.sub(r"\s+", " ", out.text)


# ---- launches that are denser than markers may be: the driver needs 200 us for each marker, so 20 ms lie between two. It is
# wall-clock time: what these tests promise also holds when the machine stands still for some of it.
SLOW = {**TRAIL, "SIM_SLOW": "cuStreamWriteValue32=200000"}


def dense(run, program, *arguments, env, **options):
    return run(program("trail_dense", "12.4", GOOD, GOOD, more=["-lpthread"]), *arguments, env={**SLOW, **env}, same=False, **options)


def listed_suspects(stream):
    return [x["number"] for x in stream["launches"] if x["suspect"]]


@pytest.mark.sanitized
def test_of_dense_launches_those_up_to_the_next_marker_are_the_suspects(run, program):
    out = dense(run, program, "stream", 3000, "a", "b", env={"SIM_FAIL": "cuLaunchKernel@2500~700"})
    failure = trailed(out)
    [stream] = open_streams(failure)
    assert 1 < stream["suspects"] < 2900 and stream["ended"] < 2500 <= stream["ended"] + stream["suspects"], stream
    assert failure["kernel"] is None and (stream["launched"], stream["markers"]) == (3000, "memory")
    listed = listed_suspects(stream)
    assert listed[0] == stream["ended"] + stream["forgotten"] + 1 and len(listed) == min(stream["suspects"] - stream["forgotten"], 256)
    text = re.sub(r"\s+", " ", out.text)
    assert f"one of {stream['suspects']} launches failed, which one is not known" in text and "NOKERNEL_MARKERS=all puts one behind each" in text
    assert "k_a in trail_dense, " in text and " of the suspects" in text


def test_the_same_is_said_in_chinese(run, program):
    out = dense(run, program, "stream", 3000, "a", "b", env={"SIM_FAIL": "cuLaunchKernel@2500~700", "NOKERNEL_LANG": "zh"})
    [stream] = open_streams(trailed(out))
    assert f"{stream['suspects']} 次启动中有一次失败" in re.sub(r"\s+", " ", out.text), out.text


def test_suspects_that_are_all_of_one_kernel_name_that_kernel(run, program):
    out = dense(run, program, "stream", 1200, "b", env={"SIM_FAIL": "cuLaunchKernel@1100~700"})
    failure = trailed(out)
    [stream] = open_streams(failure)
    assert stream["suspects"] > 1 and not stream["forgotten"] and failure["kernel"] == claims.B
    assert "FAILED  k_b\n" in out.text


def test_markers_behind_every_launch_can_be_asked_for(run, program):
    out = dense(run, program, "stream", 3000, "a", "b", env={"SIM_FAIL": "cuLaunchKernel@2500~700", "NOKERNEL_MARKERS": "all"})
    failure = trailed(out)
    [stream] = open_streams(failure)
    assert (failure["kernel"], stream["ended"], stream["suspects"]) == (claims.B, 2499, 1)


def markers(log):
    """Of the run with the library: {stream: its markers}"""
    return collections.Counter(re.findall(r" cuStreamWriteValue32\w*\(([^,]*)", log.read_text()))


@pytest.mark.plain
def test_markers_take_one_percent_of_the_time(run, program, tmp_path):
    """And a reserve of 256, which is used up at once. What one takes varies here: it is 200 us and a bit."""
    log = tmp_path / "log"
    out = dense(run, program, "stream", 100000, env={"SIM_LOG": log})
    took = int(re.search(r"took (\d+)", out.stdout).group(1))
    [count] = markers(log).values()
    assert 128 < count <= 256 * 1.5 + took / 100 / 200, (count, took)


@pytest.mark.plain
@pytest.mark.parametrize("how,times", [("stream", 1000000), ("threads", 250000)])
def test_a_million_launches_are_not_held_up_by_a_slow_marker(run, program, how, times):
    """A marker behind each would take 200 s."""
    out = dense(run, program, how, times, env={})
    assert int(re.search(r"took (\d+)", out.stdout).group(1)) < 20e6
    assert claims.kernel(out.report, claims.A)["launches"] == 1000000


@pytest.mark.plain
def test_a_stream_with_few_launches_is_marked_beside_one_with_many(run, program):
    """The last of its launches are known to have ended, though the other stream takes all the time that markers may have."""
    out = dense(run, program, "beside", 600, env={"SIM_SLOW": "cuStreamWriteValue32=2000", "SIM_FAIL": "cuMemsetD8Async~700"})
    often, seldom = sorted(trailed(out)["trail"], key=lambda stream: -stream["launched"])
    assert often["launched"] > 10 * seldom["launched"] > 100
    assert often["ended"] < often["launched"] and seldom["ended"] >= seldom["launched"] - 2


@pytest.mark.parametrize("wait", ["stream", "query", "device"])
def test_what_the_program_waited_for_is_no_suspect(run, program, wait):
    """Most of the launches had no marker. One more, which fails, stands alone then."""
    out = dense(run, program, "wait", wait, 3000, env={"SIM_FAIL": "cuLaunchKernel@3001~700"})
    assert "wait 0" in out.lines
    failure = trailed(out)
    [stream] = open_streams(failure)
    assert (failure["kernel"], stream["ended"], stream["launched"], stream["suspects"]) == (claims.B, 3000, 3001, 1)


def test_a_wait_that_fails_clears_nobody(run, program):
    out = dense(run, program, "wait", "stream", 3000, env={"SIM_FAIL": "cuLaunchKernel@3000~700"})
    [stream] = open_streams(trailed(out))
    assert stream["ended"] < 3000


def test_a_stream_that_is_destroyed_gets_a_last_marker(run, program):
    """Its place can be given to another one: 3000 streams do not fill the table."""
    out = dense(run, program, "churn", 3000, env={"SIM_FAIL": "cuLaunchKernel@3001~700", "SIM_SLOW": "cuStreamWriteValue32=2000"})
    failure = trailed(out)
    [stream] = open_streams(failure)
    assert failure["kernel"] == claims.B and not stream["destroyed"]


def test_markers_of_a_stream_are_not_those_of_the_one_that_had_its_place_before(run, program):
    """Behind the second launch of each of the streams before there was a marker."""
    out = dense(run, program, "again", 1500, env={"SIM_FAIL": "cuLaunchKernel@3003~700"})
    [stream] = open_streams(trailed(out))
    assert stream["launched"] == 5 and stream["ended"] < 3 <= stream["ended"] + stream["suspects"], stream


# ---- the host is left alone
@pytest.mark.parametrize("result", [1, 2, 201, 400, 600, 719, 801, 900, 999])
@pytest.mark.parametrize("symbol", ["cuStreamWriteValue32", "cuMemHostRegister", "cuMemHostGetDevicePointer", "cuCtxGetCurrent"])
def test_a_refused_marker_is_nobodys_affair(run, program, symbol, result):
    """What is refused to us is not told to the program, which goes on; errors that stay are left out where the simulated driver
    would keep them for all."""
    if result == 719 and symbol != "cuStreamWriteValue32":
        result = 3
    env = {**TRAIL, "SIM_FAIL": f"{symbol}={result}"}
    same = not (symbol == "cuCtxGetCurrent" or result == 719)  # the runtime calls that one too
    out = run(program("many_streams", "12.4", GOOD, GOOD, more=["-lpthread"]), "streams", 2, env=env, same=same)
    assert out.code == 0 and out.report is not None or symbol == "cuCtxGetCurrent"


def test_markers_that_stop_are_told_with_the_failure(run, program):
    out = run(program("launches", "12.4", GOOD, GOOD), "a", "b", "a",
              env={**TRAIL, "SIM_FAIL": "cuStreamWriteValue32@2=999,cuLaunchKernel@3~700"})
    failure = trailed(out)
    [stream] = failure["trail"]
    assert (stream["markers"], stream["stopped_by"], stream["ended"], stream["launched"]) == ("stopped", 999, 1, 3)
    assert "no marker could be set in this stream any more (999)" in re.sub(r"\s+", " ", out.text)


def test_a_driver_that_already_blocks_gets_no_markers(run, program, tmp_path):
    log = tmp_path / "log"
    run(program("launches", "12.4", GOOD, GOOD), "a", env={**TRAIL, "SIM_LOG": log, "CUDA_LAUNCH_BLOCKING": "1"})
    assert not re.search(r" (cuStreamWriteValue32|cuMemHostRegister)\w*\(", log.read_text())


def test_nothing_is_waited_for(run, program, tmp_path):
    """The calls that wait are the program's own: as many as without the library."""
    log = tmp_path / "log"
    run(program("many_streams", "12.4", GOOD, GOOD, more=["-lpthread"]), "streams", 3, env={**TRAIL, "SIM_LOG": log})
    names = re.findall(r"^(\d+) \d+ (\w+)\(", log.read_text(), re.M)
    count = {}
    for pid, name in names:
        count.setdefault(pid, []).append(name)
    plain, ours = (sorted(n for n in calls if "Synchronize" in n or "StreamQuery" in n) for calls in count.values())
    assert plain == ours and plain


# ---- streams, contexts and processes that end
@pytest.mark.sanitized
@pytest.mark.parametrize("how", ["destroy", "reset", "context", "release", "pool"])
def test_what_ends_takes_its_markers_along(run, program, tmp_path, how):
    """New streams and contexts come where the old ones were, with the same handles: nothing is written to memory that is gone."""
    log = tmp_path / "log"
    out = run(program("trail_ends", "12.4", GOOD, GOOD), how, env={**TRAIL, "SIM_LOG": log})
    claims.nothing_failed(out)
    marks = re.findall(r" cuStreamWriteValue32\w*\(.*\) = (\d+)", log.read_text())
    assert len(marks) > 5 and set(marks) == {"0"}


def test_a_destroyed_stream_can_still_be_the_suspects(run, program):
    out = run(program("trail_ends", "12.4", GOOD, GOOD), "last", env={**TRAIL, "SIM_KERNEL_MS": "300", "SIM_FAIL": "cuLaunchKernel@1~700"}, same=False)
    failure = trailed(out)
    assert any(s["destroyed"] for s in failure["trail"]), failure["trail"]
    assert "(destroyed since)" in out.text


def test_launches_that_the_trail_has_forgotten_are_counted(run, program):
    out = run(program("trail_ends", "12.4", GOOD, GOOD), "many", env={**TRAIL, "SIM_FAIL": "cuLaunchKernel@2~700"})
    failure = trailed(out)
    [stream] = failure["trail"]
    assert (stream["launched"], stream["ended"], stream["forgotten"]) == (3000, 1, 3000 - 1024 - 1)
    listed = [x for x in stream["launches"] if not x["ended"]]
    assert stream["forgotten"] + len(listed) + stream["not_listed"] == 2999
    assert failure["kernel"] is None and "<- suspect" not in out.text
    assert re.search(r"the suspect (perhaps )?among them, are no longer known", re.sub(r"\s+", " ", out.text))


@pytest.mark.sanitized
def test_two_gpus_have_trails_of_their_own(run, program):
    """The second GPU's error does not accuse the first one's launches."""
    out = run(program("trail_ends", "12.4", GOOD, GOOD), "gpus", sm="80,80", env={**TRAIL, "SIM_FAIL": "cuLaunchKernel@4~700"})
    failure = trailed(out)
    assert failure["gpu"] == 1 and {s["gpu"] for s in failure["trail"]} == {1}
    assert failure["kernel"] == claims.B


def test_a_second_gpu_with_the_same_error_is_a_failure_of_its_own(run, program):
    out = run(program("trail_ends", "12.4", GOOD, GOOD), "gpus", sm="80,80",
              env={**TRAIL, "SIM_FAIL": "cuLaunchKernel@2~700,cuLaunchKernel@4~700"})
    assert sorted(f["gpu"] for f in out.report["failures"]) == [0, 1]


def test_a_forked_child_has_a_trail_of_its_own(run, program):
    out = run(program("trail_ends", "12.4", GOOD, GOOD), "fork", env={**TRAIL, "SIM_FAIL": "cuLaunchKernel@2~700"})
    found = [f for report in out.reports for f in report["failures"]]
    assert found and all(f["pinned"] == "trail" and f["trail"][0]["launched"] == 2 for f in found), found


@pytest.mark.sanitized
@pytest.mark.parametrize("how", [MEMORY, EVENTS], ids=["memory", "events"])
def test_many_threads_in_one_stream_lose_no_launch(run, program, how):
    out = run(program("trail_ends", "12.4", GOOD, GOOD, more=["-lpthread"]), "threads",
              env={**TRAIL, **how, "SIM_FAIL": "cuMemsetD8Async~700"}, same=False)
    failure = trailed(out)
    [stream] = [s for s in failure["trail"] if s["launched"] > 1]
    assert stream["launched"] == 8 * 500 and stream["ended"] <= stream["launched"]
    assert claims.kernel(out.report, claims.A)["launches"] == 8 * 500
