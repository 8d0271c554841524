"""Every function of the list fails, or is missing, in turn: the program behaves as it would without the library."""

import re

import pytest

from conftest import ROOT

ENTRIES = re.findall(
    r"^NK_ENTRY\((DRIVER|RUNTIME), (\w+), [^,]+, (\w+), (\w+), (\d+),",
    (ROOT / "include" / "driver" / "entries.def").read_text(),
    re.M,
)
DRIVER = sorted({symbol for lib, _, symbol, _, _ in ENTRIES if lib == "DRIVER"})
# Without these no runtime starts, with the library or without it; the report has nothing to say then.
NEWER = sorted({base for lib, _, _, base, since in ENTRIES if lib == "DRIVER" and int(since) > 11000})
RESULTS = [1, 2, 201, 209, 400, 500, 700, 999]
GOOD, BAD = ["80"], ["90"]


def test_the_list_was_read():
    """A change of the list's form must not turn the tests below into none."""
    assert len(DRIVER) > 40 and "cuLaunchKernel" in DRIVER and "cuLibraryGetModule" in NEWER


# 11.8's runtime crashes at its end, by itself and not always, where it cannot ask for the loading mode.
PAIRS = [(v, s) for v in ("11.8", "12.4", "13.5") for s in DRIVER if (v, s) != ("11.8", "cuModuleGetLoadingMode")]


@pytest.mark.parametrize("version,symbol", PAIRS)
def test_a_function_that_fails_fails_the_program_no_differently(run, program, version, symbol):
    app = program("launches", version, GOOD, BAD)
    for result in RESULTS:
        out = run(app, "a", "b", "a", env={"SIM_FAIL": f"{symbol}@1+={result}", "NOKERNEL_SYNC": "off"})
        assert out.code >= 0, f"{symbol} = {result}: killed by signal {-out.code}"


@pytest.mark.parametrize("symbol", ["cuLaunchKernel", "cuStreamSynchronize", "cuStreamQuery", "cuStreamIsCapturing",
                                    "cuThreadExchangeStreamCaptureMode", "cuCtxGetDevice"])
@pytest.mark.parametrize("version", ["12.4", "13.5"])
def test_what_our_own_wait_calls_may_fail_too(run, program, version, symbol):
    """NOKERNEL_SYNC=launch: an error can arrive earlier, but nothing crashes and the report stays readable."""
    app = program("launches", version, GOOD, BAD)
    for result in RESULTS:
        out = run(app, "a", "b", "a", env={"SIM_FAIL": f"{symbol}@1+={result}"}, same=False)
        assert out.code >= 0 and out.lines


@pytest.mark.parametrize("base", NEWER)
@pytest.mark.parametrize("version", ["11.8", "12.4", "13.5"])
def test_a_driver_that_lacks_a_newer_function_is_used_as_it_is(run, program, version, base):
    out = run(program("launches", version, GOOD, BAD), "a", "b", env={"SIM_LACKS": base})
    assert out.code >= 0


@pytest.mark.parametrize("version", ["11.8", "12.4"])
def test_a_driver_without_all_that_we_could_do_without_still_has_its_failure_named(run, program, version):
    lacks = "cuFuncGetName,cuKernelGetName,cuStreamIsCapturing,cuStreamQuery,cuThreadExchangeStreamCaptureMode"
    out = run(program("launches", version, GOOD, BAD), "a", "b", env={"SIM_LACKS": lacks})
    assert [f["kernel"] for f in out.report["failures"]] == ["_Z3k_bPf"]
