"""Every function of the list fails with every error, or is missing, in turn: the program does what it does without us.

Thousands of cases: each program is started once and forked for each case (tests/apps/each.c).
"""

import functools
import json
import re
import zlib

import pytest

from conftest import ROOT, command, environment, execute, preload, schema
from fixtures import images, programs

LIST = (ROOT / "include" / "driver" / "entries.def").read_text()
ENTRIES = re.findall(r"^NK_ENTRY\((DRIVER|RUNTIME), (\w+), [^,]+, (\w+), (\w+), (\d+),", LIST, re.M)
DRIVER = sorted({symbol for lib, _, symbol, _, _ in ENTRIES if lib == "DRIVER"})
# Without these no runtime starts, with the library or without it; the report has nothing to say then.
NEWER = sorted({base for lib, _, _, base, since in ENTRIES if lib == "DRIVER" and int(since) > 11000})
RESULTS = [code for code in map(int, re.findall(
    r"^NK_RESULT\((\d+),", (ROOT / "include" / "driver" / "results.def").read_text(), re.M)) if code]
GOOD, BAD = ["80"], ["90"]
RUNTIMES = ["11.8", "12.4", "13.5"]


def test_the_lists_were_read():
    """A change of their form must not turn the tests below into none."""
    assert len(DRIVER) > 40 and "cuLaunchKernel" in DRIVER and "cuLibraryGetModule" in NEWER
    assert len(RESULTS) > 140 and {1, 209, 700, 999} <= set(RESULTS)


@pytest.fixture(scope="session")
def each(store):
    return programs.linked(store, "libeach.so", [programs.compiled(store, "each.c")], ["-ldl"], shared=True)


@pytest.fixture(scope="session")
def app(store, program):
    """app(name): a program as a command: "calls_all", or launches.c with the runtime of that version."""
    def command_of(name):
        if name != "calls_all":
            return [program("launches", name, GOOD, BAD, static=name == "13.5"), "a", "b", "a"]
        # Compiled again when the list, which it includes, is another.
        source = programs.compiled(store, "calls_all.c", f"-I{ROOT / 'include'}", f"-DLIST={zlib.crc32(LIST.encode())}")
        kernel = "_Z3k_aPf"
        return [programs.linked(store, "calls_all", [source], ["-ldl"]),
                images.container(store, ["80", "ptx80"], [kernel]), images.image(store, "ptx80", [kernel])]
    return functools.cache(command_of)


@pytest.fixture(scope="session")
def called(app, tmp_path_factory):
    """called(name): the driver's functions that this program and the library call when nothing fails."""
    @functools.cache
    def names(name):
        folder = tmp_path_factory.mktemp("called")
        env = environment(folder, 80, 13000, None, False, {"SIM_LOG": folder / "log", "LD_PRELOAD": preload()})
        execute(app(name), env, folder)
        return set(re.findall(r"^\d+ \d+ (\w+)\(", (folder / "log").read_text(), re.M))
    return names


def is_called(symbol, names):
    return any(re.fullmatch(rf"{symbol}(_v\d+)?(_ptsz)?", name) for name in names)


def read_reports(folder):
    """All recordings there in one JSON report, which fits its schema; how many there are."""
    files = sorted((folder / "recordings").glob("*.nkr"))
    if files:
        done = command("report", "--json", *files)
        report = json.loads(done.stdout)
        assert len(report["recordings"]) == len(files), done.stderr
        # The schema says the same about each element of a list: a few of thousands tell.
        for name, value in report.items():
            if isinstance(value, list) and len(value) > 12:
                report[name] = value[:: len(value) // 12]
        schema().validate(report)
    return len(files)


@pytest.fixture
def twice(tmp_path, each):
    """twice(command, variable, values, ...) -> the program for each value, without and with the library."""
    def run(command, variable, values, env=None, after=()):
        done = []
        for name, libraries in (("plain", [each]), ("ours", None)):
            folder = tmp_path / name
            folder.mkdir(exist_ok=True)
            base = environment(folder, 80, 13000, None, False, {
                "NOKERNEL_REPORT": "none", "NOKERNEL_SYNC": "off", "EACH": variable,
                "EACH_VALUES": " ".join(map(str, values)), **(env or {})})
            base["LD_PRELOAD"] = ":".join(map(str, libraries)) if libraries else preload(after=[each, *after])
            done.append(execute(command, base, folder))
        return done
    return run


def ends(stdout):
    return dict(re.findall(r"^== (\S+) ended with (-?\d+)$", stdout, re.M))


# 11.8's runtime crashes at its end, by itself and not always, where it cannot ask for the loading mode.
PAIRS = [(v, s) for v in ["calls_all", *RUNTIMES] for s in DRIVER if (v, s) != ("11.8", "cuModuleGetLoadingMode")]


def same_for_each(plain, ours, count):
    assert len(ends(ours.stdout)) == count
    assert (ours.stdout, ours.stderr, ours.returncode) == (plain.stdout, plain.stderr, 0)
    assert not [(case, code) for case, code in ends(ours.stdout).items() if int(code) < 0]


@pytest.mark.parametrize("name,symbol", PAIRS)
def test_a_function_that_fails_in_any_way_fails_the_program_no_differently(twice, app, called, tmp_path, name, symbol):
    """Those that a program never calls: see the next test."""
    if not is_called(symbol, called(name)):
        assert name != "calls_all", f"{symbol} is not called: add it to calls_all.c"
        return
    plain, ours = twice(app(name), "SIM_FAIL", [f"{symbol}={r}" for r in RESULTS])
    same_for_each(plain, ours, len(RESULTS))
    read_reports(tmp_path / "ours")


@pytest.mark.parametrize("name", RUNTIMES)
def test_functions_that_a_program_does_not_call_are_not_called_for_it_when_they_fail(twice, app, called, name):
    rest = [symbol for symbol in DRIVER if not is_called(symbol, called(name))]
    plain, ours = twice(app(name), "SIM_FAIL", [f"{symbol}=999" for symbol in rest])
    same_for_each(plain, ours, len(rest))


@pytest.mark.parametrize("symbol", ["cuLaunchKernel", "cuStreamSynchronize", "cuStreamQuery", "cuStreamIsCapturing",
                                    "cuThreadExchangeStreamCaptureMode", "cuCtxGetDevice"])
@pytest.mark.parametrize("name", ["calls_all", "12.4", "13.5"])
def test_what_our_own_wait_calls_may_fail_in_any_way_too(twice, app, tmp_path, name, symbol):
    """NOKERNEL_SYNC=launch: an error can arrive earlier, but nothing crashes and the report stays readable."""
    _, ours = twice(app(name), "SIM_FAIL", [f"{symbol}={r}" for r in RESULTS],
                    env={"NOKERNEL_SYNC": "launch", "NOKERNEL_WAIT": "1"})
    assert set(ends(ours.stdout).values()) == {"0"} and len(ends(ours.stdout)) == len(RESULTS)
    assert read_reports(tmp_path / "ours") == len(RESULTS)


@pytest.mark.parametrize("sync", ["off", "launch", "trail"])
@pytest.mark.parametrize("name", ["calls_all", *RUNTIMES])
def test_a_driver_that_lacks_a_newer_function_is_used_as_it_is(twice, app, tmp_path, name, sync):
    """Each function that came after CUDA 11.0 in turn, also those that only we call."""
    plain, ours = twice(app(name), "SIM_LACKS", NEWER, env={"NOKERNEL_SYNC": sync})
    assert len(ends(ours.stdout)) == len(NEWER)
    assert (ours.stdout, ours.stderr) == (plain.stdout, plain.stderr)
    read_reports(tmp_path / "ours")


@pytest.mark.parametrize("version", ["11.8", "12.4"])
def test_a_driver_without_all_that_we_could_do_without_still_has_its_failure_named(run, program, version):
    lacks = "cuFuncGetName,cuKernelGetName,cuStreamIsCapturing,cuStreamQuery,cuThreadExchangeStreamCaptureMode"
    out = run(program("launches", version, GOOD, BAD), "a", "b", env={"SIM_LACKS": lacks})
    assert [f["kernel"] for f in out.report["failures"]] == ["_Z3k_bPf"]


# ---- what the library itself asks the system for
TOLD = ("nokernel: no recording: ", "nokernel: the recording ", "nokernel: no report: ")


def blocks(text):
    """{word: what was written for it}"""
    return {word: part for word, part in re.findall(r"^== (\S+)\n(.*?)^== \1 ended with ", text, re.M | re.S)}


@pytest.mark.plain
@pytest.mark.parametrize("onward", ["", "+"], ids=["once", "from then on"])
@pytest.mark.parametrize("name,sync", [*((name, "off") for name in RUNTIMES), ("12.4", "trail")])
def test_each_of_our_allocations_and_writes_may_fail(twice, app, store, tmp_path, name, sync, onward):
    """The program is unharmed, and either the report is what it is without, or a line says what was lost."""
    fails = programs.linked(store, "libfails.so", [programs.compiled(store, "fails_ours.c")], ["-ldl"], shared=True)
    env = {"NOKERNEL_REPORT": "text", "NOKERNEL_SYNC": sync}
    _, whole = twice(app(name), "NONE", ["whole"], env=env)
    headline = blocks(whole.stderr)["whole"].splitlines()[0]
    assert "1 kernel of 2 has no image" in headline
    failed = 0
    for first in range(1, 100_000, 100):
        cases = [f"{i}{onward}" for i in range(first, first + 100)]
        _, ours = twice(app(name), "FAIL_OURS", cases, env=env, after=[fails])
        assert list(ends(ours.stdout).items()) == [(case, "0") for case in cases]
        assert set(blocks(ours.stdout).values()) == set(blocks(whole.stdout).values())
        for case, stderr in blocks(ours.stderr).items():
            failed += "fails_ours: " in stderr
            lines = stderr.splitlines()
            assert headline in lines or any(line.startswith(TOLD) for line in lines), f"{case}:\n{stderr}"
        if "fails_ours: " not in ours.stderr:
            break
    assert failed > 300
