// A reader that is partly Python: the interpreter runs in the fuzzer's process and calls `run` of THRESHER_TARGET.py
// with each input. The lines of our own package that run are coverage, as the instrumented extension's branches are.
//
// Inputs have checksums, which no mutation would get right. So `mutated` of the same file corrects them, after a
// mutation of libFuzzer's or one of its own.
#include <Python.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

// libFuzzer counts these as it counts branches.
constexpr std::size_t kCounters = 1 << 14;
__attribute__((section("__libfuzzer_extra_counters"))) std::uint8_t line_counters[kCounters];

[[noreturn]] void fail(const char* what) {
    if (PyErr_Occurred() != nullptr) PyErr_Print();
    std::fprintf(stderr, "%s: " THRESHER_TARGET "\n", what);
    std::fflush(nullptr);
    std::abort();
}

PyObject* needed(PyObject* object) {
    if (object == nullptr) fail("the target could not start");
    return object;
}

bool is_ours(PyCodeObject* code) {
    static std::unordered_map<PyCodeObject*, bool> known;
    const auto [found, is_new] = known.try_emplace(code, false);
    if (is_new) {
        Py_INCREF(code);  // so that its address stays its own
        PyObject* const name = PyObject_GetAttrString(reinterpret_cast<PyObject*>(code), "co_filename");
        found->second = name != nullptr && std::strstr(PyUnicode_AsUTF8(name), "/thresher/") != nullptr;
        Py_XDECREF(name);
    }
    return found->second;
}

// Counts each step from one line to another.
int count_line(PyObject*, PyFrameObject* frame, int what, PyObject*) {
    static std::size_t before = 0;
    if (what != PyTrace_LINE) return 0;
    PyCodeObject* const code = PyFrame_GetCode(frame);
    if (is_ours(code)) {
        const std::size_t line = (reinterpret_cast<std::size_t>(code) >> 4) * 31 +
                                 static_cast<std::size_t>(PyFrame_GetLineNumber(frame)) * 0x9e3779b1u;
        ++line_counters[(line ^ before) % kCounters];
        before = line >> 1;
    }
    Py_DECREF(code);
    return 0;
}

struct Target {
    PyObject *run, *mutated;

    Target() {
        PyConfig config;
        PyConfig_InitPythonConfig(&config);
        // The environment whose `thresher` has the instrumented extension.
        const char* const python = std::getenv("THRESHER_FUZZ_PYTHON");
        if (python == nullptr) {
            std::fprintf(stderr, "THRESHER_FUZZ_PYTHON must name the Python of the fuzzer's environment\n");
            std::exit(2);
        }
        PyConfig_SetBytesString(&config, &config.program_name, python);
        config.install_signal_handlers = 0;
        if (PyStatus_Exception(Py_InitializeFromConfig(&config))) fail("Python did not start");
        PyConfig_Clear(&config);
        PyObject* const folder = needed(PyUnicode_FromString(THRESHER_TARGETS));
        PyList_Insert(PySys_GetObject("path"), 0, folder);
        PyObject* const module = needed(PyImport_ImportModule(THRESHER_TARGET));
        run = needed(PyObject_GetAttrString(module, "run"));
        mutated = needed(PyObject_GetAttrString(module, "mutated"));
    }
};

Target& target() {
    static Target only;
    return only;
}

PyObject* as_bytes(const std::uint8_t* data, std::size_t size) {
    return needed(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(data), static_cast<Py_ssize_t>(size)));
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    target();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    PyObject* const input = as_bytes(data, size);
    PyEval_SetTrace(count_line, nullptr);
    PyObject* const result = PyObject_CallOneArg(target().run, input);
    PyEval_SetTrace(nullptr, nullptr);
    if (result == nullptr) fail("an input was neither read nor refused");
    Py_DECREF(result);
    Py_DECREF(input);
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    const bool is_mutated = seed % 2 == 0;
    if (is_mutated) size = LLVMFuzzerMutate(data, size, max_size);
    PyObject* const input = as_bytes(data, size);
    PyObject* const result = PyObject_CallFunction(target().mutated, "OIi", input, seed, !is_mutated);
    if (result == nullptr || !PyBytes_Check(result)) fail("a mutation failed");
    if (static_cast<std::size_t>(PyBytes_GET_SIZE(result)) <= max_size) {
        size = static_cast<std::size_t>(PyBytes_GET_SIZE(result));
        std::memcpy(data, PyBytes_AS_STRING(result), size);
    }
    Py_DECREF(result);
    Py_DECREF(input);
    return size;
}
