"""Real runtimes and real images: wherever a missing image shows, the report names the same kernel and library.

Which call of the driver a missing image shows in differs between the three paths of the runtimes (11, 12, 13) and is
not documented for real drivers, so SIM_NO_IMAGE_AT tries each place that a path comes along.
"""

import pytest

import claims
from fixtures import programs, toolkit

GOOD, BAD = ["80"], ["90"]
EAGER = pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])

# Where a launch of that path can be refused; None is the simulated driver's own choice.
PLACES = {
    "11": [None, "modget", "launch"],
    "12": [None, "load", "module", "modget", "launch"],
    "13": [None, "load", "get", "launch"],
}
# An EAGER runtime that is refused there gives up: every call of the program fails from the first on.
GIVES_UP = {("12", "load"), ("12", "modget"), ("13", "load")}
# An EAGER static runtime is refused there at its start, remembers it, and makes no call when the kernel is launched.
SAYS_NOTHING = {("13.0", "get"), ("13.5", "get")}


def variants(places):
    """Every runtime, shared and where PyPI has it static, at every place that it reaches."""
    for version, (_, _, has_static) in toolkit.RUNTIMES.items():
        for static in [False, True] if has_static else [False]:
            for place in PLACES[version.split(".")[0]] if places else [None]:
                kind = "static" if static else "shared"
                yield pytest.param(version, static, place, id=f"{version}-{kind}-{place or 'own choice'}")


@EAGER
@pytest.mark.parametrize("version,static,place", variants(places=True))
def test_the_kernel_without_an_image_is_named(run, program, version, static, place, eager):
    app = program("launches", version, GOOD, BAD, static=static)
    out = run(app, "a", "b", no_image_at=place, eager=eager)
    if eager and (version[:2], place) in GIVES_UP:
        assert "malloc 209" in out.lines
        about = out.report["failures"] + out.report["refused"]
        assert "launches" in [claims.base(entry["library"]) for entry in about], about
        return
    if eager and static and (version, place) in SAYS_NOTHING:
        assert [claims.base(entry["library"]) for entry in out.report["refused"]] == ["launches"]
        return
    code = int(dict(line.split() for line in out.lines)["b"])
    assert code, f"the launch of b was not refused at {place}:\n{out.stdout}"
    claims.launched(out.report, claims.A, 1)
    claims.runs(out.report, claims.A, "native", "exact")
    knowable = claims.knows_name(version, static, place)
    claims.missing(out, claims.B, "launches", code, knowable)
    if knowable:
        claims.runs(out.report, claims.B, "none", "no-image")


@pytest.mark.sanitized
@pytest.mark.parametrize("version,static,place", variants(places=True))
def test_a_launch_that_fails_again_is_one_failure_counted(run, program, version, static, place):
    """Runtimes before 13 remember a refusal: the driver hears of it once, the program each time."""
    out = run(program("launches", version, GOOD, BAD, static=static), *"bababb", no_image_at=place)
    assert [line for line in out.lines if line == "b 0"] == []
    claims.launched(out.report, claims.A, 2)
    first = out.report["failures"][0]
    assert first["code"] == 209
    if claims.knows_name(version, static, place) and not static and place != "load":
        assert first["kernel"] == claims.B
        assert sum(f["count"] for f in out.report["failures"]) == 4, out.report["failures"]
    assert claims.missing_count(out.report) == 1


@EAGER
@pytest.mark.parametrize("version,static,place", variants(places=False))
def test_only_ptx_that_fits_is_compiled_and_named_so(run, program, version, static, place, eager):
    out = run(program("launches", version, ["ptx75"], GOOD, static=static), "a", "b", eager=eager)
    claims.nothing_failed(out)
    claims.runs(out.report, claims.A, "jit", "ptx")
    claims.runs(out.report, claims.B, "native", "exact")


# ---- architectures: images × GPU → what the report must say
ARCHITECTURES = [
    # images                      GPU  runs      reason
    (["50"], 50, "native", "exact"),
    (["50"], 52, "native", "same-major"),
    (["52"], 50, "none", "no-image"),
    (["50", "60"], 61, "native", "same-major"),
    (["60"], 70, "none", "no-image"),
    (["70"], 75, "native", "same-major"),
    (["35"], 35, "native", "exact"),
    (["37"], 35, "none", "no-image"),
    (["75", "80", "86", "90", "100", "120"], 89, "native", "same-major"),
    (["80"], 86, "native", "same-major"),
    (["86"], 80, "none", "no-image"),
    (["80", "86"], 87, "none", "stand-alone-arch"),  # Orin
    (["87"], 87, "native", "exact"),
    (["87"], 86, "none", "stand-alone-arch"),
    (["ptx80"], 87, "jit", "ptx"),
    (["70"], 72, "none", "stand-alone-arch"),  # Xavier
    (["89"], 90, "none", "no-image"),
    (["90"], 90, "native", "exact"),
    (["90a"], 90, "native", "exact"),
    (["90a"], 100, "none", "arch-specific"),
    (["90", "90a"], 100, "none", None),
    (["ptx90a"], 90, "jit", "ptx"),
    (["ptx90a"], 100, "none", "arch-specific"),
    (["ptx90"], 100, "jit", "ptx"),
    (["ptx90"], 80, "none", "ptx-higher-than-gpu"),
    (["100"], 103, "native", "same-major"),
    (["100f"], 103, "native", "in-family"),
    (["100f"], 120, "none", "other-family"),
    (["100a"], 103, "none", "arch-specific"),
    (["ptx100a"], 120, "none", "arch-specific"),
    (["ptx100f"], 103, "jit", "ptx"),
    (["103f"], 100, "none", None),
    (["100", "120"], 110, "none", None),
    (["101"], 110, "native", "renamed"),
    (["110"], 110, "native", "exact"),
    (["120"], 121, "native", "same-major"),
    (["120f"], 121, "native", "in-family"),
    (["120a"], 121, "none", "arch-specific"),
    (["121"], 120, "none", "no-image"),
    (["50", "60", "70", "75", "80", "86", "90"], 120, "none", "no-image"),  # PyTorch 2.1.2 on an RTX 5090
    (["80@13.5"], 80, "native", "exact"),
    (["90a@13.5"], 90, "native", "exact"),
    (["88"], 89, "none", "stand-alone-arch"),
]


@pytest.mark.parametrize("version", ["12.4", "13.5"])
@pytest.mark.parametrize("words,gpu,runs,reason", ARCHITECTURES, ids=lambda v: "+".join(v) if isinstance(v, list) else v)
def test_an_architecture_runs_where_it_should(run, program, version, words, gpu, runs, reason):
    out = run(program("launches", version, words, ["ptx35" if gpu < 50 else "ptx50"]), "b", "a", sm=gpu)
    claims.runs(out.report, claims.A, runs, reason)
    if runs == "none":
        assert "a 209" in out.lines
        failure = claims.missing(out, claims.A, "launches")
        assert claims.kernel(out.report, claims.A)["needs"]
        assert failure["gpu"] == 0
    else:
        assert "a 0" in out.lines
        claims.nothing_failed(out)
    has = claims.kernel(out.report, claims.A)["has"]
    assert len(has) == len(words), has


# ---- containers: codecs, concatenated entries
OPTIONS = {
    "stored": ["--compress-mode=none"],
    "small": ["--compress-mode=size", "--compress-all"],
    "lz4": ["--compress-mode=speed", "--compress-all"],
    "zstd": ["--compress-mode=balance", "--compress-all"],
    "default": [],
    "concatenated": ["--concat"],
    "concatenated lz4": ["--concat", "--compress-mode=speed"],
}
MANY = ["50", "75", "80", "90a", "100f", "ptx80", "ptx75"]


@pytest.mark.sanitized
@pytest.mark.parametrize("version", ["11.8", "12.4", "13.5"])
@pytest.mark.parametrize("options", OPTIONS)
def test_every_way_of_packing_images_is_read(run, program, version, options):
    app = program("launches", version, MANY, ["ptx50"], options=OPTIONS[options])
    for gpu, runs in ((75, "native"), (86, "native"), (90, "native"), (103, "native"), (120, "jit"), (62, "none")):
        out = run(app, "b", "a", sm=gpu)
        claims.runs(out.report, claims.A, runs)
        if runs == "none":
            claims.missing(out, claims.A, "launches")
        else:
            claims.nothing_failed(out)
        has = " ".join(map(str, claims.kernel(out.report, claims.A)["has"]))
        for arch in ("sm_50", "sm_75", "sm_80", "sm_90a", "sm_100f", "compute_75", "compute_80"):
            assert arch in has, has


def test_zstd_images_on_a_driver_that_cannot_read_them_are_said_to_be_too_new(run, program):
    """200, and not 209: the image is there, the driver is older than the codec (CUDA 12.4)."""
    app = program("launches", "12.1", GOOD, GOOD, options=OPTIONS["zstd"])
    out = run(app, "a", driver=12030)
    assert "a 200" in out.lines
    claims.runs(out.report, claims.A, "none", "codec-newer-than-driver")
    claims.missing(out, claims.A, "launches", 200)


def test_ptx_newer_than_the_driver_is_said_to_be_too_new(run, program):
    """222: PTX 9.0 needs a CUDA 13 driver, whatever its target."""
    out = run(program("launches", "12.1", ["ptx75:9.0"], ["ptx75"]), "b", "a", sm=120, driver=12080)
    assert "b 0" in out.lines and "a 222" in out.lines
    claims.runs(out.report, claims.A, "none", "ptx-newer-than-driver")
    claims.missing(out, claims.A, "launches", 222)


@pytest.mark.parametrize("variable,words,code,reason", [
    ("CUDA_FORCE_PTX_JIT", ["80"], 209, "force-ptx-no-ptx"),
    ("CUDA_DISABLE_PTX_JIT", ["ptx75"], 209, "jit-disabled"),
])
def test_the_drivers_own_switches_are_reasons(run, program, variable, words, code, reason):
    out = run(program("launches", "12.4", words, words), "a", env={variable: "1"})
    assert "a 0" not in out.lines
    claims.runs(out.report, claims.A, "none", reason)


# ---- what the real nvcc makes
def nvcc_kernels(store, *options, a="80", b="90", step="-c"):
    return [
        programs.nvcc(store, step, *options, "-gencode", f"arch=compute_{arch},code=sm_{arch}", f"-DLETTER={letter}",
                      f"-DKERNEL=k_{letter}", name=f"{letter}.o")
        for letter, arch in (("a", a), ("b", b))
    ]


def nvcc_program(store, version, static, objects):
    main = programs.compiled(store, "launches.c")
    return programs.linked(store, "launches", [main, *objects], toolkit.runtime_flags(version, static))


NVCC = pytest.mark.parametrize("version,static", [("13.0", False), ("13.0", True), ("13.5", False), ("13.5", True)])


@EAGER
@NVCC
@pytest.mark.parametrize("options", [[], ["-default-stream", "per-thread"], ["-lineinfo"],
                                     ["--compress-mode=size"]], ids=" ".join)
def test_programs_of_the_real_nvcc_are_explained(run, store, version, static, eager, options):
    out = run(nvcc_program(store, version, static, nvcc_kernels(store, *options)), "a", "b", eager=eager)
    assert "a 0" in out.lines and "b 209" in out.lines
    claims.missing(out, claims.B, "launches")
    assert claims.kernel(out.report, claims.B)["demangled"] == "k_b(float*)"


@pytest.mark.sanitized
@NVCC
def test_relocatable_device_code_is_judged_by_what_was_linked(run, store, version, static):
    """-rdc=true: the objects' own images are input of the device linker; what it made decides."""
    objects = nvcc_kernels(store, step="-dc", a="90", b="90")
    link = programs.nvcc(store, "-dlink", "-gencode", "arch=compute_90,code=sm_90", *objects, sources=(), name="link.o")
    app = nvcc_program(store, version, static, [*objects, link])
    out = run(app, "a", "b", sm=90)
    claims.nothing_failed(out)
    out = run(app, "a", sm=80)
    claims.missing(out, claims.A, "launches")
