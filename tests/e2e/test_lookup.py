"""However a program finds the driver or the runtime, its loads and launches are seen."""

import pytest

import claims
from conftest import SIM
from fixtures import images, programs, toolkit

GOOD, BAD = ["80"], ["90"]
NAME = claims.B
LOADS_OF_MODULES = ["module", "data", "dataex", "fatbinary"]
LOADS_OF_LIBRARIES = ["library", "library-file", "library-module", "library-function"]
LOADS = [*LOADS_OF_MODULES, *LOADS_OF_LIBRARIES, "enumerate"]
FILES = {"cubin": ["90"], "fatbin": ["90", "75"], "ptx": ["ptx90"]}


def driver_program(store, how):
    """driver_HOW.c: linked with the driver, finding it by itself, or through the runtime of a version."""
    if how == "linked":
        return programs.linked(store, "driver_linked", [programs.compiled(store, "driver_linked.c")],
                               [f"-L{SIM}", "-l:libcuda.so.1"])
    return programs.linked(store, "driver_found", [programs.compiled(store, "driver_found.c")], ["-ldl"])


def image_file(store, kind, fits):
    words = FILES[kind] if not fits else {"cubin": ["80"], "fatbin": ["80", "90"], "ptx": ["ptx75"]}[kind]
    return images.container(store, words, [NAME]) if kind == "fatbin" else images.image(store, words[0], [NAME])


def arguments(store, load, kind="cubin", fits=True):
    return [load, image_file(store, "fatbin" if load == "fatbinary" else kind, fits), NAME]


def owner(how, load):
    """Where the image lies: in the file that was loaded, else in memory of the program."""
    return "sm_90.cubin" if load in ("module", "library-file") else f"driver_{how}"


WAYS = [("linked", None), *(("found", way) for way in ("dlsym", "procaddr1", "procaddr2", "itself"))]


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("how,way", WAYS, ids=lambda v: v or "")
def test_a_load_that_fits_is_seen_and_its_launch_counted(run, store, how, way, load):
    out = run(driver_program(store, how), *([way] if way else []), *arguments(store, load))
    assert "launch 0" in out.lines
    claims.launched(out.report, NAME, 1)
    claims.runs(out.report, NAME, "native", "exact")
    claims.nothing_failed(out)


@pytest.mark.parametrize("load", LOADS_OF_MODULES)
@pytest.mark.parametrize("how,way", WAYS, ids=lambda v: v or "")
def test_a_module_that_does_not_fit_is_a_failed_load_of_that_program(run, store, how, way, load):
    out = run(driver_program(store, how), *([way] if way else []), *arguments(store, load, fits=False))
    assert "load 209" in out.lines
    failure = claims.failed(out.report, NAME, 209, owner(how, load), knowable=False)
    assert failure["api"].startswith("cuModuleLoad"), failure
    assert claims.base(failure["called_by"]) == f"driver_{how}", failure


@pytest.mark.parametrize("load", LOADS_OF_LIBRARIES)
@pytest.mark.parametrize("how,way", WAYS, ids=lambda v: v or "")
def test_a_library_that_does_not_fit_is_one_failure(run, store, how, way, load):
    out = run(driver_program(store, how), *([way] if way else []), *arguments(store, load, fits=False))
    assert " 209" in out.stdout
    if load == "library-function":
        # Nothing was launched: runtimes ask for the function of a kernel just to answer a query about it.
        assert [(p["kernel"], p["code"]) for p in out.report["probes"]] == [(NAME, 209)]
        assert out.report["failures"] == []
        return
    failure = claims.failed(out.report, NAME, 209, owner(how, load), knowable=False)
    assert claims.base(failure["called_by"]) == f"driver_{how}", failure
    assert claims.missing_count(out.report) == 1


@pytest.mark.sanitized
@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("load", ["module", "data", "library", "library-file"])
@pytest.mark.parametrize("fits", [True, False], ids=["fits", "misfit"])
def test_every_kind_of_file_is_read(run, store, kind, load, fits):
    """A cubin, a fat binary and PTX text, loaded by the program itself; PTX is compiled where it fits."""
    out = run(driver_program(store, "found"), "dlsym", *arguments(store, load, kind, fits))
    if fits:
        assert "launch 0" in out.lines
        claims.runs(out.report, NAME, "jit" if kind == "ptx" else "native")
    else:
        assert "launch 0" not in out.lines
        assert claims.one_failure(out.report)["code"] in (209, 218)


@pytest.mark.sanitized
def test_a_file_that_is_no_image_is_a_failed_load_and_not_a_missing_image(run, store, tmp_path):
    (tmp_path / "text").write_text("this is no image\n" * 10)
    out = run(driver_program(store, "found"), "dlsym", "data", tmp_path / "text", NAME)
    failure = claims.one_failure(out.report)
    assert failure["code"] in (200, 218)
    assert claims.missing_count(out.report) == 0


@pytest.mark.sanitized
def test_a_name_that_is_not_in_the_image_is_no_missing_image(run, store):
    """500, named symbol not found: programs ask for kernels that need not be there."""
    out = run(driver_program(store, "found"), "dlsym", "data", image_file(store, "cubin", True), "no_such_kernel", NAME)
    assert "no_such_kernel 500" in out.lines
    assert claims.missing_count(out.report) == 0
    claims.launched(out.report, NAME, 1)


@pytest.mark.parametrize("version,way", [("11.8", "plain"), ("12.4", "plain"), ("12.9", "plain"), ("12.9", "version"),
                                         ("13.0", "version"), ("13.5", "version")])
@pytest.mark.parametrize("load", ["data", "library"])
@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_what_the_runtime_hands_out_as_entry_points_is_seen(run, store, version, way, load, static):
    if static and not toolkit.RUNTIMES[version][2]:
        version = "12.9" if way == "plain" else "13.5"  # where PyPI has a static one
    if version == "11.8" and load == "library":
        load = "dataex"  # 11.8 asks the driver for functions of its own time only
    app = programs.linked(store, "driver_entry_points", [programs.compiled(store, "driver_entry_points.c")],
                          toolkit.runtime_flags(version, static))
    out = run(app, way, *arguments(store, load))
    claims.launched(out.report, NAME, 1)
    out = run(app, way, *arguments(store, load, fits=False))
    claims.failed(out.report, NAME, 209, "driver_entry_points", knowable=False)


# ---- plug-ins
PLUGINS = [pytest.param(v, s, id=f"{v}-{'static' if s else 'shared'}") for v, s in (
    ("11.8", False), ("12.1", False), ("12.9", True), ("13.5", False), ("13.5", True))]


@pytest.mark.parametrize("version,static", PLUGINS)
def test_a_plug_in_that_is_opened_locally_is_named(run, store, program, version, static):
    """Neither its runtime nor its symbols are in the global scope, as with Python's extensions."""
    plugin = program("plugin", version, GOOD, BAD, static=static, shared=True)
    host = programs.linked(store, "opens_plugin", [programs.compiled(store, "opens_plugin.c")], ["-ldl"])
    out = run(host, plugin)
    assert out.lines == ["plug-in a 0", "plug-in b 209"]
    claims.launched(out.report, claims.A, 1)
    claims.missing(out, claims.B, "libplugin.so")


def two_runtimes(program, own, other, static):
    plugin = program("plugin", other, GOOD, BAD, static=static, shared=True, more=["-Wl,-Bsymbolic"])
    return program("opens_plugin", own, GOOD, BAD, flags=["-DOWN_KERNELS"], more=["-ldl"]), plugin


@pytest.mark.sanitized
@pytest.mark.parametrize("own,other,static", [("13.5", "12.9", True), ("13.0", "12.4", False), ("12.4", "11.8", False),
                                              ("12.9", "13.5", True)])
def test_two_runtimes_in_one_process_are_told_apart(run, program, own, other, static):
    host, plugin = two_runtimes(program, own, other, static)
    out = run(host, plugin)
    assert out.lines == ["own a 0", "plug-in a 0", "plug-in b 209"]
    claims.missing(out, claims.B, "libplugin.so")
    # Both libraries have a kernel a: each counts its own.
    entries = [k for k in out.report["kernels"] if k["name"] == claims.A]
    assert {(claims.base(k["library"]), k["launches"]) for k in entries} == {("opens_plugin", 1), ("libplugin.so", 1)}


# ---- functions that the library does not know
def unknown(report):
    return {call["name"]: call["count"] for call in report["unknown_calls"]}


@pytest.mark.parametrize("version", ["11.8", "12.4", "13.5"])
def test_calls_of_launching_functions_that_are_not_known_are_counted_and_shown(run, program, version):
    """However they were found; the results are the driver's own (`run` compares them)."""
    out = run(program("calls_unknown", version, GOOD, BAD, more=["-ldl"]), "b")
    counts = unknown(out.report)
    assert counts.pop("cuLaunchCooperativeKernelMultiDevice") == 4
    assert set(counts) <= {"cuGraphAddNode"}
    assert "cuLaunchCooperativeKernelMultiDevice of the driver is not known to nokernel" in " ".join(out.text.split())


def test_a_healthy_report_stays_one_line_though_a_function_is_not_known(run, program):
    out = run(program("calls_unknown", "12.4", GOOD, BAD, more=["-ldl"]), "a")
    assert len(out.text.splitlines()) == 1
    assert unknown(out.report)["cuLaunchCooperativeKernelMultiDevice"] == 4


@pytest.mark.parametrize("version", ["11.8", "12.4", "13.5"])
def test_what_a_runtime_asks_for_and_does_not_call_is_not_shown(run, program, version):
    assert unknown(run(program("launches", version, GOOD, BAD), "a", "b").report) == {}
