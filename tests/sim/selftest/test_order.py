"""test_order.py - what the simulated driver promises about the order of work: streams, faults, values in memory, captures, graphs.

Each claim runs in a process of its own, as those of test_sim.py do.
"""

import ctypes
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from test_sim import FITS, Capture, Driver, claim, spoils  # noqa: E402

BLOCKING, NON_BLOCKING = 0, 1
GLOBAL, THREAD, RELAXED = 0, 1, 2


class Words(Driver):
    """Streams, and words of host memory that they write to."""

    def __init__(self):
        super().__init__()
        self.kernel, self.s, self.t = self.kernel_of(FITS), self.stream(), self.stream()
        self.words = (ctypes.c_uint32 * 16)()
        assert self.cuMemHostRegister_v2(self.words, 64, 3) == 0
        result, self.address = self.made("cuMemHostGetDevicePointer_v2", self.words, 0)
        assert result == 0

    def write(self, stream, index, value):
        return self.cuStreamWriteValue32_v2(stream, self.address + 4 * index, value, 0)


# ---- the order of work in streams
@claim
def test_a_value_is_written_in_its_place_of_the_stream():
    d = Words()
    assert d.launch(d.kernel, d.s) == 0 and d.write(d.s, 0, 7) == 0 and d.words[0] == 7
    assert d.write(d.s, 1 << 20, 7) == 1


@claim(SIM_KERNEL_MS="150")
def test_a_value_is_written_when_the_kernels_before_it_have_ended():
    d = Words()
    assert d.launch(d.kernel, d.s) == 0 and d.write(d.s, 0, 1) == 0 and d.write(d.t, 1, 1) == 0
    assert (d.words[0], d.words[1]) == (0, 1)
    assert d.cuStreamSynchronize(d.s) == 0 and d.words[0] == 1


@claim(SIM_KERNEL_MS="100")
def test_kernels_of_one_stream_end_one_after_the_other():
    d, start = Words(), time.monotonic()
    assert d.launch(d.kernel, d.s) == 0 and d.launch(d.kernel, d.s) == 0 and d.launch(d.kernel, d.t) == 0
    assert d.cuStreamSynchronize(d.t) == 0 and time.monotonic() - start < 0.19
    assert d.cuCtxSynchronize() == 0 and time.monotonic() - start >= 0.2


@claim(SIM_FAIL="cuLaunchKernel@2~700")
def test_nothing_is_done_after_a_kernel_that_failed_but_in_other_streams():
    d = Words()
    for i in (1, 2, 3):
        assert d.launch(d.kernel, d.s) == 0 and d.write(d.s, 0, i) == 0
    assert d.write(d.t, 1, 1) == 0 and (d.words[0], d.words[1]) == (1, 1)
    assert d.cuStreamSynchronize(d.t) == 0 and d.cuStreamSynchronize(d.s) == 700
    assert d.write(d.t, 1, 2) == 700 and d.words[1] == 1


@claim(SIM_FAIL="cuLaunchKernel@1~700")
def test_copies_and_host_functions_are_not_done_after_a_failure():
    d, called = Words(), []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(called.append)
    memory = d.made("cuMemAlloc_v2", 4)[1]
    assert d.launch(d.kernel, d.s) == 0
    assert d.cuLaunchHostFunc(d.s, function, 1) == 0 and called == []
    assert d.cuLaunchHostFunc(d.t, function, 1) == 0 and called == [1]
    assert d.cuMemsetD32Async(memory, 5, 1, d.s) == 0 and ctypes.c_uint32.from_address(memory).value == 0


@claim(SIM_FAIL="cuLaunchKernel@1~700")
def test_the_legacy_stream_stops_with_a_blocking_stream_that_failed():
    d = Words()
    assert d.launch(d.kernel, d.stream(BLOCKING)) == 0
    assert d.write(0, 0, 1) == 0 and d.words[0] == 0
    assert d.write(d.s, 0, 1) == 0 and d.words[0] == 1  # it does not wait for the legacy stream


@claim(SIM_FAIL="cuLaunchKernel@1~700")
def test_a_stream_that_waits_for_an_event_after_the_failure_stops_too():
    d = Words()
    event = d.made("cuEventCreate", 0)[1]
    assert d.launch(d.kernel, d.s) == 0 and d.cuEventRecord(event, d.s) == 0 and d.cuStreamWaitEvent(d.t, event, 0) == 0
    assert d.write(d.t, 0, 1) == 0 and d.words[0] == 0


@claim(SIM_KERNEL_MS="150")
def test_an_event_has_happened_when_the_kernels_before_it_have_ended():
    d = Words()
    event = d.made("cuEventCreate", 2)[1]
    assert d.launch(d.kernel, d.s) == 0 and d.cuEventRecord(event, d.s) == 0
    assert d.cuEventQuery(event) == 600 and d.cuEventSynchronize(event) == 0 and d.cuEventQuery(event) == 0


@claim(SIM_KERNEL_MS="100", SIM_FAIL="cuLaunchKernel@1~700")
def test_an_error_ends_what_other_streams_had_still_to_do():
    d = Words()
    assert d.launch(d.kernel, d.s) == 0
    time.sleep(0.05)
    assert d.launch(d.kernel, d.t) == 0 and d.write(d.t, 0, 1) == 0
    assert d.cuStreamSynchronize(d.s) == 700
    time.sleep(0.1)
    assert d.cuStreamQuery(d.t) == 700 and d.words[0] == 0


# ---- what a capture forbids
@claim
def test_a_blocking_copy_meets_the_capture_of_a_blocking_stream():
    d, text = Driver(), ctypes.create_string_buffer(16)
    memory = d.made("cuMemAlloc_v2", 16)[1]
    spoils(lambda d: d.cuMemcpyDtoH_v2(text, memory, 4), 906, flags=BLOCKING)


@claim
def test_callbacks_and_attached_memory_cannot_be_captured():
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *_: None)
    spoils(lambda d: d.cuStreamAddCallback(d.s, function, None, 0), 900)
    spoils(lambda d: d.cuStreamAttachMemAsync(d.s, 0, 0, 1), 900)


@claim
def test_a_query_spoils_a_capture_in_every_mode():
    for mode in (GLOBAL, THREAD, RELAXED):
        spoils(lambda d: d.cuStreamQuery(d.s), 900, mode=mode)


@claim
def test_a_relaxed_thread_may_not_ask_for_an_event_of_a_capture():
    def ask(d):
        mode, event = ctypes.c_int(RELAXED), d.made("cuEventCreate", 0)[1]
        assert d.cuEventRecord(event, d.s) == 0
        assert d.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)) == 0
        return d.cuEventQuery(event)

    spoils(ask, 907)


def in_thread(d, body):
    seen = []
    worker = threading.Thread(target=lambda: (d.cuCtxSetCurrent(d.context), seen.append(body())))
    worker.start()
    worker.join()
    return seen[0]


@claim
def test_another_thread_ends_only_a_relaxed_capture():
    for mode, expected in ((GLOBAL, 908), (THREAD, 908), (RELAXED, 0)):
        d = Capture(mode=mode)
        assert in_thread(d, lambda: d.end()[0]) == expected
        d.end()


@claim
def test_an_event_query_of_another_thread_spoils_a_global_capture_only():
    for mode, expected in ((GLOBAL, 900), (THREAD, 0), (RELAXED, 0)):
        d = Capture(mode=mode)
        event, other = d.made("cuEventCreate", 0)[1], d.stream()
        d.cuEventRecord(event, other)
        assert in_thread(d, lambda: d.cuEventQuery(event)) == expected
        assert d.end()[0] == (901 if expected else 0)


@claim
def test_two_captures_cannot_be_merged():
    d = Capture()
    other, event = d.stream(), d.made("cuEventCreate", 0)[1]
    assert d.cuEventRecord(event, d.s) == 0
    assert d.cuStreamBeginCapture_v2(other, GLOBAL) == 0 and d.cuStreamWaitEvent(other, event, 0) == 902


@claim
def test_work_outside_the_capture_cannot_be_waited_for():
    d = Capture()
    other, event = d.stream(), d.made("cuEventCreate", 0)[1]
    assert d.cuEventRecord(event, other) == 0 and d.cuStreamWaitEvent(d.s, event, 0) == 905


@claim
def test_only_the_stream_that_began_a_capture_ends_it():
    d = Capture()
    other, event, graph = d.stream(), d.made("cuEventCreate", 0)[1], ctypes.c_uint64()
    assert d.cuEventRecord(event, d.s) == 0 and d.cuStreamWaitEvent(other, event, 0) == 0
    assert d.cuStreamEndCapture(other, ctypes.byref(graph)) == 903


# ---- graphs
def count_of(d, graph):
    count = ctypes.c_size_t()
    assert d.cuGraphGetNodes(graph, None, ctypes.byref(count)) == 0
    return count.value


def executable(d, graph):
    result, made = d.made("cuGraphInstantiateWithFlags", graph, ctypes.c_uint64(0))
    assert result == 0
    return made


@claim
def test_a_captured_value_is_a_node_and_written_at_the_launch():
    d = Words()
    assert d.cuStreamBeginCapture_v2(d.s, RELAXED) == 0 and d.write(d.s, 0, 3) == 0 and d.words[0] == 0
    graph = ctypes.c_uint64()
    assert d.cuStreamEndCapture(d.s, ctypes.byref(graph)) == 0 and count_of(d, graph) == 1
    assert d.cuGraphLaunch(executable(d, graph), d.s) == 0 and d.words[0] == 3


@claim(SIM_FAIL="cuLaunchKernel@1~700")
def test_a_captured_kernel_fails_when_its_graph_is_launched():
    d = Capture()
    assert d.launch(d.kernel, d.s) == 0
    graph = d.end()[1]
    assert d.cuStreamSynchronize(d.s) == 0
    assert d.cuGraphLaunch(executable(d, graph), d.s) == 0 and d.cuStreamSynchronize(d.s) == 700


@claim
def test_a_graph_that_is_launched_into_a_capture_becomes_a_child():
    d = Capture()
    d.launch(d.kernel, d.s)
    inner = executable(d, d.end()[1])
    assert d.cuStreamBeginCapture_v2(d.s, GLOBAL) == 0 and d.cuGraphLaunch(inner, d.s) == 0
    graph, node, kind, child = d.end()[1], ctypes.c_uint64(), ctypes.c_int(), ctypes.c_uint64()
    assert d.cuGraphGetNodes(graph, ctypes.byref(node), ctypes.byref(ctypes.c_size_t(1))) == 0
    assert d.cuGraphNodeGetType(node, ctypes.byref(kind)) == 0 and kind.value == 4
    assert d.cuGraphChildGraphNodeGetGraph(node, ctypes.byref(child)) == 0 and count_of(d, child) == 1


def parameters(kernel):
    return (ctypes.c_uint64 * 9)(kernel, 1 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32)


@claim
def test_a_kernel_of_an_executable_graph_can_be_changed_by_the_node_it_was_made_from():
    d = Driver()
    graph, kernel = d.made("cuGraphCreate", 0)[1], d.kernel_of(FITS)
    node = d.made("cuGraphAddKernelNode_v2", graph, None, 0, parameters(kernel))[1]
    made = executable(d, graph)
    assert d.cuGraphExecKernelNodeSetParams_v2(made, node, parameters(d.kernel_of(FITS))) == 0
    assert d.cuGraphExecKernelNodeSetParams_v2(made, node, parameters(1)) == 400
    assert d.cuGraphExecKernelNodeSetParams_v2(made, 1, parameters(kernel)) == 400


@claim(SIM_KERNEL_MS="100")
def test_a_conditional_node_runs_the_body_that_its_condition_chooses():
    for value, takes_long in ((1, True), (0, False)):
        d = Driver()
        graph, kernel, stream = d.made("cuGraphCreate", 0)[1], d.kernel_of(FITS), d.stream()
        handle = d.made("cuGraphConditionalHandleCreate", graph, d.context, value, 1)[1]
        words = (ctypes.c_uint64 * 32)(13, 0, handle, 0 | 1 << 32)
        assert d.made("cuGraphAddNode_v2", graph, None, None, 0, words)[0] == 0
        body = ctypes.c_uint64.from_address(words[4]).value
        assert d.made("cuGraphAddKernelNode_v2", body, None, 0, parameters(kernel))[0] == 0
        start = time.monotonic()
        assert d.cuGraphLaunch(executable(d, graph), stream) == 0 and d.cuStreamSynchronize(stream) == 0
        assert (time.monotonic() - start >= 0.1) == takes_long


if __name__ == "__main__":
    globals()[sys.argv[1]].body()
