"""Runs a model of one node, Y = Relu(X), on the GPU. The model is written here, in ONNX's protobuf form (onnx.proto)."""
import numpy
import onnxruntime


def field(number, value):
    """One field of a message: an integer (wire type 0), or bytes, text and messages (wire type 2); all below 128."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    data = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(data)]) + data


def tensor(name):
    """ValueInfoProto: a tensor of 4 x 8 floats."""
    shape = field(1, field(1, 4)) + field(1, field(1, 8))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


node = field(1, "X") + field(2, "Y") + field(3, "activation") + field(4, "Relu")
graph = field(1, node) + field(2, "tiny") + field(11, tensor("X")) + field(12, tensor("Y"))
model = field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))

options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
session = onnxruntime.InferenceSession(model, options, providers=["CUDAExecutionProvider"])
print("provider:", session.get_providers()[0])
print("result:", session.run(None, {"X": numpy.ones((4, 8), numpy.float32)})[0].shape)
