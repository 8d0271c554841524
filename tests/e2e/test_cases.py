"""Public reports, each staged: the right library is blamed for the right reason, and what is advised would have helped.

The table is cases.py. A case is a run of a program on the simulated driver, a scan, or a message that `explain` is asked about.
"""

import json
import shutil

import pytest

import claims
import scanning
from cases import CASES, NOT_STAGED, STORED, App, Calls, Linked, Memory, Says, Scanned, Steps
from conftest import SIM, command
from fixtures import images, programs, toolkit


def words(text):
    return " ".join(text.replace("\\\n", " ").split())


# ---- staging

def install(lib, built, folder):
    """The library where its package lies, with the metadata that pip leaves. Its path."""
    prefix = folder / lib.prefix
    if not lib.package:
        path = prefix / lib.path
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(built, path)
        return path
    site = prefix / "lib" / "python3.11" / "site-packages"
    path, version = site / lib.path, lib.version.split("+")[0]
    info = site / f"{lib.package.replace('-', '_')}-{lib.version}.dist-info"
    path.parent.mkdir(parents=True, exist_ok=True)
    info.mkdir()
    shutil.copy(built, path)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {lib.package}\nVersion: {lib.version}\n")
    (info / "RECORD").write_text(f"{lib.path},,\n")
    if lib.package == "torch" and version == lib.version:  # what PyPI's own wheels say of their CUDA
        (site / "torch" / "version.py").write_text(f"__version__ = '{version}'\ncuda = '{PYPI_CUDA.get(version, '12.6')}'\n")
    return path


PYPI_CUDA = {"2.7.1": "12.6"}


def built(store, lib, source, version, static):
    """The library with its kernels; stored plainly, so that every driver can read it."""
    objects = [programs.compiled(store, source), *programs.kernels(store, lib.a.split(), (lib.b or lib.a).split(), STORED,
                                                                   programs.style_of(version))]
    return programs.linked(store, "lib.so", objects, toolkit.runtime_flags(version, static), shared=True)


def calls(run, store, folder, staged):
    version = staged.runtime
    static = toolkit.RUNTIMES[version][2]
    paths = [install(lib, built(store, lib, "plugin.c", version, static), folder) for lib in staged.libs]
    for lib in staged.idle:
        install(lib, built(store, lib, "plugin.c", version, static), folder)
    host = programs.linked(store, "opens_plugin", [programs.compiled(store, "opens_plugin.c")], ["-ldl"])
    return run(host, *paths, sm=staged.sm, driver=staged.driver, env=staged.env)


def steps(run, store, folder, staged):
    paths = [install(lib, built(store, lib, "half.c", staged.runtime, False), folder) for lib in staged.libs]
    host = programs.linked(store, "two_halves", [programs.compiled(store, "two_halves.c")], ["-ldl", "-lpthread"])
    return run(host, *paths, *staged.steps, sm=staged.sm, driver=staged.driver, env=staged.env)


def app(run, store, folder, staged):
    path = programs.program(store, staged.name, staged.runtime, staged.a.split(), staged.b.split(), static=staged.static,
                            options=staged.options)
    return run(path, *staged.words, sm=staged.sm, driver=staged.driver, env=staged.env)


def memory(run, store, folder, staged):
    driver = [f"-L{SIM}", "-l:libcuda.so.1"]
    code = programs.linked(store, "lib.so", [programs.compiled(store, "loads_memory.c", "-DSHARED")], driver, shared=True)
    host = programs.linked(store, "loads_memory", [programs.compiled(store, "loads_memory.c")], ["-ldl"])
    path = install(staged.lib, code, folder)
    return run(host, path, images.image(store, staged.image, [claims.A]), claims.A, *["on"] * staged.on, sm=staged.sm,
               driver=staged.driver, env=staged.env)


def linked(run, store, folder, staged):
    host = programs.linked(store, "driver_links", [programs.compiled(store, "driver_links.c")],
                           [f"-L{SIM}", "-l:libcuda.so.1"])
    return run(host, "data", "1", images.image(store, staged.image, [claims.A]), claims.A, sm=staged.sm, driver=staged.driver)


STAGES = {Calls: calls, Steps: steps, App: app, Memory: memory, Linked: linked}


# ---- the answer

def blamed(case, report):
    """The failures, if they are of the right library for the right reason."""
    failures = report["failures"]
    by = "loaded_by" if isinstance(case.staged, Memory) else "library"
    libraries = {claims.base(f[by]) for f in failures}
    assert libraries == set([""] if isinstance(case.staged, Linked) else case.fails.split()), failures
    for failure in failures if len(libraries) == 1 else []:
        assert failure["code"] == case.code, failure
        assert not case.reason or failure["reason"] == case.reason, failure
        assert failure["gpu"] == case.gpu or len(report["gpus"]) > 1 and not case.gpu, failure
    if case.package:
        assert case.package in {f"{f['package']} {f['version']}" for f in failures}, failures


def advised(case, report):
    repairs = [f"{r['text']} | {r['command'] or ''}" for r in report["advice"]]
    every = "\n".join(repairs)
    for part in case.first:
        assert repairs and part in repairs[0], f"the best repair lacks {part}:\n{every}"
    for part in case.fix:
        assert part in every, f"no repair with {part}:\n{every}"
    for part in case.never:
        assert part not in every, f"{part} is advised:\n{every}"


def is_said(case, text):
    said = words(text)
    for part in case.says:
        assert part in said, f"not said: {part}\n{text}"
    for part in case.unsaid:
        assert part not in said, f"said: {part}\n{text}"


def scanned(case, store, folder):
    lib = case.staged.lib
    if ":" in lib.a:
        parts = [(w.split(":")[0], scanning.cubin(store, w.split(":")[0], _Z3k_aPf=w.split(":")[1])) for w in lib.a.split()]
        path = scanning.shared(store, nv_fatbin=[scanning.fatbin(store, *parts)])
    else:
        path = built(store, lib, "plugin.c", "12.9", True)
    path = install(lib, path, folder)
    done = command("scan", "--gpu", case.staged.gpu, path)
    assert done.returncode == 0, done.stderr
    is_said(case, done.stdout)


def explained(case):
    done = command("explain", case.staged.message)
    assert done.returncode == 0, done.stderr
    is_said(case, done.stdout)


@pytest.mark.parametrize("case", [pytest.param(c, id=c.source, marks=[pytest.mark.xfail(reason=c.wrong, strict=True)] if c.wrong
                                               else []) for c in CASES])
def test_a_public_report_gets_the_right_answer(run, store, tmp_path, case):
    if isinstance(case.staged, Says):
        return explained(case)
    if isinstance(case.staged, Scanned):
        return scanned(case, store, tmp_path)
    out = STAGES[type(case.staged)](run, store, tmp_path, case.staged)
    if case.runs:
        claims.nothing_failed(out)
        claims.runs(out.report, claims.A, case.runs)
        return
    blamed(case, out.report)
    advised(case, out.report)
    is_said(case, out.text)


def test_what_is_not_staged_of_a_report_is_listed_with_its_reason():
    sources = {case.source for case in CASES}
    for source, reason in NOT_STAGED.items():
        assert len(reason) > 20 and (source in sources or "as " in reason), source
    assert len(sources) == len(CASES)
