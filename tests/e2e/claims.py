"""claims.py - what tests say about a report, in one place: a change of the report's format is a change here."""

import os

A, B = "_Z3k_aPf", "_Z3k_bPf"


def base(path):
    return os.path.basename(path or "")


def kernel(report, name, gpu=None):
    """The one entry of that kernel."""
    found = [k for k in report["kernels"] if k["name"] == name and gpu in (None, k["gpu"])]
    assert len(found) == 1, f"{len(found)} entries of kernel {name}, not one: {report['kernels']}"
    return found[0]


def launched(report, name, times, failed=0, gpu=None):
    """That kernel was launched so often, and failed so often."""
    found = kernel(report, name, gpu)
    assert (found["launches"], found["failed"]) == (times, failed), found


def runs(report, name, how, reason=None, gpu=None):
    """The verdict about a kernel: native, jit, none, ..."""
    found = kernel(report, name, gpu)
    assert found["runs"] == how, found
    if reason:
        assert found["reason"] == reason, found


def nothing_failed(out):
    """A healthy run: nothing stands under failures, and the report is one line."""
    report = out.report
    assert report["failures"] == [], report["failures"]
    assert missing_count(report) == 0, report["summary"]
    assert len(out.text.splitlines()) == 1, out.text


def one_failure(report):
    assert len(report["failures"]) == 1, f"{len(report['failures'])} failures, not one: {report['failures']}"
    return report["failures"][0]


def knows_name(version, static, place=None):
    """Is the kernel's name to be had? A static runtime keeps it to itself until it asks the driver for the kernel.

    place: where the image is refused (SIM_NO_IMAGE_AT); None is cuLibraryGetModule for 12.x, the launch for 13.x.
    """
    if not static:
        return True
    return place != "load" if version.startswith("13") else place in ("modget", "launch")


def failed(report, name, code, library, knowable=True, count=None):
    """Exactly one failure: that kernel, with that code, called from that library. Returns it."""
    failure = one_failure(report)
    assert failure["code"] == code, failure
    assert base(failure["library"]) == library, failure
    if knowable:
        assert failure["kernel"] == name, failure
    else:  # then it is among the kernels of the fat binary that was refused
        assert failure["kernel"] == name or name in failure["candidates"], failure
    if count is not None:
        assert failure["count"] == count, failure
    return failure


def missing_count(report):
    """Kernels without an image, and fat binaries of which only that is known."""
    return report["summary"]["missing"] + report["summary"]["missing_unnamed"]


def missing(out, name, library, code=209, knowable=True, count=None):
    """The main claim of the product: this kernel of this library has no image for this GPU, and nothing else is wrong."""
    failure = failed(out.report, name, code, library, knowable, count)
    assert missing_count(out.report) == 1, out.report["summary"]
    assert out.text.startswith("nokernel: 1 "), out.text
    assert library in out.text, out.text
    return failure
