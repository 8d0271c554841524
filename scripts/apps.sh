# apps.sh - which real applications there are, and what each consists of. To be sourced: `. scripts/apps.sh`
#
#   ct2           CTranslate2: a hidden, static runtime 12                                  0.06 GB
#   cupy          CuPy: thrust with a hidden, static runtime 12; cubins by the driver API   0.15 GB
#   faiss         FAISS: ends by abort(); cuBLAS is a stand-in                              0.07 GB
#   onnx12        ONNX Runtime 1.22.0, CUDA 12; cuBLAS, cuDNN ... are stand-ins             0.3 GB
#   onnx13        ONNX Runtime 1.31.1, CUDA 13; likewise                                    0.3 GB
#   bitsandbytes  on torch-cuda13: native code that calls exit(1)                           0.05 GB
#   diffusers     on torch-cuda13, with transformers and the real cuBLAS                    0.5 GB
#   cusparse and cudnn, on torch-cuda13: they hide the root cause of a failure              0.7 GB
#   triton        on torch-cuda13: kernels that are compiled while the program runs         0.3 GB
#   nccl          on torch-cuda13: asks at its start for kernels of other GPUs              0.2 GB
#   numba         kernels in Python, compiled by libNVVM, nvJitLink, or the driver          0.3 GB
#   xgboost       trains trees, with a hidden, static runtime 12; needs SciPy               0.2 GB
#   jax           JAX, with the CUDA libraries of torch-cuda13, cudnn and diffusers         0.3 GB
#   tensorflow    only where it is asked for; what it opens by name are empty stand-ins     0.6 GB
APPS="ct2 cupy faiss onnx12 onnx13 bitsandbytes diffusers cusparse cudnn triton nccl numba xgboost jax"
ON_TORCH="bitsandbytes diffusers cusparse cudnn triton nccl jax" # these stand on torch-cuda13, or use its libraries

# What diffusers and transformers import, beside torch.
PURE="huggingface_hub==2.4.0 packaging==26.4 PyYAML==6.0.4 regex==2026.11.19 safetensors==0.8.0 tokenizers==0.23.3
      tqdm==4.70.1 importlib_metadata==10.2.0 zipp==4.1.2 pillow==13.0.0 requests==2.34.2 urllib3==2.8.0 idna==3.20
      certifi==2026.10.19.post1 charset-normalizer==3.5.3 typer==0.29.2 click==8.5.1 httpx2==2.16.2 httpcore2==2.16.2
      h11==0.16.0 anyio==4.16.0 truststore==0.10.5 typing-inspection==0.4.5 lazy-importer==0.1.0 pydantic==2.14.4
      pydantic_core==2.50.5 annotated-types==0.8.0 rich==15.0.0 shellingham==1.5.4 annotated-doc==0.0.7
      markdown-it-py==4.3.0 Pygments==2.21.0 mdurl==0.1.2"

# What Numba asks NVIDIA's compilers by, and these.
NUMBA="llvmlite==0.50.0 numba-cuda==0.30.4 cuda-bindings==13.0.3 cuda-core==1.2.2 cuda-pathfinder==1.9.1 packaging==26.4
       nvidia-nvvm==13.0.88 nvidia-cuda-nvrtc==13.0.88 nvidia-nvjitlink==13.0.88 nvidia-cuda-runtime==13.0.96
       nvidia-cuda-cccl==13.0.85"
JAX="jax==0.10.2 jaxlib==0.10.2 jax-cuda13-plugin==0.10.2 jax-cuda13-pjrt==0.10.2 ml_dtypes==0.6.0 opt_einsum==3.4.0
     scipy==1.17.1"
# What `import tensorflow` imports.
TENSORFLOW="tensorflow==2.17.0 absl-py==2.5.1 astunparse==1.6.3 certifi==2026.10.19.post1 charset-normalizer==3.5.3
            flatbuffers==25.12.19 gast==0.7.0 idna==3.20 ml-dtypes==0.4.1 numpy==1.26.4 opt_einsum==3.4.0
            packaging==26.4 protobuf==4.25.9 requests==2.34.2 six==1.17.0 termcolor==3.3.0 typing_extensions==4.16.0
            urllib3==2.8.0 wrapt==2.5.2 setuptools==80.9.0 nvidia-cuda-runtime-cu12==12.4.127"

# pins SET: MB to download, MB on disk, minor versions of Python 3, packages. NUMPY is the one that fits this Python.
pins() {
    case $1 in
    ct2) echo 70 250 10-14 ctranslate2==4.8.5 "$NUMPY" PyYAML==6.0.4 setuptools==80.9.0 ;;
    cupy) echo 165 550 10-14 cupy-cuda12x==14.2.0 "$NUMPY" cuda-pathfinder==1.9.1 ;;
    faiss) echo 70 250 10-13 faiss-gpu-cu12==1.14.1.post1 "$NUMPY" packaging==26.4 nvidia-cuda-runtime-cu12==12.1.105 ;;
    onnx12) echo 305 700 10-13 onnxruntime-gpu==1.22.0 "$NUMPY" packaging==26.4 nvidia-cuda-runtime-cu12==12.9.79 ;;
    onnx13) echo 280 600 11-14 onnxruntime-gpu==1.31.1 "$NUMPY" packaging==26.4 nvidia-cuda-runtime==13.2.86 ;;
    bitsandbytes) echo 45 200 10-14 bitsandbytes==0.50.2 packaging==26.4 ;;
    diffusers) echo 460 900 11-14 diffusers==0.42.1 transformers==5.24.0 nvidia-cublas==13.4.1.3 "$PURE" ;;
    cusparse) echo 200 450 10-14 nvidia-cusparse==12.7.10.12 nvidia-nvjitlink==13.2.86 ;;
    cudnn) echo 520 900 10-14 nvidia-cudnn-cu13==9.26.0.51 ;;
    triton) echo 290 1150 11-14 triton==3.9.0 ;;
    nccl) echo 220 400 10-14 nvidia-nccl-cu13==2.30.7 ;;
    numba) echo 260 950 11-14 numba==0.68.1 "$NUMPY" "$NUMBA" ;;
    xgboost) echo 190 500 11-14 xgboost==3.2.0 scipy==1.17.1 "$NUMPY" ;;
    jax) echo 300 1000 11-14 "$JAX" "$NUMPY" ;;
    tensorflow) echo 640 1900 10-12 "$TENSORFLOW" ;;
    *) die "there is no set '$1'" ;;
    esac
}
