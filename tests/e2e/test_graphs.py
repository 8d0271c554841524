"""Launches of graphs: a failure is pinned to the graph, and the report tells which kernels it holds.

The simulated driver lets the first launch of a graph succeed and its work fail (SIM_FAIL=cuGraphLaunch@1~CODE).
"""

import pytest

import claims
from fixtures import toolkit

GOOD = ["80"]
LATE = {"SIM_FAIL": "cuGraphLaunch@1~700"}
VARIANTS = [pytest.param(v, s, id=f"{v}-{'static' if s else 'shared'}")
            for v, (_, _, has_static) in toolkit.RUNTIMES.items() for s in ([False, True] if has_static else [False])]


def failed(run, program, how, version="12.4", static=False, env=LATE, **options):
    app = program("launches_graph", version, GOOD, GOOD, static=static, more=[*options.pop("more", ["-ldl"])])
    out = run(app, how, env=env, same=False, **options)
    return out, claims.one_failure(out.report)


def holds(failure):
    """{kernel: nodes} of a failure's graph."""
    graph = failure["graph"]
    assert graph["kernel_nodes"] == sum(k["nodes"] for k in graph["kernels"]), graph
    assert all(claims.base(k["library"]) == "launches_graph" for k in graph["kernels"]), graph
    return {k["kernel"]: k["nodes"] for k in graph["kernels"]}


@pytest.mark.parametrize("version,static", VARIANTS)
def test_a_graph_whose_work_failed_is_named_with_its_kernels(run, program, version, static):
    out, failure = failed(run, program, "nodes", version, static)
    assert out.lines[-3:] == ["launch 700", "launch 700", "sync 700"]
    assert (failure["kind"], failure["code"], failure["pinned"]) == ("graph", 700, "synchronised"), failure
    assert failure["kernel"] is None and holds(failure) == {claims.A: 2, claims.B: 1}
    assert "FAILED  a graph of 3 kernel nodes" in out.text
    assert "graph k_a, 2 nodes in launches_graph" in out.text, out.text


@pytest.mark.parametrize("how,kernels", [
    ("destroyed", {claims.A: 2, claims.B: 1}),
    ("child", {claims.A: 1, claims.B: 2}),
    ("set", {claims.A: 1, claims.B: 1}),
    ("fork", {claims.A: 1, claims.B: 1}),
    ("nested", {claims.A: 1, claims.B: 1}),
])
@pytest.mark.parametrize("version", ["11.8", "12.4", "13.0"])
def test_the_kernels_are_known_however_they_came_into_the_graph(run, program, version, how, kernels):
    _, failure = failed(run, program, how, version)
    assert holds(failure) == kernels


@pytest.mark.parametrize("version", ["11.8", "12.4", "13.0"])
def test_a_graph_of_one_kernel_is_reported_as_that_kernel(run, program, version):
    out, failure = failed(run, program, "one", version)
    assert failure["kernel"] == claims.B and holds(failure) == {claims.B: 3}
    assert "FAILED  k_b\n" in out.text


@pytest.mark.parametrize("version", ["11.8", "12.4", "13.0"])
def test_a_graph_that_took_over_another_one_holds_the_others_kernel(run, program, version):
    out, failure = failed(run, program, "update", version)
    assert "update 0" in out.lines
    assert failure["kernel"] == claims.B and holds(failure) == {claims.B: 1}


def test_the_bodies_of_conditional_nodes_belong_to_the_graph(run, program):
    out, failure = failed(run, program, "conditional", "12.4")
    assert "conditional 0" in out.lines
    assert holds(failure) == {claims.A: 1, claims.B: 1}


def test_a_captured_kernel_that_fails_later_fails_its_graph(run, program):
    """The error comes with the launch of the graph, and the launch that was captured is not accused by itself."""
    _, failure = failed(run, program, "nested", env={"SIM_FAIL": "cuLaunchKernel@1~719"})
    assert (failure["kind"], failure["code"], failure["api"]) == ("graph", 719, "cuGraphLaunch"), failure
    assert holds(failure) == {claims.A: 1, claims.B: 1}


def test_a_graph_that_the_driver_refuses_is_named_with_its_kernels(run, program):
    out, failure = failed(run, program, "nodes", env={"SIM_FAIL": "cuGraphLaunch@1=209", "NOKERNEL_SYNC": "off"})
    assert (failure["kind"], failure["code"], failure["pinned"], failure["class"]) == ("graph", 209, "returned", "missing-image")
    assert holds(failure) == {claims.A: 2, claims.B: 1}


def test_a_graph_that_is_refused_again_is_one_failure_that_happened_twice(run, program):
    out, failure = failed(run, program, "nodes", env={"SIM_FAIL": "cuGraphLaunch@1+=701"})
    assert (failure["count"], failure["class"], out.report["summary"]["other"]) == (2, "other", 1)


@pytest.mark.sanitized
@pytest.mark.parametrize("how", ["nodes", "destroyed", "child", "set", "update", "fork", "nested", "one", "conditional"])
@pytest.mark.parametrize("sync", ["launch", "trail", "off"])
def test_a_program_with_graphs_that_work_is_left_alone(run, program, how, sync):
    out = run(program("launches_graph", "12.4", GOOD, GOOD, more=["-ldl"]), how, env={"NOKERNEL_SYNC": sync})
    assert out.lines[-3:] == ["launch 0", "launch 0", "sync 0"]
    claims.nothing_failed(out)


@pytest.mark.parametrize("how,kernels", [("nodes", "ab"), ("child", "ab"), ("set", "ab"), ("update", "b"), ("conditional", "ab"), ("one", "b")])
@pytest.mark.parametrize("sync", ["launch", "trail", "off"])
def test_kernels_that_only_graphs_launch_count_as_launched_once(run, program, how, kernels, sync):
    """A graph may have been changed since it was made: what it held before, and did not launch, does not count."""
    out = run(program("launches_graph", "12.4", GOOD, GOOD, more=["-ldl"]), how, env={"NOKERNEL_SYNC": sync})
    launched = {k["name"]: k["launches"] for k in out.report["kernels"] if k["launches"]}
    assert launched == {{"a": claims.A, "b": claims.B}[k]: 1 for k in kernels}
    assert out.report["summary"]["launched"] == len(kernels)


def test_a_graph_that_is_not_launched_has_launched_no_kernel(run, program):
    out = run(program("adds_graph_nodes", "12.4", GOOD, GOOD), "a", "b")
    assert out.text == "nokernel: no kernel was launched\n"
