"""NCCL asks at its start for all of its kernels, some of which exist for one family of GPUs only, and copes with refusals:
no alarm, and no word against it when something else goes wrong."""

import claims
import pytest
import real
import sets


def reduce(run, *arguments, sm, **keywords):
    return real.start(run, "nccl", "nccl_reduce.py", *arguments, sm=sm, **keywords)


def coped_with(probes, gpus):
    """Queries about kernels that only sm_100's family has were refused on each of these GPUs."""
    assert {probe["gpu"] for probe in probes} == set(gpus)
    for probe in probes:
        assert (probe["package"], probe["code"], probe["api"]) == ("nvidia-nccl-cu13", 209, "cuKernelGetFunction")
        assert probe["has"] == ["sm_100f"] and probe["reason"] == "other-family" and "LDMC" in probe["kernel"]
    assert len({probe["kernel"] for probe in probes}) == 10


def test_two_gpus_of_one_process_reduce_and_the_report_is_one_line(run):
    out = reduce(run, 2, sm="80,80")
    assert out.stdout == "communicators 2\nGPU 0 synchronised with 0\nGPU 1 synchronised with 0\n"
    real.healthy(out)
    (kernel,) = [kernel for kernel in out.report["kernels"] if kernel["launches"]]
    assert "ncclDevKernel_AllReduce" in kernel["name"] and (kernel["launches"], kernel["failed"]) == (2, 0)
    assert (kernel["runs"], kernel["package"]) == ("native", "nvidia-nccl-cu13")
    coped_with(out.report["probes"], [0, 1])


def test_a_program_that_ends_for_another_reason_is_not_explained_by_what_nccl_asked(run):
    out = reduce(run, 2, "give-up", sm="80,80")
    assert out.code == 1 and "the data set is not there" in out.stderr
    coped_with(out.report["probes"], [0, 1])
    assert out.report["failures"] == [] and out.report["summary"]["healthy"]
    assert real.shown(out) == "nokernel: no kernel was launched; asked and refused, harmless: 20 queries; it ended with 1\n"


@pytest.mark.parametrize("sm, bad", [("70,70", [0, 1]), ("80,70", [1])])
def test_where_nccl_has_nothing_at_all_its_refused_queries_are_told_once_a_gpu(run, sm, bad):
    """It does not mind until it looks for the kernel that it is about to launch."""
    out = reduce(run, 2, sm=sm)
    assert out.code == 1 and "NCCL: unhandled cuda error" in out.stderr
    assert out.report["failures"] == []
    refused = [probe for probe in out.report["probes"] if "sm_75" in probe["has"]]
    assert {probe["gpu"] for probe in refused} == set(bad) and len(refused) > 100 * len(bad)
    assert all("sm_70" in probe["needs"] for probe in refused)
    text = real.shown(out)
    for part in ("nvidia-nccl-cu13 2.30.7", "needs sm_70", "about 132 kernels in all; the program may have"):
        assert part in " ".join(text.split()), f"{part} is not in\n{text}"
    assert text.count("  ASKED ") == len(bad)
    assert "ASKED   ncclDevKernel_AllReduce_Sum_f32_RING_LL\n" in text  # the one that it asked for again, to launch it


def ranks(run, sm, **keywords):
    """Two processes reach each other by shared memory: exporting a GPU's memory is not simulated."""
    options = {"NCCL_P2P_DISABLE": "1", "NCCL_CUMEM_HOST_ENABLE": "0"}
    launcher = ("-m", "torch.distributed.run", "--nproc-per-node", 2)
    script = sets.APPS / "torchrun_nccl.py"
    out = run(
        sets.python("nccl"), *launcher, script, sm=sm, env=sets.environment("nccl", **options), exit_report=False,
        **keywords,
    )  # fmt: skip
    return out, {report["gpus"][0]["ordinal"]: report for report in out.reports if report["kernels"] or report["probes"]}


def test_two_ranks_that_reduce_through_nccl_raise_no_alarm(run):
    out, reports = ranks(run, "80,80", same=False)  # which rank prints first is not told
    assert out.code == 0
    assert sorted(out.lines) == [f"rank {rank} {what}" for rank in (0, 1) for what in ("added", "reduced")]
    assert sorted(reports) == [0, 1]
    for gpu, report in reports.items():
        assert report["failures"] == [] and report["summary"]["healthy"]
        assert any("ncclDevKernel_AllReduce" in kernel["name"] for kernel in report["kernels"] if kernel["launches"])
        coped_with(report["probes"], [gpu])


def test_of_two_ranks_the_one_that_nccl_has_nothing_for_is_explained(run):
    out, reports = ranks(run, "80,70", same=False)  # rank 0 is ended by torchrun, sooner or later
    assert out.code == 1 and f"NCCL Last Error: Cuda failure '{real.NO_IMAGE}'" in out.stderr
    assert reports[0]["failures"] == [] and reports[0]["summary"]["missing"] == 0
    coped_with(reports[0]["probes"], [0])
    assert not reports[1]["summary"]["healthy"]
    assert {claims.base(probe["library"]) for probe in reports[1]["probes"]} == {"libnccl.so.2"}
    assert all("sm_70" in probe["needs"] for probe in reports[1]["probes"])
    assert "about 132 kernels in all" in " ".join(out.stderr.split())
