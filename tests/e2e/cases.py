"""cases.py - public reports of "no kernel image" and of what looks like it, as a table: what was reported, how it is staged
here, and what the answer must be. Facts in our own words; SOURCE is the report (owner/repo#number on GitHub).

Images are words as in fixtures/images.py. TORCH_* are the lists of official wheels.
"""

from dataclasses import dataclass, field

OLD = "50 60 70 75 80 86 90"  # torch up to 2.6, and cu126 builds since
NEW = "75 80 86 90 100 120 ptx120"  # torch 2.7.0+cu128
WIDE = "70 75 80 86 90 100 120"  # torch 2.8.0+cu128
CU130 = "75 80 86 90 100 120 ptx120"  # torch 2.9 and 2.10 +cu130
STORED = ("--compress-mode=none",)  # what drivers older than 12.4 can read; those of 12.4 and newer read all
TORCH, VISION = "torch/lib/libtorch_cuda.so", "torchvision/_C.so"


@dataclass
class Lib:
    """A library of an installed package; kernels a and b lie in these images (b: as a, unless said)."""

    package: str
    version: str
    path: str
    a: str
    b: str = ""
    prefix: str = "venv"  # the environment that it is installed in


@dataclass
class Calls:
    """A program opens these libraries and calls each in turn; each launches a and b."""

    libs: list
    sm: str
    driver: int = 12080
    env: dict = field(default_factory=dict)
    idle: list = field(default_factory=list)  # more that lie on the disk and are not opened
    runtime: str = "12.9"


@dataclass
class Steps:
    """A program opens two libraries and makes them do these steps (tests/apps/two_halves.c)."""

    libs: list
    steps: list
    sm: str
    driver: int = 12080
    runtime: str = "12.4"
    env: dict = field(default_factory=dict)


@dataclass
class App:
    """A program of tests/apps with kernels a and b in these images."""

    name: str
    a: str
    b: str
    words: list
    sm: str
    driver: int = 12090
    env: dict = field(default_factory=dict)
    runtime: str = "12.9"
    static: bool = True
    options: tuple = ()  # fatbinary's


@dataclass
class Memory:
    """A library of a package loads an image from memory, as run-time compilers do; `on`: goes on when that is refused."""

    lib: Lib
    image: str
    sm: str
    driver: int = 12080
    env: dict = field(default_factory=dict)
    on: bool = False


@dataclass
class Linked:
    """A program gives PTX to the driver's linker."""

    image: str
    sm: str
    driver: int


@dataclass
class Says:
    """Nothing that a driver hears of: the message is all there is, and `nokernel explain` is asked about it."""

    message: str


@dataclass
class Scanned:
    """A file is looked at for a GPU, without running anything."""

    lib: Lib
    gpu: str


@dataclass
class Case:
    source: str
    story: str
    staged: object
    fails: str = ""  # the library that is to blame ("": nothing is)
    package: str = ""  # "torch 2.5.1+cu121"
    code: int = 209
    reason: str = "no-image"
    gpu: int = 0
    first: tuple = ()  # all of these in the best repair
    fix: tuple = ()  # all of these among the repairs
    never: tuple = ()  # none of these in any repair
    says: tuple = ()  # all of these in the text of the report (or of the explanation)
    unsaid: tuple = ()
    runs: str = ""  # kernel a runs so
    wrong: str = ""  # an answer that is not right yet, and why


CASES = [
    # ---- a GPU newer than the build
    Case("pytorch/pytorch#167244", "two RTX 5090; a nightly of the cu124 index, from before the architecture was built",
         Calls([Lib("torch", "2.7.0.dev20250310+cu124", TORCH, OLD)], "120,120"),
         fails="libtorch_cuda.so", package="torch 2.7.0.dev20250310+cu124",
         first=('"torch>=2.7.0"', "/cu128", "nightly build of 2025-03-10"), never=("newer driver",),
         says=("sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90, no PTX", "needs sm_120")),
    Case("pytorch/pytorch#180101", "RTX 5080; the same nightly, pinned by an application a year later",
         Calls([Lib("torch", "2.7.0.dev20250310+cu124", TORCH, OLD)], "120", 13010),
         fails="libtorch_cuda.so", first=('"torch>=2.7.0"', "/cu128", "nightly build of 2025-03-10")),
    Case("HybridRobotics/berkeley-humanoid-lite#49", "RTX 5090; a project pins torch 2.5.1 of cu121, the driver is new",
         Calls([Lib("torch", "2.5.1+cu121", TORCH, OLD)], "120", 13010),
         fails="libtorch_cuda.so", package="torch 2.5.1+cu121", first=('"torch>=2.7.0"', "/cu128"), never=("newer driver",)),
    Case("vllm-project/vllm#21633", "RTX 5070 Ti; a newer container image came with a torch without the architecture",
         Calls([Lib("torch", "2.7.1+cu126", TORCH, OLD)], "120"),
         fails="libtorch_cuda.so", first=("torch 2.7.1", '"torch==2.7.1+cu128"'), never=("no official torch",)),
    Case("lllyasviel/stable-diffusion-webui-forge#3095", "RTX 5080; a bundle with a Python of its own, torch was renewed elsewhere",
         Calls([Lib("torch", "2.3.1+cu121", TORCH, OLD, prefix="bundle")], "120",
               idle=[Lib("torch", "2.7.1+cu128", TORCH, NEW, prefix="other")]),
         fails="libtorch_cuda.so", package="torch 2.3.1+cu121", first=("/bundle/bin/python3 -m pip", "/cu128"),
         never=("/other/",), says=("2.3.1+cu121",), unsaid=("2.7.1+cu128   ",)),
    Case("tensorflow/tensorflow#99592", "RTX 50; PTX of a generated kernel is refused (218), what is told is the launch (400)",
         Memory(Lib("tensorflow", "2.20.0", "tensorflow/libtensorflow_cc.so.2", ""), "ptx90a", "120",
                env={"SIM_FAIL": "cuModuleLoadData=218,cuLaunchKernel=400"}, on=True),
         fails="libtensorflow_cc.so.2", code=218, reason=None,
         says=("cuModuleLoadData returned 218", "cuLaunchKernel of no kernel, as 400"), first=("tensorflow 2.21.0",)),
    Case("cupy/cupy#9106", "RTX 5080; NVRTC 12.6 cannot make code for it, and CuPy loads what it made for another GPU",
         Memory(Lib("cupy-cuda12x", "13.4.1", "cupy_backends/cuda/libcupy.so", ""), "90", "120"),
         fails="libcupy.so", first=("NVRTC or ptxas of CUDA 12.8 or newer", '"nvidia-cuda-nvrtc-cu12>=12.8"'),
         never=("torch",)),
    Case("triton-lang/triton#8539", "GB10; Triton's own ptxas does not know sm_121a: no error of CUDA at all",
         Says("ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'"),
         says=("TRITON_PTXAS_PATH", "CUDA 12.9 or newer"), unsaid=("reinstall",)),
    Case("DDTRobot/tita_rl_sim2sim2real#7", "RTX 5070 Ti; TensorRT 10.7 refuses the GPU by itself",
         Says("[E] Error Code 1: Internal Error (Unsupported SM: 120) Target GPU SM 120 is not supported by this TensorRT release"),
         says=("a newer TensorRT",)),
    # ---- a GPU older than the build
    Case("turboderp-org/exllamav2#786", "GTX 1080 Ti and P100; torch 2.7.0 of cu128, whose only PTX is for sm_120",
         Calls([Lib("torch", "2.7.0+cu128", TORCH, NEW)], "61,60"),
         fails="libtorch_cuda.so", reason="ptx-higher-than-gpu",
         first=("torch 2.7.0", '"torch==2.7.0+cu126"', "/cu126"), never=("newer driver",)),
    Case("jhj0517/Whisper-WebUI#653", "GTX 1080 Ti; torch 2.8 came from cu128 where cu126 has the code",
         Calls([Lib("torch", "2.8.0+cu128", TORCH, WIDE)], "61"),
         fails="libtorch_cuda.so", first=('"torch==2.8.0+cu126"', "/cu126")),
    Case("Kaggle/kaggle-cli#1151", "Tesla P100 of a hosted machine whose image dropped it",
         Calls([Lib("torch", "2.9.1+cu128", TORCH, WIDE)], "60"),
         fails="libtorch_cuda.so", first=('"torch==2.9.1+cu126"',), fix=("use a GPU that it has code for",)),
    Case("unslothai/unsloth#5876", "V100 beside B200; the installer chose cu130 after the driver, not after the oldest GPU",
         Calls([Lib("torch", "2.9.1+cu130", TORCH, CU130)], "70,100", 13000),
         fails="libtorch_cuda.so", reason="ptx-higher-than-gpu", gpu=0, first=('"torch==2.9.1+cu128"', "/cu128")),
    Case("JuliaGPU/CUDA.jl#2844", "V100; ptxas of CUDA 13 does not make code for it any more",
         Says("ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'"),
         says=("CUDA 9.0 to 12.9",)),
    Case("SYSTRAN/faster-whisper#806", "GTX 950M; CTranslate2 4 dropped it, 3.24 had it",
         Calls([Lib("ctranslate2", "4.8.5", "ctranslate2.libs/libctranslate2.so", "53 60 61 70 75 80 86")], "50"),
         fails="libctranslate2.so", package="ctranslate2 4.8.5", reason=None, first=('"ctranslate2==3.24.*"',),
         fix=("CMAKE_CUDA_ARCHITECTURES=50",)),
    Case("ollama/ollama#12341", "Quadro P2000 beside RTX A5000; the release was built without Pascal",
         Calls([Lib("", "", "lib/ollama/libggml-cuda.so", "86")], "61,86"),
         fails="libggml-cuda.so", gpu=0, first=("sm_61",), fix=("CMAKE_CUDA_ARCHITECTURES=61",), never=("sm_86",)),
    Case("Di-Is/faiss-gpu-wheels#103", "Hopper; the wheel for CUDA 11 ends below it and has no PTX",
         Calls([Lib("faiss-gpu-cu11", "1.14.1", "faiss/libfaiss.so", "70 80")], "90"),
         fails="libfaiss.so", package="faiss-gpu-cu11 1.14.1", first=("instead of faiss-gpu-cu11", '"faiss-gpu==')),
    Case("facebookresearch/faiss#1044", "the same in the numbers of CUDA 10", Says("CUDA error 48 no kernel image is available"),
         says=("209",)),
    # ---- a library's own refusal, and look-alikes
    Case("NVIDIA/FasterTransformer#25", "Tesla K80; a cuBLAS function that needs 5.0 refuses it",
         Says("CUDA Error: CUBLAS_STATUS_ARCH_MISMATCH"), says=("cuBLAS", "an image is not missing"), unsaid=("pip",)),
    Case("rbgirshick/fast-rcnn#44", "Tesla M2090; cuDNN refuses GPUs below its minimum",
         Says("Check failed: status == CUDNN_STATUS_SUCCESS (6 vs. 0)  CUDNN_STATUS_ARCH_MISMATCH"),
         says=("cuDNN", "older")),
    Case("immich-app/immich#23110", "Pascal; cuDNN 9.11 and newer have no code below 7.5, a rebuild pulled 9.14 in",
         Calls([Lib("nvidia-cudnn-cu12", "9.14.0.64", "nvidia/cudnn/lib/libcudnn_ops.so.9", "75 80 86 90 100 120 ptx120")], "61"),
         fails="libcudnn_ops.so.9", package="nvidia-cudnn-cu12 9.14.0.64", reason="ptx-higher-than-gpu",
         first=('"nvidia-cudnn-cu12==9.10.',), never=("newer driver",)),
    Case("Purfview/whisper-standalone-win#551", "RTX 50; int8 shapes that cuBLAS does not take: no matter of images",
         Says("RuntimeError: cuBLAS failed with status CUBLAS_STATUS_NOT_SUPPORTED"),
         says=("not", "image"), unsaid=("pip install",)),
    # ---- an extension built for other GPUs
    Case("rahul-goel/fused-ssim#19", "built in a container without a GPU, so for a fixed list; torch itself is fine",
         Calls([Lib("torch", "2.7.1+cu128", TORCH, NEW), Lib("fused-ssim", "0.0.0", "fused_ssim_cuda.so", "70 75")], "89"),
         fails="fused_ssim_cuda.so", package="fused-ssim 0.0.0", first=('TORCH_CUDA_ARCH_LIST="8.9"',),
         never=("torch==", "torch>=")),
    Case("nerfstudio-project/nerfstudio#1056", "tiny-cuda-nn built for 8.6 only: Python refuses it before any launch",
         Says("EnvironmentError: Could not find compatible tinycudann extension for compute capability 75."),
         says=("TCNN_CUDA_ARCHITECTURES",)),
    Case("NVIDIA/apex#1051", "RTX 3080; built by a toolkit that does not know 8.6, for 7.5",
         Calls([Lib("torch", "1.7.1+cu110", TORCH, "37 50 60 70 75 80"), Lib("apex", "0.1", "amp_C.so", "75")], "86"),
         fails="amp_C.so", package="apex 0.1", first=("CUDA 11.1 or newer", 'TORCH_CUDA_ARCH_LIST="8.6"'),
         never=('"apex==', "torch==")),
    Case("facebookresearch/detectron2#469", "TITAN V; only torchvision is of another build",
         Calls([Lib("torch", "2.4.1+cu121", TORCH, OLD), Lib("torchvision", "0.19.1", VISION, "75 80 86 90")], "70"),
         fails="_C.so", package="torchvision 0.19.1", first=('"torchvision==0.19.1+cu121"', "/cu121"), never=('"torch==',)),
    Case("kijai/ComfyUI-Hunyuan3DWrapper#16", "a prebuilt rasterizer fails and nobody looks; torch reads the error later",
         Steps([Lib("custom-rasterizer", "0.1", "custom_rasterizer_kernel.so", "80", "80"),
                Lib("torch", "2.6.0+cu124", TORCH, OLD)], ["1:launch b", "2:launch a", "say 2:read"], "90"),
         fails="custom_rasterizer_kernel.so", package="custom-rasterizer 0.1",
         says=("called by libtorch_cuda.so, after other work",), first=('TORCH_CUDA_ARCH_LIST="9.0"',), never=("torch==",)),
    Case("open-mmlab/mmdetection#2108", "Tesla T4; blamed for a missing 7.5, but 7.0 and its PTX serve it",
         Calls([Lib("mmcv-full", "1.0", "mmcv/_ext.so", "60 61 70 ptx70")], "75"), runs="native"),
    Case("Dao-AILab/flash-attention#1146", "Jetson AGX Orin; code for sm_80 does not run on 8.7",
         Calls([Lib("torch", "2.4.0", TORCH, "87"), Lib("flash-attn", "2.6.3", "flash_attn_2_cuda.so", "80 90")], "87"),
         fails="flash_attn_2_cuda.so", reason="stand-alone-arch", fix=("sm_87",), never=("FLASH_ATTN_CUDA_ARCHS",)),
    Case("facebookresearch/xformers#1251", "RTX 5090; attention chose kernels made for sm_90a alone",
         Calls([Lib("torch", "2.7.0+cu128", TORCH, NEW),
                Lib("xformers", "0.0.30", "xformers/_C_flashattention3.so", "90a", "120")], "120"),
         fails="_C_flashattention3.so", package="xformers 0.0.30", reason="arch-specific",
         first=("FlashAttention 2",), never=("torch==", "newer driver")),
    Case("Dao-AILab/flash-attention#1785", "FlashAttention 3 on 12.0: it is made for sm_90a",
         Calls([Lib("flash-attn-3", "3.0.0", "flash_attn_3/_C.so", "90a")], "120"),
         fails="_C.so", reason="arch-specific", first=("FlashAttention 2 or torch's own attention",)),
    Case("thu-ml/SageAttention#173", "built without the file for this GPU: Python refuses it",
         Says("AssertionError: SM89 kernel is not available. Make sure you GPUs with compute capability 8.9."),
         says=("SageAttention", "TORCH_CUDA_ARCH_LIST")),
    Case("huggingface/diffusers#13043", "RTX 5090; bitsandbytes prints the error that another library left",
         Steps([Lib("sageattention", "2.2.0", "sageattention/_fused.so", "80 89"),
                Lib("bitsandbytes", "0.48.2", "bitsandbytes/libbitsandbytes_cuda129.so", "120")],
               ["1:launch b", "2:launch a", "say 2:read"], "120"),
         fails="_fused.so", package="sageattention 2.2.0", says=("called by libbitsandbytes_cuda129.so",)),
    Case("bitsandbytes-foundation/bitsandbytes#310", "a library of a third party for few GPUs, which ends the process itself",
         Calls([Lib("bitsandbytes", "0.37.0", "bitsandbytes/libbitsandbytes_cuda116.so", "75 80 86")], "70"),
         fails="libbitsandbytes_cuda116.so", package="bitsandbytes 0.37.0", fix=("COMPUTE_CAPABILITY=\"70\"",)),
    Case("FlashML-org/FreeToken#73", "RTX 2060; a kernel in a graph capture, whose only PTX is for sm_120",
         App("captures", "80 86 89 90 ptx120", "75", ["a"], "75"),
         fails="captures", reason="ptx-higher-than-gpu", first=("sm_75",)),
    Case("btxchain/btx#186", "the archive holds other code than its page says",
         Scanned(Lib("", "", "lib/libbackend.so", "100a 120 120a"), "sm_86"), says=("sm_100a", "sm_120a", "none")),
    Case("dusty-nv/jetson-containers#7", "Jetson Nano and TX2; torchvision of the image was built on a Xavier",
         Calls([Lib("torch", "1.5.0", TORCH, "53 62 72"), Lib("torchvision", "0.6.0", VISION, "72")], "53"),
         fails="_C.so", package="torchvision 0.6.0", first=("sm_53", "from source"),
         never=("download.pytorch.org", "--no-binary")),
    # ---- nobody looked
    Case("charmplusplus/charm#3954", "A100; PTX newer than the driver, no check behind the launch: old numbers",
         App("never_reads_error", "75", "75 ptx75:9.0", [], "80", 12080, static=False),
         fails="never_reads_error", code=222, reason="ptx-newer-than-driver",
         says=("its results are wrong",), fix=("driver", "sm_80")),
    Case("flatironinstitute/finufft#273", "3.5 with code for 5.0; launches unchecked, a later call looks guilty",
         Steps([Lib("cufinufft", "1.2", "cufinufft/libcufinufft.so", "50"), Lib("app", "1.0", "app/libapp.so", "35")],
               ["1:launch b", "2:launch a", "say 2:sync", "say 2:read"], "35", 11080, "11.8"),
         fails="libcufinufft.so", says=("after other work",)),
    Case("pytorch/pytorch#167414", "another library's leftover is thrown by torch's launch check (there: HIP)",
         Steps([Lib("other-ops", "1.0", "other_ops/_C.so", "80"), Lib("torch", "2.9.1+cu128", TORCH, WIDE)],
               ["1:launch b", "2:launch a", "say 2:peek"], "90"),
         fails="_C.so", package="other-ops 1.0", never=("torch==",)),
    # ---- it runs, and yet
    Case("ggml-org/llama.cpp#6529", "built for 5.2 by default: compiled from PTX, features missing, a trap at the end",
         Says("ERROR: CUDA kernel mul_mat_q has no device code compatible with CUDA arch 520. ggml-cuda.cu was compiled for: 520"),
         says=("CMAKE_CUDA_ARCHITECTURES",)),
    Case("ggml-org/llama.cpp#6529 (the run)", "the same seen from the driver: by JIT from an old baseline",
         Calls([Lib("llama-cpp-python", "0.2.60", "llama_cpp/lib/libllama.so", "52 ptx52")], "86"), runs="jit"),
    Case("vllm-project/vllm#43367", "GB10; code for exactly 12.0 is not for 12.1",
         Calls([Lib("vllm", "0.11.0", "vllm/_C.abi3.so", "120a")], "121", 13000),
         fails="_C.abi3.so", package="vllm 0.11.0", reason="arch-specific", fix=("sm_121",)),
    Case("hao-ai-lab/FastVideo#1507", "a body that is empty but on sm_90a: a launch does nothing",
         Scanned(Lib("fastvideo-kernel", "0.2", "fastvideo_kernel/_C.so", "90a:longer 120a:empty"), "sm_120"),
         says=("hollow",)),
    # ---- PTX and the driver
    Case("ggml-org/llama.cpp#1648", "PTX 7.8 alone, and a driver of CUDA 11.7",
         App("launches", "ptx52:7.8", "86", ["a"], "86", 11070, runtime="11.8", static=False, options=STORED),
         fails="launches", code=222, reason="ptx-newer-than-driver", first=("PTX 7.8 needs CUDA 11.8", "520", "CUDA 11.7"),
         fix=("sm_86",)),
    Case("numba/numba#8961", "PTX 8.1 of toolkit 12.1 to the linker of driver 525",
         Linked("ptx70:8.1", "86", 12000),
         fails="", code=222, reason="ptx-newer-than-driver", first=("PTX 8.1 needs CUDA 12.1", "530"), fix=("CUDA 12.0",)),
    Case("numba/numba#8961 (the log)", "the linker's own words",
         Says("ptxas application ptx input, line 9; fatal   : Unsupported .version 8.1; current version is '8.0'"),
         says=("12.1", "530", "12.0")),
    Case("ollama/ollama#6591", "Xavier in a container without the driver's compiler",
         Calls([Lib("", "", "lib/libggml-cuda.so", "ptx70:6.3")], "72", 11040,
               env={"SIM_FAIL": "slot6=221"}, runtime="11.8"),
         fails="libggml-cuda.so", code=221, reason=None, first=("libnvidia-ptxjitcompiler.so.1", "NVIDIA_DRIVER_CAPABILITIES")),
    Case("jax-ml/jax#13570", "RTX 4080; ptxas on PATH is too old, a kernel is not found after the fallback",
         Says("ptxas does not support CC 8.9. Falling back to the CUDA driver for PTX compilation; ptxas does not support CC 8.9"),
         says=("CUDA 11.8 or newer", "PATH")),
    Case("jax-ml/jax#13570 (the run)", "the same at the driver: 500 after a load that went well",
         Memory(Lib("jaxlib", "0.4.1", "jaxlib/xla_extension.so", ""), "ptx80", "89", 12080,
                env={"SIM_FAIL": "cuModuleGetFunction=500"}),
         says=("kernels were looked up in vain", "cuModuleGetFunction 500 CUDA_ERROR_NOT_FOUND: k_a", "xla_extension.so")),
    # ---- 98
    Case("laugh12321/TensorRT-YOLO#74", "built for sm_89, run on 8.6: invalid device function",
         App("launches", "89", "89", ["a"], "86", env={"SIM_FAIL": "cuLaunchKernel=98"}, runtime="13.5", driver=13050),
         fails="launches", code=98, says=("sm_89",), first=("sm_86",)),
    Case("NVIDIA/nvcomp#98", "Titan Xp; a query about occupancy is what fails first",
         App("probes", "70 80", "70 80", ["occupancy", "a"], "61", runtime="12.4", static=False,
             ),
         says=("ASKED", "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "sm_70 sm_80", "sm_61"), first=("sm_61",)),
    Case("wang-xinyu/tensorrtx#481", "RTX 3070 beside Quadro K620; a plug-in built for the first only",
         App("two_gpus", "86", "50 86", ["a", "b"], "86,50"), fails="two_gpus", gpu=1, first=("sm_50",), never=("sm_86",)),
    # ---- which library, which environment
    Case("sgl-project/sglang#24224", "four T4; torch, sgl-kernel and FlashInfer lie there, torch's own kernel fails",
         Calls([Lib("sgl-kernel", "0.3.21", "sgl_kernel/common_ops.so", "80 90", "75"),
                Lib("torch", "2.9.1+cu130", TORCH, "80 86 90 100 120")], "75", 13000, idle=[]),
         fails="common_ops.so libtorch_cuda.so", package="torch 2.9.1+cu130", never=()),
    Case("Comfy-Org/ComfyUI#8708", "RTX 5080; the user believes in cu128, the process runs torch 2.7.1 of cu126",
         Calls([Lib("torch", "2.7.1", TORCH, OLD)], "120"),
         fails="libtorch_cuda.so", package="torch 2.7.1+cu126", first=('"torch==2.7.1+cu128"', "/venv/bin/python3 -m pip"),
         says=("torch 2.7.1+cu126",)),
    Case("Acly/krita-ai-diffusion#2426", "an application that hides its environment",
         Calls([Lib("torch", "2.4.1+cu121", TORCH, OLD, prefix="hidden/server/venv")], "120"),
         fails="libtorch_cuda.so", first=("/hidden/server/venv/bin/python3 -m pip",), says=("torch 2.4.1+cu121",)),
]

# What a report says beyond what is staged, and why that is not.
NOT_STAGED = {
    "vllm-project/vllm#21633": "that an older tag of the container image had the code: tags are no knowledge of ours",
    "HybridRobotics/berkeley-humanoid-lite#49": "the project's lock file that pins torch: no file of a project is read",
    "Di-Is/faiss-gpu-wheels#103": "the thread expects faiss-gpu-cu12; the wheels as measured have nothing for 9.0 in it either, so "
                                  "faiss-gpu is right",
    "immich-app/immich#23110": "that cuDNN reports a status of its own there: here its library lacks the image, as the wheel does",
    "Avarok-Cybersecurity/dgx-vllm#9": "a trap in a kernel (719), for kernels do not execute: as its message, in the tests of "
                                       "explain",
    "pytorch/pytorch#167414": "the report is about HIP: the pattern is staged with CUDA",
    "open-mmlab/mmdetection#2108": "which other library was to blame: the thread never found out",
    "Acly/krita-ai-diffusion#2426": "what the cause was: the thread is open; the report names environment, build and GPU",
    "NVIDIA/cutile-python#44": "as ollama/ollama#6591: another program with the same missing library",
}
