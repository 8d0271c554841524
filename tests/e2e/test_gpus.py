"""Several GPUs in one process, and libraries that carry code for some GPUs only: verdicts are per GPU and per kernel."""

import pytest

import claims

pytestmark = pytest.mark.sanitized
GOOD, BOTH = ["80"], ["80", "90"]
VARIANTS = [pytest.param(v, s, id=f"{v}-{'static' if s else 'shared'}") for v, s in (
    ("11.8", False), ("12.4", False), ("12.9", True), ("13.0", False), ("13.5", False), ("13.5", True))]


def words(out):
    return " ".join(out.text.split())


@pytest.mark.parametrize("version,static", VARIANTS)
@pytest.mark.parametrize("sms,bad", [("80,90", 1), ("90,80", 0), ("80,90,86", 1)])
def test_the_failing_gpu_is_named_by_its_number(run, program, version, static, sms, bad):
    out = run(program("two_gpus", version, GOOD, BOTH, static=static), "b", "a", sm=sms)
    failure = claims.one_failure(out.report)
    assert failure["gpu"] == bad, failure
    assert f"for GPU {bad}" in out.text.splitlines()[0], out.text
    assert f"on GPU {bad}, sm_90" in words(out)
    assert [g["sm"] for g in out.report["gpus"]] == [f"sm_{sm}" for sm in sms.split(",")]


@pytest.mark.parametrize("version,static", VARIANTS)
def test_a_kernel_that_fails_on_two_of_three_gpus_is_told_for_both(run, program, version, static):
    out = run(program("two_gpus", version, ["86"], GOOD, static=static), "a", sm="80,86,90")
    gpus = sorted(f["gpu"] for f in out.report["failures"])
    assert gpus == [0, 2], out.report["failures"]
    assert "GPUs 0, 2" in out.text.splitlines()[0], out.text


@pytest.mark.parametrize("version,static", VARIANTS)
@pytest.mark.parametrize("visible,count,bad", [("1", 1, 0), ("1,0", 2, 0), ("0", 1, None), ("0,1", 2, 1)])
def test_numbers_are_those_that_the_program_sees_under_cuda_visible_devices(run, program, version, static, visible,
                                                                           count, bad):
    out = run(program("two_gpus", version, GOOD, BOTH, static=static), "b", "a", sm="80,90",
              env={"CUDA_VISIBLE_DEVICES": visible})
    assert out.lines[0] == f"gpus {count}"
    if bad is None:
        claims.nothing_failed(out)
        return
    failure = claims.one_failure(out.report)
    assert failure["gpu"] == bad, failure
    assert next(g for g in out.report["gpus"] if g["ordinal"] == bad)["sm"] == "sm_90"
    assert f"numbered as the program sees them: CUDA_VISIBLE_DEVICES={visible}" in words(out)


# ---- libraries that dispatch: containers for other GPUs, which nobody asks for here
@pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
@pytest.mark.parametrize("version,static", VARIANTS)
def test_a_library_that_asks_for_what_fits_raises_no_alarm(run, program, version, static, eager):
    """Its other containers lack this GPU; no kernel of them was asked for. The exit status does not matter."""
    out = run(program("launches", version, GOOD, ["90"], static=static), "a", "a", eager=eager)
    claims.nothing_failed(out)
    assert out.report["summary"]["healthy"]


@pytest.mark.parametrize("way", ["return", "_exit"])
@pytest.mark.parametrize("version,static", VARIANTS)
def test_nor_when_the_program_ends_with_an_error_of_its_own(run, program, version, static, way):
    """LAZY: nothing was refused, so nothing that has to do with images can be the reason."""
    out = run(program("ends", version, GOOD, GOOD, static=static, more=["-lpthread"]), way)
    assert out.code == 5
    claims.nothing_failed(out)


@pytest.mark.parametrize("version,static", VARIANTS)
def test_asking_whether_a_kernel_fits_before_choosing_another_is_no_alarm(run, program, version, static):
    """What cuBLASLt-like libraries do: ask for b's attributes, and launch a when the answer is 209."""
    out = run(program("asks_first", version, GOOD, ["90"], static=static))
    assert out.lines == ["b 209", "a 0"]
    if claims.knows_name(version, static):
        claims.nothing_failed(out)
        assert out.report["summary"]["healthy"]
