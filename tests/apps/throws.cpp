// throws.cpp - a C++ program that makes exceptions of CUDA errors, as PyTorch does: one out of a failed launch, one
// through C frames that libc calls back (qsort), one in a thread. Each must be caught where it should.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

extern "C" {
int launch_a(float *), launch_b(float *), cudaGetLastError(void), cudaMalloc(void **, size_t);
}

struct guard {
    const char *name;
    ~guard() { std::printf("unwound %s\n", name); }
};

static void check(int code)
{
    guard g{"check"};
    if (code) throw std::runtime_error("CUDA error " + std::to_string(code));
}

static int compare(const void *, const void *)
{
    check(launch_b(nullptr));
    return 0;
}

static void attempt(const char *name, void (*work)())
{
    try {
        guard g{name};
        work();
        std::printf("%s returned\n", name);
    } catch (const std::exception &error) {
        std::printf("%s caught %s\n", name, error.what());
    }
}

int main()
{
    void *data;
    cudaMalloc(&data, 16);
    attempt("good", [] { check(launch_a(nullptr)); });
    attempt("launch", [] { check(launch_b(nullptr)); });
    attempt("last error", [] { check(cudaGetLastError()); });
    attempt("qsort", [] {
        int numbers[] = {2, 1};
        std::qsort(numbers, 2, sizeof(int), compare);
    });
    std::thread(attempt, "thread", [] { check(launch_b(nullptr)); }).join();
    return 0;
}
