"""conftest.py - runs a program with and without the library on the simulated driver, and reads the report.

    def test_b_is_named(run, program):
        out = run(program("launches", "12.4", a=["80"], b=["90"]), "a", "b", sm=80)
        assert out.report["failures"][0]["kernel"] == "_Z3k_bPf"

`run` itself asserts what holds for every program: stdout and exit status are the same with and without the library, the
JSON fits its published schema, and what stood on stderr at exit is what `nokernel report FILE` prints.

Environment: B the build folder (default build), NOKERNEL_SIM the folder of the simulated libcuda.so.1 (default B/sim),
NOKERNEL_CACHE the downloads, NOKERNEL_MUST_RUN=1 makes a skipped test a failed one.
"""

import ctypes
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from fixtures import images, programs, toolkit  # noqa: E402

BUILD = Path(os.environ.get("B") or ROOT / "build").resolve()
SIM = Path(os.environ.get("NOKERNEL_SIM") or BUILD / "sim").resolve()
LIBRARY = BUILD / "libnokernel.so"
COMMAND = BUILD / "nokernel"
SCHEMA = ROOT / "include" / "report" / "schema" / "nokernel-report-1.json"
TIMEOUT = 120
# For a library built with SAN=...: leaks are not looked for (NVIDIA's runtimes leave theirs to the end of the process),
# signals stay the program's, and the first finding ends it, which no test overlooks.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_abort=0:handle_sigbus=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:handle_segv=0:handle_abort=0",
}


@dataclass
class Outcome:
    """What one program did, and what the library recorded of it."""

    stdout: str
    stderr: str  # everything; `text` is the report in it
    code: int
    folder: Path  # NOKERNEL_DIR
    text: str = ""
    report: dict = None
    reports: list = field(default_factory=list)  # of all recordings: one a process that used CUDA
    lines: list = field(default_factory=list)  # stdout

    @property
    def recordings(self):
        return sorted(self.folder.rglob("*.nkr")) if self.folder.exists() else []


@functools.cache
def schema():
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))


@functools.cache
def sanitizers():
    """What must stand first in LD_PRELOAD: the sanitizers that the library was built with."""
    needed = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
    runtimes = re.findall(r"\[(lib[at]san\.so\.\d+)\]", needed)
    return [subprocess.check_output(["gcc", f"-print-file-name={r}"], text=True).strip() for r in runtimes]


def preload(before=(), after=()):
    """LD_PRELOAD's value, with other libraries before and after ours."""
    return ":".join(map(str, [*sanitizers(), *before, LIBRARY, *after]))


def command(*arguments, env=None):
    """Runs build/nokernel."""
    return subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT, env=env or os.environ
    )


def read_report(path, env=None):
    """The report of a recording as JSON, checked against the schema."""
    done = command("report", "--json", path, env=env)
    assert done.stdout, f"nokernel report --json {path} printed nothing, ended with {done.returncode}:\n{done.stderr}"
    report = json.loads(done.stdout)
    errors = [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in schema().iter_errors(report)]
    assert not errors, f"the JSON report does not fit its schema:\n" + "\n".join(errors[:10])
    return report


def environment(folder, sm, driver, no_image_at, eager, env):
    base = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "LD_LIBRARY_PATH": str(SIM),
        "SIM_SM": str(sm),
        "SIM_DRIVER": str(driver),
        "NOKERNEL_DIR": str(folder / "recordings"),
    }
    if no_image_at:
        base["SIM_NO_IMAGE_AT"] = no_image_at
    if eager:
        base["CUDA_MODULE_LOADING"] = "EAGER"
    base.update({name: os.environ.get(name, default) for name, default in SANITIZERS.items()})
    base.update({k: str(v) for k, v in (env or {}).items()})
    return {k: v for k, v in base.items() if v}


def ended_by_pythons_race(arguments, done):
    """CPython up to 3.13 ends a thread that asks for the GIL while the interpreter shuts down by unwinding its stack; a
    C++ frame of PyTorch on it that throws nothing aborts then. Of a training on PyTorch 2.15, two at a time on two
    processors, 3 of 123 runs ended so without the library, 0 of 122 with it (seen on the stack of pt_autograd_0):
    https://github.com/pytorch/pytorch/issues/38228 and 190489. Such an end says nothing of what is tested."""
    by_python = any(Path(word).name.startswith("python") for word in map(str, arguments))
    aborted = done.returncode in (-signal.SIGABRT, 128 + signal.SIGABRT)
    return by_python and aborted and "terminate called without an active exception\n" in done.stderr


def execute(arguments, env, folder, timeout=TIMEOUT):
    """Runs it to its end; up to three times where it ends by Python's own race, which is printed as a warning."""
    for tries in range(3):
        done = subprocess.run(
            list(map(str, arguments)),
            env=env,
            cwd=folder,
            timeout=timeout,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        if not ended_by_pythons_race(arguments, done):
            break
        warnings.warn(f"run again, it was aborted while Python shut down: {' '.join(map(str, arguments))}")
        if tries < 2 and "NOKERNEL_DIR" in env:
            shutil.rmtree(env["NOKERNEL_DIR"], ignore_errors=True)
    return done


def report_at_exit(plain, done, recordings, env):
    """The part of stderr that the library wrote: it is what `nokernel report` prints of those recordings."""
    texts = [command("report", path, env=env).stdout for path in recordings]
    for text in texts:
        assert text in done.stderr, f"stderr does not end with the report:\n{done.stderr}\n--- the report is\n{text}"
    rest = functools.reduce(lambda rest, text: rest.replace(text, "", 1), texts, done.stderr)
    assert rest == plain.stderr, f"the library wrote more than its report:\n{rest}"
    return "".join(texts)


def without_privilege():
    """To be called in the child: root reads everything, unless it gives that up."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            if libc.prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
                os._exit(99)


@pytest.fixture
def run(tmp_path):
    """run(program, *args, sm=80, ...) -> Outcome. Keywords:

    driver, no_image_at   SIM_DRIVER and SIM_NO_IMAGE_AT
    eager                 CUDA_MODULE_LOADING=EAGER
    env                   more environment; a value of "" takes a variable away
    before, after         other libraries of LD_PRELOAD, before and after ours
    same                  False: do not compare with a run without the library
    exit_report           False: the program ends in a way that lets nobody speak
    """
    count = 0

    def run_both(
        program,
        *arguments,
        sm=80,
        driver=13000,
        no_image_at=None,
        eager=False,
        env=None,
        before=(),
        after=(),
        same=True,
        exit_report=True,
        timeout=TIMEOUT,
    ):
        nonlocal count
        count += 1
        folder = tmp_path / f"run{count}"
        folder.mkdir()
        base = environment(folder, sm, driver, no_image_at, eager, env)
        others = {"LD_PRELOAD": ":".join(map(str, [*before, *after]))} if before or after else {}
        plain = execute([program, *arguments], {**base, **others}, folder, timeout)
        assert plain.returncode >= 0 or not exit_report, (
            f"without the library the program was ended by signal {-plain.returncode}:\n{plain.stderr}"
        )
        ours = {**base, "LD_PRELOAD": preload(before, after)}
        done = execute([program, *arguments], ours, folder, timeout)
        out = Outcome(done.stdout, done.stderr, done.returncode, Path(base["NOKERNEL_DIR"]))
        out.lines = done.stdout.splitlines()
        if same:
            assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode), (
                f"the library changed the program: it printed\n{done.stdout}and ended with {done.returncode}; "
                f"without the library\n{plain.stdout}and {plain.returncode}. stderr:\n{done.stderr}"
            )
        out.reports = [read_report(path, base) for path in out.recordings]
        out.report = out.reports[0] if len(out.reports) == 1 else None
        if exit_report and base.get("NOKERNEL_REPORT") != "none":
            out.text = report_at_exit(plain, done, out.recordings, base)
        return out

    return run_both


@pytest.fixture(scope="session")
def store():
    """The folder of built images and programs."""
    return images.Store(BUILD / "fixtures")


@pytest.fixture(scope="session")
def program(store):
    """program("launches", "12.4", a=["80"], b=["90"], static=False, ...): see fixtures/programs.py."""
    return functools.partial(programs.program, store)


def killed_by(outcome, name):
    return outcome.code == -getattr(signal, name)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Where a test must run, a skip is a failure, with its reason."""
    report = (yield).get_result()
    if report.skipped and os.environ.get("NOKERNEL_MUST_RUN") == "1" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where it must run: {report.longrepr}"


def pytest_configure(config):
    config.addinivalue_line("markers", "sanitized: runs under SAN=address,undefined too (make check-sanitized)")
    # Limits on address space, RTLD_DEEPBIND, a root without /proc, and `nokernel run` (which sets LD_PRELOAD itself).
    config.addinivalue_line("markers", "plain: never with a sanitizer, whose own start-up would fail there")


def pytest_sessionstart(session):
    """Says at once what is missing, instead of failing in every test."""
    if hasattr(session.config, "workerinput"):
        return
    for path, how in ((LIBRARY, "make"), (COMMAND, "make"), (SIM / "libcuda.so.1", "make sim")):
        if not path.exists():
            pytest.exit(f"{path} is not there: run {how}", returncode=2)
    if not toolkit.NVCC.exists():
        pytest.exit(f"{toolkit.NVCC} is not there: run scripts/get-runtimes", returncode=2)
