"""real.py - running real applications of the sets, and what all of them have in common.

    out = real.start(run, "triton", "triton_add.py", sm=80)
    real.healthy(out)
"""

import os

import conftest
import sets

NO_IMAGE = "no kernel image is available for execution on the device"


def start(run, name, script, *arguments, sm, env=None, **keywords):
    """A script of apps/ with the Python of that set. Some write times to stderr: only what the library adds is looked for."""
    return run(
        sets.python(name), sets.APPS / script, *arguments, sm=sm, env=sets.environment(name, **(env or {})),
        exit_report=False, **keywords,
    )  # fmt: skip


def report_text(out, recording):
    """What `nokernel report` prints of a recording, with the home folder that the program had."""
    return conftest.command("report", recording, env={**os.environ, "HOME": str(out.folder.parent)}).stdout


def shown(out):
    """The report, which the library wrote to stderr when the program ended."""
    text = report_text(out, out.recordings[0])
    assert text and text in out.stderr, f"the report is not on stderr:\n{out.stderr}\n--- it is\n{text}"
    return text


def healthy(out):
    assert out.code == 0, out.stderr
    assert out.report["failures"] == [] and out.report["summary"]["healthy"], out.report["summary"]
    assert len(shown(out).splitlines()) == 1, shown(out)


def kernels(report):
    """{name: entry} of the kernels that were launched or wanted."""
    return {kernel["name"]: kernel for kernel in report["kernels"]}


def program_lines(failure, script):
    """The lines of the application's own script in a Python stack, innermost first."""
    return [frame["line"] for frame in failure["python_stack"] if os.path.basename(frame["file"]) == script]


def line_of(script, text):
    """The number of the one line of a script of apps/ that contains that text."""
    (number,) = [n for n, line in enumerate((sets.APPS / script).read_text().splitlines(), 1) if text in line]
    return number
