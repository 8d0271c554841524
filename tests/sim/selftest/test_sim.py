"""test_sim.py - what the simulated driver promises, one claim a test. Each runs in a process of its own.

SIM names the folder with libcuda.so.1 (default: B/sim, B = build).
"""

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from simcode import container, cubin, elf, ptx, ptx_text  # noqa: E402

BUILD = os.environ.get("B") or Path(__file__).resolve().parents[3] / "build"
FOLDER = Path(os.environ.get("SIM") or Path(BUILD) / "sim").resolve()


class Driver:
    """The driver's functions by name. A result that is not 0 is returned; handles come back through ctypes."""

    def __init__(self, init=True, context=True):
        self.library = ctypes.CDLL(str(FOLDER / "libcuda.so.1"))
        if init:
            assert self.cuInit(0) == 0
        if init and context:
            self.use(0)

    def __getattr__(self, name):
        function = getattr(self.library, name)
        return lambda *args: function(*(ctypes.c_uint64(a) if isinstance(a, int) and a > 0x7FFFFFFF else a for a in args))

    def use(self, device):
        self.context = ctypes.c_void_p()
        assert self.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), device) == 0
        assert self.cuCtxSetCurrent(self.context) == 0

    def made(self, name, *args):
        """Calls a function whose first parameter is where a handle goes: (result, handle)."""
        handle = ctypes.c_uint64(0)
        return getattr(self, name)(ctypes.byref(handle), *args), handle.value

    def library_of(self, code):
        self.kept = ctypes.create_string_buffer(code, len(code) + 16)
        return self.made("cuLibraryLoadData", self.kept, None, None, 0, None, None, 0)

    def module_of(self, code):
        self.kept = ctypes.create_string_buffer(code, len(code) + 16)
        return self.made("cuModuleLoadData", self.kept)

    def kernel_of(self, code, name=b"a"):
        result, library = self.library_of(code)
        assert result == 0
        result, kernel = self.made("cuLibraryGetKernel", library, name)
        assert result == 0
        return kernel

    def launch(self, function, stream=0):
        call = self.library.cuLaunchKernel
        call.argtypes = [ctypes.c_uint64] + [ctypes.c_uint] * 7 + [ctypes.c_uint64] * 3
        return call(function, 1, 1, 1, 32, 1, 1, 0, stream, 0, 0)

    def stream(self, flags=1):
        result, stream = self.made("cuStreamCreate", flags)
        assert result == 0
        return stream

    def look_up(self, name, version, flags=0):
        status = ctypes.c_int(-1)
        result, pointer = self.made_second("cuGetProcAddress_v2", name, version, ctypes.c_uint64(flags), ctypes.byref(status))
        return result, pointer, status.value

    def made_second(self, name, first, *args):
        pointer = ctypes.c_uint64(0)
        return getattr(self, name)(first, ctypes.byref(pointer), *args), pointer.value

    def address(self, name):
        return ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value


def claim(body=None, **env):
    """A test that runs its body in another process, with these settings."""
    if body is None:
        return lambda b: claim(b, **env)

    def test():
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SIM_", "CUDA_"))}
        done = subprocess.run([sys.executable, body.__code__.co_filename, body.__name__], env={**clean, **env}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr

    test.__name__, test.body = body.__name__, body
    return test


FITS = container(cubin(120, ["a"]))
MISFIT = container(cubin(80, ["a"]))
NO_IMAGE = 209


# ---- finding functions
@claim
def test_the_version_chooses_the_signature():
    d = Driver(init=False)
    assert d.look_up(b"cuCtxGetDevice", 2000)[1] == d.address("cuCtxGetDevice")
    assert d.look_up(b"cuCtxGetDevice", 13000)[1] == d.address("cuCtxGetDevice_v2")
    assert d.look_up(b"cuMemAlloc", 3020)[1] == d.address("cuMemAlloc_v2")


@claim
def test_flag_2_chooses_the_per_thread_variant_and_else_the_plain_one():
    d = Driver(init=False)
    assert d.look_up(b"cuLaunchKernel", 7000, 2)[1] == d.address("cuLaunchKernel_ptsz")
    assert d.look_up(b"cuMemAlloc", 3020, 2)[1] == d.address("cuMemAlloc_v2")


@claim(SIM_DRIVER="11080")
def test_a_function_that_is_newer_than_the_driver_is_not_found():
    assert Driver(init=False).look_up(b"cuLibraryLoadData", 12000)[:2] == (500, 0)


@claim
def test_the_status_tells_a_missing_name_from_a_version_that_is_too_low():
    d = Driver(init=False)
    assert d.look_up(b"cuNoSuch", 13000) == (500, 0, 1)
    assert d.look_up(b"cuLibraryLoadData", 11000) == (500, 0, 2)


@claim
def test_version_1_of_the_lookup_has_no_status():
    d = Driver(init=False)
    assert d.made_second("cuGetProcAddress", b"cuInit", 2000, ctypes.c_uint64(0)) == (0, d.address("cuInit"))


@claim(SIM_LACKS="cuLibraryLoadData")
def test_sim_lacks_hides_a_function_from_the_lookup():
    assert Driver(init=False).look_up(b"cuLibraryLoadData", 12000)[:2] == (500, 0)


@claim(SIM_ADDRESSES="distinct")
def test_distinct_addresses_are_other_ones_that_work():
    d = Driver(init=False)
    pointer = d.look_up(b"cuDriverGetVersion", 2020)[1]
    version = ctypes.c_int(0)
    assert pointer != d.address("cuDriverGetVersion")
    assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(pointer)(ctypes.addressof(version)) == 0 and version.value == 13000


@claim
def test_a_function_that_is_not_modelled_answers_801():
    assert Driver().cuArrayCreate_v2(None, None) == 801


def test_every_driver_function_that_the_library_hooks_is_in_the_table():
    root = Path(__file__).resolve().parents[3]
    table = {tuple(line[11:-1].split(", ")[i] for i in (0, 1, 3)) for line in (root / "tests/sim/symbols.def").read_text().splitlines() if line.startswith("SIM_SYMBOL")}
    hooked = [line.split("(", 1)[1].split(", ") for line in (root / "include/driver/entries.def").read_text().splitlines() if line.startswith("NK_ENTRY(DRIVER")]
    assert len(hooked) > 30
    assert [h[3] for h in hooked if (h[4], h[5], h[3]) not in table] == []


# ---- starting
@claim
def test_before_cuinit_everything_answers_3():
    assert Driver(init=False).made("cuMemAlloc_v2", 16)[0] == 3


@claim(SIM_SM="")
def test_without_gpus_cuinit_answers_100():
    assert Driver(init=False).cuInit(0) == 100


@claim(SIM_SM="80,37", CUDA_VISIBLE_DEVICES="1,0")
def test_cuda_visible_devices_renumbers():
    d, major = Driver(), ctypes.c_int()
    assert d.cuDeviceGetAttribute(ctypes.byref(major), 75, 0) == 0 and major.value == 3


@claim(SIM_SM="80,37,90", CUDA_VISIBLE_DEVICES="2,9,0")
def test_cuda_visible_devices_ends_at_the_first_that_is_none():
    d, count = Driver(), ctypes.c_int()
    assert d.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value == 1


@claim
def test_a_forked_process_cannot_use_the_driver():
    d = Driver()
    child = os.fork()
    if child == 0:
        os._exit(7 if d.made("cuMemAlloc_v2", 16)[0] == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@claim
def test_without_a_context_memory_is_refused_with_201():
    assert Driver(context=False).made("cuMemAlloc_v2", 16)[0] == 201


@claim
def test_the_current_context_is_the_threads_own():
    d, seen = Driver(), []
    worker = threading.Thread(target=lambda: seen.append(d.made("cuCtxGetCurrent")[1]))
    worker.start()
    worker.join()
    assert seen == [0] and d.made("cuCtxGetCurrent")[1] == d.context.value


# ---- images
def result_of(code, load="module_of"):
    return getattr(Driver(), load)(code)[0]


def fits(*entries):
    return result_of(container(*entries)) == 0


@claim(SIM_SM="86")
def test_a_cubin_runs_on_the_same_major_and_no_lower_minor():
    assert fits(cubin(80, ["a"])) and not fits(cubin(89, ["a"])) and not fits(cubin(75, ["a"]))


@claim(SIM_SM="121")
def test_a_family_cubin_runs_on_its_family():
    assert fits(cubin(120, ["a"], "f")) and not fits(cubin(100, ["a"], "f"))


@claim(SIM_SM="121")
def test_a_cubin_for_one_architecture_runs_there_alone():
    assert not fits(cubin(120, ["a"], "a")) and fits(cubin(121, ["a"], "a"))


@claim(SIM_SM="87")
def test_tegra_takes_only_its_own_cubins_but_any_older_ptx():
    assert not fits(cubin(80, ["a"])) and fits(cubin(87, ["a"])) and fits(ptx(80, ["a"]))


@claim(SIM_SM="120")
def test_ptx_runs_on_everything_newer_unless_it_is_for_one_architecture():
    assert fits(ptx(50, ["a"])) and not fits(ptx(100, ["a"], "a"))


@claim(SIM_SM="120")
def test_ptx_whose_text_says_more_than_its_header_is_218():
    assert result_of(container(ptx(90, ["a"], says="90a"))) == 218


@claim(SIM_SM="120", SIM_DRIVER="12040")
def test_ptx_that_is_newer_than_the_driver_is_222():
    assert result_of(container(ptx(80, ["a"], version="8.5"))) == 222 and result_of(container(ptx(80, ["a"], version="8.4"))) == 0


@claim(SIM_SM="80", SIM_DRIVER="12030")
def test_zstd_before_12_4_is_200():
    assert result_of(container(cubin(80, ["a"], codec="zstd"))) == 200 and fits(cubin(80, ["a"], codec="lz4"))


@claim(SIM_SM="80", CUDA_FORCE_PTX_JIT="1")
def test_cuda_force_ptx_jit_ignores_cubins():
    assert not fits(cubin(80, ["a"])) and fits(cubin(80, ["a"]), ptx(70, ["a"]))


@claim(SIM_SM="80", CUDA_DISABLE_PTX_JIT="1")
def test_cuda_disable_ptx_jit_leaves_ptx_with_223():
    assert result_of(container(ptx(70, ["a"]))) == 223 and fits(cubin(80, ["a"]))


@claim(SIM_SM="90")
def test_bare_cubins_of_both_layouts_and_ptx_text_are_images():
    assert result_of(elf(90, ["a"])) == 0 and result_of(elf(90, ["a"], abi=8)) == 0 and result_of(ptx_text(80, ["a"])) == 0
    assert result_of(elf(80, ["a"])) == NO_IMAGE


@claim
def test_what_is_no_image_is_200():
    assert result_of(b"certainly not an image of any kind") == 200


@claim(SIM_SM="80,37")
def test_each_gpu_judges_for_itself():
    d = Driver()
    kernel = d.kernel_of(container(cubin(80, ["a"])))
    assert d.launch(kernel) == 0
    d.use(1)
    assert d.launch(kernel) == NO_IMAGE


# ---- names and variables
@claim(SIM_SM="90")
def test_a_kernel_that_is_not_in_the_chosen_image_is_500():
    d = Driver()
    code = container(cubin(80, ["a", "b"]), cubin(90, ["a"], codec="zstd"), ptx(50, ["a", "b", "c"]))
    result, module = d.module_of(code)
    assert result == 0 and d.made("cuModuleGetFunction", module, b"a")[0] == 0
    assert d.made("cuModuleGetFunction", module, b"b")[0] == 500
    assert d.made("cuLibraryGetKernel", d.library_of(code)[1], b"b")[0] == 500


@claim(SIM_SM="120")
def test_kernels_of_ptx_are_known_by_name():
    d = Driver()
    module = d.module_of(container(ptx(50, ["a"], codec="lz4")))[1]
    assert d.made("cuModuleGetFunction", module, b"a")[0] == 0 and d.made("cuModuleGetFunction", module, b"b")[0] == 500


@claim(SIM_SM="80")
def test_a_variable_begins_with_its_value():
    d, size, value = Driver(), ctypes.c_size_t(), ctypes.c_int()
    module = d.module_of(container(cubin(80, ["a"], variables=[("v", 5), ("w", 7)])))[1]
    result, address = d.made("cuModuleGetGlobal_v2", ctypes.byref(size), module, b"w")
    assert (result, size.value) == (0, 4)
    assert d.cuMemcpyDtoH_v2(ctypes.byref(value), address, 4) == 0 and value.value == 7


# ---- where a missing image shows
def places():
    """What each kind of call answers for a misfit."""
    d = Driver()
    load, library = d.library_of(MISFIT)
    get, kernel = d.made("cuLibraryGetKernel", library, b"a")
    module_result, module = d.made("cuLibraryGetModule", library)
    modget, function = d.made("cuModuleGetFunction", module, b"a") if module else (None, 0)
    answers = {"load": load, "get": get, "module": module_result, "modget": modget}
    if kernel:
        answers["function"] = d.made("cuKernelGetFunction", kernel)[0]
        answers["attribute"] = d.made("cuFuncGetAttribute", 0, kernel)[0]
        answers["occupancy"] = d.made("cuOccupancyMaxActiveBlocksPerMultiprocessor", kernel, 32, 0)[0]
        answers["launch"] = d.launch(kernel)
        answers["global"] = d.made("cuLibraryGetGlobal", None, library, b"v")[0]
    return {place for place, result in answers.items() if result == NO_IMAGE}


@claim(SIM_SM="120")
def test_by_default_load_and_get_succeed_and_the_rest_refuses():
    assert places() == {"module", "function", "attribute", "occupancy", "launch", "global"}


def one_place(place):
    def body():
        assert places() == {place}

    body.__name__ = f"test_sim_no_image_at_{place}_refuses_there_alone"
    return claim(body, SIM_SM="120", SIM_NO_IMAGE_AT=place)


for _place in ["load", "get", "module", "modget", "function", "attribute", "occupancy", "launch", "global"]:
    globals()[f"test_sim_no_image_at_{_place}_refuses_there_alone"] = one_place(_place)


@claim(SIM_SM="120", SIM_NO_IMAGE_AT="launch")
def test_a_module_that_does_not_fit_is_refused_at_its_load_whatever_the_setting():
    assert Driver().module_of(MISFIT)[0] == NO_IMAGE


@claim(SIM_SM="120")
def test_a_refusal_is_not_sticky():
    d = Driver()
    assert d.launch(d.kernel_of(MISFIT)) == NO_IMAGE
    assert d.cuCtxSynchronize() == 0 and d.launch(d.kernel_of(FITS)) == 0


# ---- injected failures
@claim(SIM_FAIL="cuLaunchKernel@2=701")
def test_sim_fail_fails_the_nth_call_alone():
    d = Driver()
    kernel = d.kernel_of(FITS)
    assert [d.launch(kernel) for _ in range(3)] == [0, 701, 0]


@claim(SIM_FAIL="cuLaunchKernel@2+=701")
def test_sim_fail_with_plus_fails_from_then_on():
    d = Driver()
    kernel = d.kernel_of(FITS)
    assert [d.launch(kernel) for _ in range(3)] == [0, 701, 701]


@claim(SIM_FAIL="cuMemAlloc=2")
def test_sim_fail_means_every_version_of_a_function():
    assert Driver().made("cuMemAlloc_v2", 16)[0] == 2


@claim(SIM_FAIL="cuLaunchKernel@1~719")
def test_a_late_failure_shows_at_the_next_synchronisation_and_stays():
    d = Driver()
    stream, kernel = d.stream(), d.kernel_of(FITS)
    assert d.launch(kernel, stream) == 0
    assert d.cuStreamSynchronize(d.stream()) == 0  # another stream's work is well
    assert d.cuStreamSynchronize(stream) == 719
    assert d.made("cuMemAlloc_v2", 16)[0] == 719


@claim(SIM_FAIL="cuLaunchKernel@1=719")
def test_a_reset_of_the_primary_context_clears_a_sticky_error():
    d = Driver()
    assert d.launch(d.kernel_of(FITS)) == 719 and d.made("cuMemAlloc_v2", 16)[0] == 719
    assert d.cuDevicePrimaryCtxReset_v2(0) == 0 and d.made("cuMemAlloc_v2", 16)[0] == 0


# ---- handles
@claim
def test_wrong_handles_are_400_and_never_a_crash():
    d = Driver()
    buffer = ctypes.create_string_buffer(512)
    for bad in (0, 1, 0x1234, 0xDEADBEEF0000, ctypes.addressof(buffer), d.context.value, d.context.value + 8):
        assert d.launch(bad) == 400
        assert d.made("cuModuleGetFunction", bad, b"a")[0] == 400
        assert d.made("cuKernelGetFunction", bad)[0] == 400
        assert d.cuLibraryUnload(bad) == 400
        assert d.cuEventSynchronize(bad) == 400
    assert d.cuStreamSynchronize(ctypes.addressof(buffer)) == 400


@claim
def test_a_handle_dies_with_its_object_and_is_used_again():
    d = Driver()
    result, library = d.library_of(FITS)
    kernel = d.made("cuLibraryGetKernel", library, b"a")[1]
    assert d.cuLibraryUnload(library) == 0
    assert d.launch(kernel) == 400
    assert d.made("cuLibraryGetKernel", library, b"a")[0] == 400
    assert {library, kernel} & {d.stream() for _ in range(8)}


# ---- memory
@claim(SIM_MEM_MB="64")
def test_memory_ends():
    d = Driver()
    result, first = d.made("cuMemAlloc_v2", 48 << 20)
    assert result == 0 and d.made("cuMemAlloc_v2", 48 << 20)[0] == 2
    assert d.cuMemFree_v2(first) == 0 and d.made("cuMemAlloc_v2", 48 << 20)[0] == 0


@claim
def test_copies_go_there_and_back_and_pointers_that_are_not_ours_are_refused():
    d, text = Driver(), ctypes.create_string_buffer(b"hello", 16)
    memory, back = d.made("cuMemAlloc_v2", 16)[1], ctypes.create_string_buffer(16)
    assert d.cuMemcpyHtoD_v2(memory, text, 16) == 0 and d.cuMemcpyDtoH_v2(back, memory, 16) == 0
    assert back.value == b"hello"
    assert d.cuMemcpyHtoD_v2(memory, text, 17) == 1 and d.cuMemFree_v2(memory + 4) == 1


@claim
def test_mapped_pieces_are_used_as_one():
    d, size = Driver(), 2 << 20
    properties = (ctypes.c_int * 8)(1, 0, 1, 0)
    result, start = d.made("cuMemAddressReserve", 4 * size, 0, 0, 0)
    assert result == 0
    for i in range(2):
        result, block = d.made("cuMemCreate", size, properties, 0)
        assert result == 0 and d.cuMemMap(start + i * size, size, 0, block, 0) == 0
    assert d.cuMemsetD8_v2(start, 1, 2 * size) == 0 and d.cuMemsetD8_v2(start, 1, 2 * size + 1) == 1
    assert d.cuMemUnmap(start, 2 * size) == 0 and d.cuMemAddressFree(start, 4 * size) == 0


# ---- capture and graphs
class Capture(Driver):
    def __init__(self, mode=0, flags=1):
        super().__init__()
        self.kernel, self.s = self.kernel_of(FITS), self.stream(flags)
        assert self.cuStreamBeginCapture_v2(self.s, mode) == 0

    def status(self):
        status = ctypes.c_int(-1)
        assert self.cuStreamIsCapturing(self.s, ctypes.byref(status)) == 0
        return status.value

    def end(self):
        graph = ctypes.c_uint64()
        return self.cuStreamEndCapture(self.s, ctypes.byref(graph)), graph.value


@claim
def test_a_capture_becomes_a_graph_that_can_be_launched():
    d = Capture()
    assert d.status() == 1 and d.launch(d.kernel, d.s) == 0
    result, graph = d.end()
    count = ctypes.c_size_t()
    assert result == 0 and d.cuGraphGetNodes(graph, None, ctypes.byref(count)) == 0 and count.value == 1
    result, executable = d.made("cuGraphInstantiateWithFlags", graph, ctypes.c_uint64(0))
    assert result == 0 and d.cuGraphLaunch(executable, d.s) == 0 and d.cuStreamSynchronize(d.s) == 0


@claim
def test_captured_copies_happen_when_the_graph_is_launched():
    d, value = Capture(mode=2), ctypes.c_int()
    memory = d.made("cuMemAlloc_v2", 4)[1]
    assert d.cuMemsetD32Async(memory, 5, 1, d.s) == 0
    executable = d.made("cuGraphInstantiateWithFlags", d.end()[1], ctypes.c_uint64(0))[1]
    assert d.cuMemcpyDtoH_v2(ctypes.byref(value), memory, 4) == 0 and value.value == 0
    assert d.cuGraphLaunch(executable, d.s) == 0
    assert d.cuMemcpyDtoH_v2(ctypes.byref(value), memory, 4) == 0 and value.value == 5


def spoils(action, result, **options):
    """The action answers `result` and the capture is invalid afterwards."""
    d = Capture(**options)
    assert action(d) == result
    assert d.launch(d.kernel, d.s) == 901 and d.end() == (901, 0)


@claim
def test_synchronising_a_capturing_stream_is_900_and_ends_the_capture():
    spoils(lambda d: d.cuStreamSynchronize(d.s), 900)


@claim
def test_synchronising_the_context_of_a_capture_is_900():
    spoils(lambda d: d.cuCtxSynchronize(), 900)


@claim
def test_an_allocation_in_a_global_capture_is_900():
    spoils(lambda d: d.made("cuMemAlloc_v2", 16)[0], 900)


@claim
def test_the_legacy_stream_meets_the_capture_of_a_blocking_stream_with_906():
    spoils(lambda d: d.launch(d.kernel, 0), 906, flags=0)


@claim
def test_asking_the_legacy_stream_answers_906_and_spoils_nothing():
    d, status = Capture(flags=0), ctypes.c_int()
    assert d.cuStreamIsCapturing(None, ctypes.byref(status)) == 906
    assert d.launch(d.kernel, d.s) == 0 and d.end()[0] == 0


@claim
def test_a_relaxed_capture_permits_an_allocation():
    d = Capture(mode=2)
    assert d.made("cuMemAlloc_v2", 16)[0] == 0 and d.status() == 1


@claim
def test_a_thread_that_made_itself_relaxed_may_allocate():
    d, mode = Capture(), ctypes.c_int(2)
    assert d.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode)) == 0 and mode.value == 0
    assert d.made("cuMemAlloc_v2", 16)[0] == 0 and d.status() == 1


@claim
def test_a_global_capture_forbids_another_threads_allocation_and_a_thread_local_one_does_not():
    for mode, expected in ((0, 900), (1, 0)):
        d, seen = Capture(mode=mode), []

        def work():
            d.cuCtxSetCurrent(d.context)
            seen.append(d.made("cuMemAlloc_v2", 16)[0])

        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        d.end()
        assert seen == [expected]


@claim
def test_a_forked_capture_must_be_joined():
    for joined, expected in ((False, 904), (True, 0)):
        d = Capture()
        other, event, back = d.stream(), d.made("cuEventCreate", 0)[1], d.made("cuEventCreate", 0)[1]
        assert d.launch(d.kernel, d.s) == 0 and d.cuEventRecord(event, d.s) == 0 and d.cuStreamWaitEvent(other, event, 0) == 0
        assert d.launch(d.kernel, other) == 0
        if joined:
            assert d.cuEventRecord(back, other) == 0 and d.cuStreamWaitEvent(d.s, back, 0) == 0
        assert d.end()[0] == expected


@claim
def test_a_kernel_without_an_image_cannot_become_a_node():
    d = Driver()
    graph = d.made("cuGraphCreate", 0)[1]
    for code, expected in ((FITS, 0), (MISFIT, NO_IMAGE)):
        params = (ctypes.c_uint64 * 9)(d.kernel_of(code), 1 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32)
        assert d.made("cuGraphAddKernelNode_v2", graph, None, 0, params)[0] == expected


# ---- threads
@claim
def test_many_threads_may_do_everything_at_once():
    d, wrong = Driver(), []

    def work():
        d.cuCtxSetCurrent(d.context)
        for _ in range(50):
            memory = d.made("cuMemAlloc_v2", 4096)[1]
            stream, module = d.stream(), d.module_of(FITS)[1]
            function = d.made("cuModuleGetFunction", module, b"a")[1]
            results = [d.launch(function, stream), d.cuStreamSynchronize(stream), d.cuMemFree_v2(memory), d.cuStreamDestroy_v2(stream), d.cuModuleUnload(module)]
            wrong.extend(r for r in results if r)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert wrong == []


# ---- the log
def test_the_log_has_a_line_for_every_call(tmp_path):
    log = tmp_path / "log"
    done = subprocess.run([sys.executable, __file__, "logged"], env={**os.environ, "SIM_LOG": str(log), "SIM_SM": "120"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ", 2)[2] for line in log.read_text().splitlines()]
    assert lines[0] == "cuInit(0) = 0"
    assert [line for line in lines if line.startswith("cuLaunchKernel(") and ":a, 1, 1, 1, 32," in line and line.endswith("= 209 CUDA_ERROR_NO_BINARY_FOR_GPU")]


def logged():
    d = Driver()
    assert d.launch(d.kernel_of(MISFIT)) == NO_IMAGE


if __name__ == "__main__":
    chosen = globals()[sys.argv[1]]
    getattr(chosen, "body", chosen)()
