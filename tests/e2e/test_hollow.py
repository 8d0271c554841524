"""A kernel that was launched and did nothing: its body was compiled away for this GPU, and no call ever says so."""

import pytest

import claims
from conftest import command
from fixtures import images, programs, toolkit

EMPTY = ".visible .entry {name}(.param .u64 data)\n{{\n    ret;\n}}\n"
LARGE = images.KERNEL.replace("    st.global.f32", "    fma.rn.f32 %f1, %f1, %f1, %f1;\n    st.global.f32").replace(
    "    ret;", "".join(f"    st.global.f32 [%rd2+{4 * i}], %f1;\n" for i in range(1, 200)) + "    ret;")
VARIANTS = [pytest.param(v, s, id=f"{v}-{'static' if s else 'shared'}") for v, s in (
    ("11.8", False), ("12.4", False), ("12.9", True), ("13.5", False), ("13.5", True))]


def image(store, word, name, body):
    """A cubin, or PTX, of one kernel with that body."""
    arch, _ = images.arch_of(word)
    head = f".version {images.isa_of(word)}\n.target sm_{arch}\n.address_size 64\n"
    text = head + body.format(name=name)
    if word.startswith("ptx"):
        return store.make(text, f"{word}.ptx", lambda path: path.write_text(text))

    def assemble(path):
        source = path.with_suffix(".ptx")
        source.write_text(text)
        toolkit.tool([toolkit.PTXAS[images.toolkit_of(word)], f"-arch=sm_{arch}", source, "-o", path])

    return store.make(f"cubin {text}", f"sm_{word}.cubin", assemble)


def container(store, name, bodies, *options):
    """A fat binary of {word: body}."""
    parts = []
    for word, body in bodies.items():
        kind = "ptx" if word.startswith("ptx") else "elf"
        parts.append(f"--image3=kind={kind},sm={images.arch_of(word)[0]},file={image(store, word, name, body)}")
    return store.make(f"fatbinary {parts} {options}", "k.fatbin", lambda path: toolkit.tool(
        [toolkit.FATBINARY, "-64", f"--create={path}", *options, *parts]))


def hollow_program(store, version, static, a, b, *options):
    """launches.c with a container of {word: body} for each kernel."""
    style = programs.style_of(version)
    objects = [programs.compiled(store, "launches.c")] + [
        programs.kernel(store, letter, container(store, programs.NAMES[letter], bodies, *options), style)
        for letter, bodies in (("a", a), ("b", b))]
    return programs.linked(store, "launches", objects, toolkit.runtime_flags(version, static))


def is_hollow(out, name, times, sm):
    """That kernel did nothing, and the report says so in its first line and where the kernel is told."""
    found = claims.kernel(out.report, name)
    assert (found["runs"], found["launches"], found["failed"]) == ("hollow", times, 0), found
    assert (out.report["summary"]["hollow"], out.report["summary"]["healthy"]) == (1, False), out.report["summary"]
    head = out.text.splitlines()[0]
    assert head.startswith("nokernel: 1 kernel of ") and "did nothing" in head and "wrong" in head, head
    words = " ".join(out.text.split())
    often = "once" if times == 1 else f"{times} times"
    assert f"launched {often}, but its body is empty for {sm}: the launch did nothing and the result is wrong" in words


@pytest.mark.sanitized
@pytest.mark.parametrize("version,static", VARIANTS)
def test_a_launched_kernel_whose_body_is_empty_for_this_gpu_is_told(run, store, version, static):
    app = hollow_program(store, version, static, {"80": EMPTY, "90": LARGE}, {"80": LARGE, "90": LARGE})
    out = run(app, "a", "b", "a", "a")
    assert out.lines[:4] == ["a 0", "b 0", "a 0", "a 0"]
    is_hollow(out, claims.A, 3, "sm_80")
    assert "k_a" in out.text and "sm_90" in out.text and "FAILED" not in out.text


@pytest.mark.parametrize("options", [["--compress-mode=size", "--compress-all"], ["--compress-mode=speed", "--concat"]],
                         ids=" ".join)
def test_an_empty_body_is_found_in_compressed_images(run, store, options):
    app = hollow_program(store, "12.4", False, {"80": EMPTY, "90": LARGE}, {"80": LARGE, "90": LARGE}, *options)
    is_hollow(run(app, "a", "b"), claims.A, 1, "sm_80")


def test_an_empty_body_in_the_ptx_that_is_compiled_is_told_too(run, store):
    app = hollow_program(store, "13.5", False, {"ptx80": EMPTY, "90": LARGE}, {"80": LARGE, "90": LARGE})
    is_hollow(run(app, "a", "b", sm=86), claims.A, 1, "sm_86")


def test_a_kernel_that_is_empty_for_another_gpu_only_is_no_news(run, store):
    app = hollow_program(store, "12.4", False, {"80": EMPTY, "90": LARGE}, {"80": LARGE, "90": EMPTY})
    out = run(app, "b", "b")
    claims.nothing_failed(out)
    claims.runs(out.report, claims.B, "native")


def test_a_kernel_that_is_empty_but_never_launched_is_no_news(run, store):
    app = hollow_program(store, "12.4", False, {"80": EMPTY, "90": LARGE}, {"80": LARGE, "90": LARGE})
    claims.nothing_failed(run(app, "b"))


def test_a_kernel_that_is_small_everywhere_is_no_news(run, store):
    app = hollow_program(store, "12.4", False, {"80": EMPTY, "90": EMPTY}, {"80": images.KERNEL, "90": images.KERNEL})
    claims.nothing_failed(run(app, "a", "b"))


@pytest.mark.parametrize("version,static", [("13.0", False), ("13.5", True)])
def test_what_nvcc_makes_of_an_architecture_guard_is_told(run, store, version, static):
    gencode = [part for arch in ("80", "90") for part in ("-gencode", f"arch=compute_{arch},code=sm_{arch}")]
    kernels = [programs.nvcc(store, "-c", *gencode, f"-DLETTER={letter}", f"-DKERNEL=k_{letter}", f"-DSINCE={since}",
                             sources=("hollow.cu",), name=f"{letter}.o")
               for letter, since in (("a", 900), ("b", 800))]
    app = programs.linked(store, "launches", [programs.compiled(store, "launches.c"), *kernels],
                          toolkit.runtime_flags(version, static))
    is_hollow(run(app, "a", "b", "a"), claims.A, 2, "sm_80")
    claims.nothing_failed(run(app, "a", "b", sm=90))


def test_a_module_that_is_unloaded_before_the_end_is_looked_at_first(run, store):
    from conftest import SIM

    app = programs.linked(store, "driver_linked", [programs.compiled(store, "driver_linked.c")],
                          [f"-L{SIM}", "-l:libcuda.so.1"])
    out = run(app, "data", container(store, claims.A, {"80": EMPTY, "90": LARGE}), claims.A)
    is_hollow(out, claims.A, 1, "sm_80")


@pytest.mark.parametrize("how", ["one", "set", "fork"])
def test_a_hollow_kernel_that_a_graph_launches_is_told(run, store, how):
    style = programs.style_of("12.4")
    bodies = {"a": {"80": LARGE, "90": LARGE}, "b": {"80": EMPTY, "90": LARGE}}
    objects = [programs.compiled(store, "launches_graph.c")] + [
        programs.kernel(store, letter, container(store, programs.NAMES[letter], bodies[letter]), style) for letter in "ab"]
    app = programs.linked(store, "launches_graph", objects, [*toolkit.runtime_flags("12.4", False), "-ldl"])
    is_hollow(run(app, how), claims.B, 1, "sm_80")


def test_what_another_gpu_would_run_empty_is_told_from_a_recording(run, store):
    app = hollow_program(store, "12.4", False, {"80": EMPTY, "90": LARGE}, {"80": LARGE, "90": LARGE})
    out = run(app, "a", "b")
    text = command("report", "--gpu", "sm_86", out.recordings[0]).stdout
    assert "1 would do nothing" in text and "EMPTY" in text


def test_what_to_do_about_an_empty_body_is_advised_below_the_kernel(run, store):
    out = run(hollow_program(store, "12.9", True, {"80": EMPTY, "90": LARGE}, {"80": LARGE, "90": LARGE}), "a", "b")
    assert "choose another back end of the library" in out.report["advice"][0]["text"]
    assert out.text.index("EMPTY   k_a") < out.text.index("fix   ")
